// Host SIMT: a GPU kernel's source, executed on the CPU, one fiber a GPU thread. This header gives
// a kernel compiled by g++ the CUDA names that it uses; block.cpp runs it. It is for tests and for
// counting, never for speed.
#pragma once

#include "host_simt/device_functions.hpp"
#include "host_simt/execution.hpp"
#include "host_simt/host_simt.hpp"
#include "host_simt/vector_types.hpp"

// NOLINTBEGIN(bugprone-reserved-identifier): the names are CUDA's.

// The tags become part of the symbols' names, by which symbols.cpp finds kernels and their arrays.
#define __global__ __attribute__((abi_tag("kw_kernel")))
#if defined(__SANITIZE_ADDRESS__)
// Thread-local arrays would have no red zones; there is only one worker.
#define __shared__ static __attribute__((abi_tag("kw_shared")))
#else
#define __shared__ static thread_local __attribute__((abi_tag("kw_shared")))
#endif
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))

#define threadIdx (::kw::host_simt::built_ins->thread_index)
#define blockIdx (::kw::host_simt::built_ins->block_index)
#define blockDim (::kw::host_simt::built_ins->block_dim)
#define gridDim (::kw::host_simt::built_ins->grid_dim)
#define warpSize (::kw::host_simt::built_ins->warp_size)

inline void __syncthreads(kw::host_simt::Site site = kw::host_simt::Site::current()) {
  kw::host_simt::barrier("__syncthreads", false, site);
}
inline int __syncthreads_count(int predicate,
                               kw::host_simt::Site site = kw::host_simt::Site::current()) {
  return kw::host_simt::barrier("__syncthreads_count", predicate != 0, site);
}
inline int __syncthreads_or(int predicate,
                            kw::host_simt::Site site = kw::host_simt::Site::current()) {
  return kw::host_simt::barrier("__syncthreads_or", predicate != 0, site) != 0;
}
inline int __syncthreads_and(int predicate,
                             kw::host_simt::Site site = kw::host_simt::Site::current()) {
  return kw::host_simt::barrier("__syncthreads_and", predicate == 0, site) == 0;
}

inline void __syncwarp(kw::host_simt::LaneSet mask = ~0u,
                       kw::host_simt::Site site = kw::host_simt::Site::current()) {
  kw::host_simt::sync_warp(mask.bits, site);
}

template <kw::host_simt::FourOrEightBytes T>
T __shfl_sync(kw::host_simt::LaneSet mask, T value, int source_lane, int width = warpSize,
              kw::host_simt::Site site = kw::host_simt::Site::current()) {
  return kw::host_simt::shuffle_value("__shfl_sync", kw::host_simt::Shuffle::index, mask, value,
                                      source_lane, width, site);
}
template <kw::host_simt::FourOrEightBytes T>
T __shfl_up_sync(kw::host_simt::LaneSet mask, T value, unsigned delta, int width = warpSize,
                 kw::host_simt::Site site = kw::host_simt::Site::current()) {
  return kw::host_simt::shuffle_value("__shfl_up_sync", kw::host_simt::Shuffle::up, mask, value,
                                      static_cast<int>(delta), width, site);
}
template <kw::host_simt::FourOrEightBytes T>
T __shfl_down_sync(kw::host_simt::LaneSet mask, T value, unsigned delta, int width = warpSize,
                   kw::host_simt::Site site = kw::host_simt::Site::current()) {
  return kw::host_simt::shuffle_value("__shfl_down_sync", kw::host_simt::Shuffle::down, mask, value,
                                      static_cast<int>(delta), width, site);
}
template <kw::host_simt::FourOrEightBytes T>
T __shfl_xor_sync(kw::host_simt::LaneSet mask, T value, int lane_mask, int width = warpSize,
                  kw::host_simt::Site site = kw::host_simt::Site::current()) {
  return kw::host_simt::shuffle_value("__shfl_xor_sync", kw::host_simt::Shuffle::butterfly, mask,
                                      value, lane_mask, width, site);
}

// The result is as wide as the mask: 64 lanes need an unsigned long long.
template <kw::host_simt::LaneMask Mask>
Mask __ballot_sync(Mask mask, int predicate,
                   kw::host_simt::Site site = kw::host_simt::Site::current()) {
  if (sizeof(Mask) == 4) kw::host_simt::require_32_lanes("__ballot_sync", site);
  const kw::host_simt::LaneSet lanes = mask;
  return static_cast<Mask>(
      kw::host_simt::ballot("__ballot_sync", lanes.bits, predicate != 0, site));
}
inline int __any_sync(kw::host_simt::LaneSet mask, int predicate,
                      kw::host_simt::Site site = kw::host_simt::Site::current()) {
  return kw::host_simt::ballot("__any_sync", mask.bits, predicate != 0, site) != 0;
}
inline int __all_sync(kw::host_simt::LaneSet mask, int predicate,
                      kw::host_simt::Site site = kw::host_simt::Site::current()) {
  return kw::host_simt::ballot("__all_sync", mask.bits, predicate == 0, site) == 0;
}
inline unsigned __activemask(kw::host_simt::Site site = kw::host_simt::Site::current()) {
  kw::host_simt::require_32_lanes("__activemask", site);
  return static_cast<unsigned>(kw::host_simt::active_mask());
}

// NOLINTEND(bugprone-reserved-identifier)
