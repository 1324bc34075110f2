// Which of CUB's functions computes a reduction. Each finder returns null where this build has
// none; cub.cpp asks them, cub_*.cu answer, so that what is claimed and what is compiled cannot
// differ.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "reduce/problem.hpp"

namespace kw::peers {

// As CUB's own functions: where `temporary` is null only `bytes`, the room that it takes, is set.
using CubCall = cudaError_t(const Reduce& p, void* temporary, std::size_t& bytes,
                            cudaStream_t stream);

CubCall* find_cub_sum(DataType type);                    // of a whole array
CubCall* find_cub_extremum(ReduceOp op, DataType type);  // min and max of a whole array
CubCall* find_cub_arg(ReduceOp op, DataType type);       // argmin and argmax of a whole array
CubCall* find_cub_rows(ReduceOp op, DataType type);      // sum, min and max of rows
CubCall* find_cub_segments(ReduceOp op, DataType type);  // and of segments

std::string cub_compiled_version();

}  // namespace kw::peers
