// Bulk copies: one thread has the copy engine bring a contiguous piece of global memory into shared
// memory, and an mbarrier counts its bytes (PTX ISA, "cp.async.bulk"). From sm_90 on; a kernel that
// calls these elsewhere does not run.
//
// The phase of a barrier ends when its arrivals have come and the bytes that they announced have
// landed, so whoever waits for it finds the data there.
#pragma once

#include "device/mbarrier.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET {

// This thread arrives and announces `bytes` that copies will bring in this phase.
__device__ __forceinline__ void mbarrier_arrive_expecting([[maybe_unused]] Mbarrier* barrier,
                                                          [[maybe_unused]] unsigned bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n\t.reg .b64 token;\n\t"
      "mbarrier.arrive.expect_tx.shared::cta.b64 token, [%0], %1;\n\t}" ::"r"(
          static_cast<unsigned>(__cvta_generic_to_shared(barrier))),
      "r"(bytes)
      : "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::mbarrier_arrive_expecting(&barrier->state, bytes);
#endif
}

// After mbarrier_init, before the block meets: copies see it.
__device__ __forceinline__ void mbarrier_init_is_done() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

// Copies `bytes`, a multiple of 16, between addresses that are multiples of 16, and counts them at
// `barrier` when they have landed.
__device__ __forceinline__ void bulk_copy([[maybe_unused]] void* to_shared,
                                          [[maybe_unused]] const void* from_global,
                                          [[maybe_unused]] unsigned bytes,
                                          [[maybe_unused]] Mbarrier* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(static_cast<unsigned>(__cvta_generic_to_shared(to_shared))),
      "l"(from_global), "r"(bytes), "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier)))
      : "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::bulk_copy(to_shared, from_global, bytes, &barrier->state);
#endif
}

// What this thread wrote to shared memory before, copies that start after a barrier of it and the
// thread that starts them do not overtake (PTX ISA, "fence.proxy.async").
__device__ __forceinline__ void shared_writes_before_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

}  // namespace KW_TARGET
