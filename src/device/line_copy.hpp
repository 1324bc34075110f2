// cp.async as in async_copy.hpp, of elements of many lines that lie far apart in memory: with the
// first of a line's bytes L2 fetches 256 of them, so that memory opens each of its pages less
// often.
#pragma once

#include "device/async_copy.hpp"

namespace KW_TARGET {

template <int Bytes>
__device__ __forceinline__ void async_copy_of_line(float* to, const float* from, int valid_bytes) {
  static_assert(Bytes == 4 || Bytes == 8);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global.L2::256B [%0], [%1], %2, %3;" ::"r"(shared), "l"(from),
               "n"(Bytes), "r"(valid_bytes)
               : "memory");
#else
  async_copy<Bytes>(to, from, valid_bytes);
#endif
}

}  // namespace KW_TARGET
