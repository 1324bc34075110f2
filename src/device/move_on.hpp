// A pointer that goes on by steps.
#pragma once

#include <cstdint>

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// Moves `row` on by `by` elements. The empty asm keeps ptxas from computing the addresses of many
// copies in advance, each by several 64-bit instructions; one addition per row is enough.
__device__ __forceinline__ void move_on(const float*& row, std::int64_t by) {
  row += by;
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+l"(row));
#endif
}

}  // namespace KW_TARGET
