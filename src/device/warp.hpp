// What the lanes of a warp give each other. Groups of 32 lanes on every device: a 64-lane wavefront
// is two of them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "gpu/gpu.hpp"

namespace KW_TARGET {

constexpr int warp_lanes = 32;

// Every lane of the warp, for functions that all of them call.
__device__ __forceinline__ auto whole_warp() {
#if defined(__CUDACC__)
  return ~0u;
#else
  return warpSize == 64 ? ~0ull : 0xFFFFFFFFull;
#endif
}

// The value of the lane `delta` above within its group of `width` lanes (a power of two); any value
// where the group has no such lane. All lanes of the warp call it. T is copied as words.
template <class T>
__device__ __forceinline__ T from_lane_above(const T& value, int delta, int width = warp_lanes) {
  static_assert(sizeof(T) % 4 == 0 && std::is_trivially_copyable_v<T>);
  constexpr int words = sizeof(T) / 4;
  std::uint32_t word[words];
  std::memcpy(word, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < words; ++i) {
    word[i] = __shfl_down_sync(whole_warp(), word[i], static_cast<unsigned>(delta), width);
  }
  T above;
  std::memcpy(&above, word, sizeof(T));
  return above;
}

}  // namespace KW_TARGET
