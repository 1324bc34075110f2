// cp.async: copies from global to shared memory that pass no register and complete later
// (PTX ISA, "Data Movement and Conversion Instructions: cp.async"). From sm_80 on; elsewhere the
// copy is an ordinary one, done when async_copy returns, and the other two functions do nothing.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// Copies the first `valid_bytes` (0 .. Bytes) of Bytes (4, 8 or 16) and fills the rest with zeros.
// Both addresses are aligned to Bytes; `from` is not read where valid_bytes is 0. Copies of 16
// bytes can go past the L1 cache, which has no use for what no other block of the SM reads.
template <int Bytes, bool past_l1 = Bytes == 16>
__device__ __forceinline__ void async_copy(float* to, const float* from, int valid_bytes) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  static_assert(Bytes == 16 || !past_l1, "cp.async.cg copies 16 bytes");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (past_l1)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from),
                 "r"(valid_bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from),
                 "n"(Bytes), "r"(valid_bytes)
                 : "memory");
#elif defined(__CUDA_ARCH__) || defined(__HIP__)
  for (int i = 0; i < Bytes / 4; ++i) to[i] = i * 4 < valid_bytes ? from[i] : 0.0f;
#elif !defined(__CUDACC__)
  kw::host_simt::async_copy(to, from, Bytes, valid_bytes);
#endif
}

// Closes the group of copies that this thread issued since the last call; it may be empty.
__device__ __forceinline__ void async_commit() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::async_commit();
#endif
}

// Waits until at most Pending of this thread's groups, the youngest, are still under way. What
// other threads copied is visible only behind a barrier that follows their wait.
template <int Pending>
__device__ __forceinline__ void async_wait() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::async_wait(Pending);
#endif
}

}  // namespace KW_TARGET
