// Clusters: neighbouring blocks of a launch along x that run side by side on nearby SMs, meet at a
// barrier of their own, and send each other values from shared memory to shared memory (PTX ISA,
// "barrier.cluster", "mapa" and "st.async"; from sm_90 on). LaunchConfig::cluster says of how many
// blocks they are. Elsewhere has_clusters is false, and no kernel calls these functions.
#pragma once

#include "device/mbarrier.hpp"

namespace KW_TARGET {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900 || defined(__HIP__)
constexpr bool has_clusters = false;
#else
constexpr bool has_clusters = true;
#endif

// Which cluster of the grid this block belongs to, and which of its blocks it is.
__device__ __forceinline__ int cluster_index() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  int index;
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(index));
  return index;
#elif !defined(__CUDACC__) && !defined(__HIP__)
  return kw::host_simt::cluster_index();
#else
  return 0;
#endif
}
__device__ __forceinline__ int rank_in_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#elif !defined(__CUDACC__) && !defined(__HIP__)
  return kw::host_simt::rank_in_cluster();
#else
  return 0;
#endif
}

// The cluster's barrier: each thread arrives, and later waits until all threads of the cluster have
// arrived. Whole warps call these together. Of what a thread wrote before it arrived, others see
// after their wait the mbarriers that it initialised, and no more is promised: it arrives without
// waiting for its stores.
__device__ __forceinline__ void arrive_at_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;\n\tbarrier.cluster.arrive.relaxed.aligned;" ::
                   : "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::arrive_at_cluster();
#endif
}
__device__ __forceinline__ void wait_for_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::wait_for_cluster();
#endif
}

// Sends 16 bytes to block `rank` of the cluster, which has initialised its barrier and does not
// leave the kernel before they have come. `to` and `barrier` are addresses of this block's dynamic
// shared memory: the bytes land where the same address lies in the other block, and then count at
// its barrier like those of a bulk copy.
__device__ __forceinline__ void send_to_block([[maybe_unused]] int rank,
                                              [[maybe_unused]] float4* to,
                                              [[maybe_unused]] const float4& value,
                                              [[maybe_unused]] Mbarrier* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n\t.reg .b32 there, barrier;\n\t"
      "mapa.shared::cluster.u32 there, %0, %2;\n\tmapa.shared::cluster.u32 barrier, %1, %2;\n\t"
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [there], "
      "{%3, %4, %5, %6}, [barrier];\n\t}" ::"r"(
          static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "r"(rank), "f"(value.x),
      "f"(value.y), "f"(value.z), "f"(value.w)
      : "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::send_to_block(rank, to, &value, sizeof value, &barrier->state);
#endif
}

}  // namespace KW_TARGET
