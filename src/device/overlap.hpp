// The end of one kernel and the start of the next on the same stream, overlapped (CUDA C++
// Programming Guide, "Programmatic Dependent Launch"; from sm_90 on). A kernel that is launched
// with LaunchConfig::overlap calls wait_for_previous_kernel before it touches memory that an
// earlier kernel may write or read. Elsewhere kernels do not overlap and these functions do
// nothing.
#pragma once

#include <cstdint>

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// Returns when all earlier work of the stream is done and visible.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Computes a value here. What needs no memory is computed before the wait, where it costs nothing
// while the previous kernel ends; the compiler would move it to its first use, behind the wait.
template <class T>
__device__ __forceinline__ void compute_now([[maybe_unused]] T& value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 4)
    asm volatile("" : "+r"(value));
  else
    asm volatile("" : "+l"(value));
#endif
}

// Once every block has called this or ended, the stream's next kernel may be placed on the device,
// where it waits as above.
__device__ __forceinline__ void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// For concurrent launches of one call, in place of wait_for_previous_kernel. Such a launch starts
// when all blocks of the previous one have started, and so when all earlier work is done; it only
// must not end first. For grids along x.
template <class Problem>
__device__ __forceinline__ void begin_concurrent(const Problem& problem) {
  if (!problem.overlaps_previous) wait_for_previous_kernel();
  if (problem.next_overlaps) let_next_kernel_start();
}
template <class Problem>
__device__ __forceinline__ void end_concurrent(const Problem& problem) {
  if (problem.overlaps_previous && blockIdx.x == 0) wait_for_previous_kernel();
}

// Asks for the cache line that holds an address, by the calling thread.
__device__ __forceinline__ void prefetch_line_to_l2([[maybe_unused]] const void* address) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(address)));
#endif
}

// Asks for `bytes` bytes from `from` on to be brought into the L2 cache, which sees all writes: it
// may be called before the wait. `from` is aligned to 16 bytes, `bytes` a multiple of 16.
__device__ __forceinline__ void prefetch_to_l2([[maybe_unused]] const void* from,
                                               [[maybe_unused]] unsigned bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
#endif
}

}  // namespace KW_TARGET
