// Copies of a matrix between FP32 and 16 bits, for products of the vendor's library in those types.
#pragma once

#include <cstdint>

#include "kernel.hpp"

namespace kw::peers {

enum class HalfType { fp16, bf16 };

// Row-major: `ld` floats from row to row; the 16-bit copy has its rows side by side.
Status to_half(HalfType type, const float* from, std::int64_t rows, std::int64_t cols,
               std::int64_t ld, void* to, Stream stream);
Status from_half(HalfType type, const void* from, std::int64_t rows, std::int64_t cols, float* to,
                 std::int64_t ld, Stream stream);

}  // namespace kw::peers
