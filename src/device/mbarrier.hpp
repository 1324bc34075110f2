// Barriers in shared memory by which some warps of a block fill buffers and others empty them
// (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"), and what goes
// with such a division of labour. From sm_80 on; a kernel that calls these elsewhere does not run.
//
// A barrier counts arrivals. When as many have come as it was made for, its phase ends and the next
// begins; phases are told apart by parity, the first one has 0. Whoever waits for parity p of a
// barrier that is in a phase of the other parity goes on at once.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

struct alignas(8) Mbarrier {
  std::uint64_t state;
};

// One thread makes it, for `arrivals` a phase; the block meets at __syncthreads before its use.
__device__ __forceinline__ void mbarrier_init([[maybe_unused]] Mbarrier* barrier,
                                              [[maybe_unused]] unsigned arrivals) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(barrier))),
               "r"(arrivals)
               : "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::mbarrier_init(&barrier->state, arrivals);
#endif
}

// This thread arrives; what it read and wrote before happens before the phase ends.
__device__ __forceinline__ void mbarrier_arrive([[maybe_unused]] Mbarrier* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("{\n\t.reg .b64 token;\n\tmbarrier.arrive.shared::cta.b64 token, [%0];\n\t}" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(barrier)))
               : "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::mbarrier_arrive(&barrier->state);
#endif
}

// This thread arrives when all copies that it has started by async_copy have landed, and not
// before; it does not wait for them.
__device__ __forceinline__ void mbarrier_arrive_after_copies([[maybe_unused]] Mbarrier* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(barrier)))
               : "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::mbarrier_arrive_after_copies(&barrier->state);
#endif
}

// Waits until the phase of that parity has ended.
__device__ __forceinline__ void mbarrier_wait([[maybe_unused]] Mbarrier* barrier,
                                              [[maybe_unused]] unsigned parity) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#if __CUDA_ARCH__ >= 900
#define KW_MBARRIER_TEST "mbarrier.try_wait"  // sleeps a while in hardware
#else
#define KW_MBARRIER_TEST "mbarrier.test_wait"
#endif
  unsigned over;
  do {
    asm volatile("{\n\t.reg .pred over;\n\t" KW_MBARRIER_TEST
                 ".parity.shared::cta.b64 over, [%1], %2;\n\tselp.u32 %0, 1, 0, over;\n\t}"
                 : "=r"(over)
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "r"(parity)
                 : "memory");
  } while (over == 0);
#undef KW_MBARRIER_TEST
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::mbarrier_wait(&barrier->state, parity);
#endif
}

// A barrier of `threads` of the block's threads, whole warps; ids 1 to 15 are free for kernels.
template <int id, int threads>
__device__ __forceinline__ void sync_some_threads() {
  static_assert(id >= 1 && id < 16 && threads % 32 == 0);
#if defined(__CUDA_ARCH__)
  asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::sync_some_threads(id, threads);
#endif
}

// Registers that a warpgroup gives to the block's pool or takes from it, down or up to `count` a
// thread (PTX ISA, setmaxnreg). All four warps of the warpgroup call it. Does nothing where the
// code is not compiled for sm_90a: a kernel must not need it there.
template <int count>
__device__ __forceinline__ void setmaxnreg_dealloc() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
#endif
}
template <int count>
__device__ __forceinline__ void setmaxnreg_alloc() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
#endif
}

}  // namespace KW_TARGET
