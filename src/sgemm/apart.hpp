// Products one operand of which is a triangle that is read where it lies, in plain FP32: problems
// with Sgemm::diagonal_apart, which the kernels of sgemm_production() in plain FP32 do not take.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET {

// What the operand has on the other side of its diagonal, and its squares (Sgemm::diagonal) as
// well. `mirrored`: it is symmetric; its range of k says which triangle is stored, and all of k
// count.
enum class BesideDiagonal { zeros, mirrored };

KernelList<Sgemm> apart_rows(BesideDiagonal beside);  // stream/apart.cu: one per tile

}  // namespace KW_TARGET
