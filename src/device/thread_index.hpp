// A thread's place in its block, computed anew.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// threadIdx.x, read again. The compiler then computes what depends on it where it is used, with a
// few more instructions, and does not keep it in registers, which are scarce.
__device__ __forceinline__ int reread_thread_index() {
#if defined(__CUDA_ARCH__)
  int index;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
  return index;
#else
  return static_cast<int>(threadIdx.x);
#endif
}

}  // namespace KW_TARGET
