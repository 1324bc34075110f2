// What the lanes of a warp give each other. Groups of 32 lanes on every device: a 64-lane wavefront
// is two of them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "gpu/gpu.hpp"

namespace KW_TARGET {

constexpr int warp_lanes = 32;

// Every lane of this thread's group of 32, for functions that all of them call; the other half of a
// wavefront may be elsewhere. In blocks of one dimension.
__device__ __forceinline__ auto whole_warp() {
#if defined(__CUDACC__)
  return ~0u;
#else
  return warpSize == 64 ? 0xFFFFFFFFull << (threadIdx.x & 32u) : ~0ull;
#endif
}

// A value of any type whose words `exchange` takes from another lane, one at a time.
template <class T, class Exchange>
__device__ __forceinline__ T exchange_words(const T& value, const Exchange& exchange) {
  static_assert(sizeof(T) % 4 == 0 && std::is_trivially_copyable_v<T>);
  constexpr int words = sizeof(T) / 4;
  std::uint32_t word[words];
  memcpy(word, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < words; ++i) word[i] = exchange(word[i]);
  T taken;
  memcpy(&taken, word, sizeof(T));
  return taken;
}

// The value of the lane `delta` above within its group of `width` lanes (a power of two); any value
// where the group has no such lane. All lanes of the warp call it.
template <class T>
__device__ __forceinline__ T from_lane_above(const T& value, int delta, int width = warp_lanes) {
  return exchange_words(value, [=](std::uint32_t word) {
    return __shfl_down_sync(whole_warp(), word, static_cast<unsigned>(delta), width);
  });
}

// The value of any lane. All lanes of the warp call it.
template <class T>
__device__ __forceinline__ T from_lane(const T& value, int lane) {
  return exchange_words(
      value, [=](std::uint32_t word) { return __shfl_sync(whole_warp(), word, lane, warp_lanes); });
}

// True in one lane of a whole warp: for what one thread does among code that all of them run. Where
// only one thread ran it all, the compiler would put a loop over the warp's threads around each
// bulk copy, and the addresses' arithmetic into each one's registers.
__device__ __forceinline__ bool elect_one() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  unsigned elected;
  asm volatile(
      "{\n\t.reg .pred own;\n\telect.sync _|own, 0xffffffff;\n\tselp.u32 %0, 1, 0, own;\n\t}"
      : "=r"(elected));
  return elected != 0;
#else
#if !defined(__CUDACC__) && !defined(__HIP__)
  __syncwarp();  // elect.sync, too, waits for all lanes
#endif
  return threadIdx.x % warp_lanes == 0;
#endif
}

// The largest of all lanes' values. All lanes of the warp call it.
__device__ __forceinline__ std::uint32_t largest_of_warp(std::uint32_t value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_max_sync(whole_warp(), value);
#else
  for (int delta = warp_lanes / 2; delta > 0; delta /= 2) {
    const std::uint32_t other = from_lane_above(value, delta);
    if (other > value) value = other;
  }
  return from_lane(value, 0);
#endif
}

// Whether a lane of the warp says so. All lanes call it. Where they all say the same, a branch on
// the answer is one that the compiler knows not to part the warp: it keeps loops around it, and
// addresses in them, in uniform registers.
__device__ __forceinline__ bool any_of_warp(bool own) {
#if defined(__CUDA_ARCH__)
  return __any_sync(whole_warp(), own ? 1 : 0) != 0;
#else
  return largest_of_warp(own ? 1 : 0) != 0;
#endif
}

}  // namespace KW_TARGET
