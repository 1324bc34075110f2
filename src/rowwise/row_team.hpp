// The threads that have a row, or a slice of one, in their registers: lanes of a warp, or a block.
#pragma once

#include "device/warp.hpp"

namespace KW_TARGET::rowwise {

struct Larger {
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ __forceinline__ double operator()(double a, double b) const { return a + b; }
};

// Two sums that are made together.
struct Sums {
  double first, second;
};
struct SumOfEach {
  __device__ __forceinline__ Sums operator()(const Sums& a, const Sums& b) const {
    return {a.first + b.first, a.second + b.second};
  }
};

// The combination of all lanes of a group of `lanes` (a power of two, up to 32), in each of them,
// with the same bits: what is combined is symmetrical. All lanes of the warp call it.
template <class T, class Combine>
__device__ __forceinline__ T combine_lanes(T value, int lanes, const Combine& combine) {
#pragma unroll
  for (int apart = 1; apart < warp_lanes; apart *= 2) {
    if (apart >= lanes) break;
    const T other = exchange_words(value, [=](std::uint32_t word) {
      return __shfl_xor_sync(whole_warp(), word, apart, warp_lanes);
    });
    value = combine(value, other);
  }
  return value;
}

// Part of a warp.
struct LaneTeam {
  int lanes;

  template <class T, class Combine>
  __device__ __forceinline__ T combined(T value, const T&, const Combine& combine) {
    return combine_lanes(value, lanes, combine);
  }
};

// The smallest power of two that is no less.
__device__ __forceinline__ int power_from(int count) {
  int power = 1;
  while (power < count) power *= 2;
  return power;
}

// Of the totals of so many warps, the same in every lane; `lanes` is power_from(warps).
template <class T, class Combine>
__device__ __forceinline__ T combine_totals(const T* totals, int warps, int lanes, const T& nothing,
                                            const Combine& combine) {
  const int warp = static_cast<int>(threadIdx.x) & (lanes - 1);
  return combine_lanes(warp < warps ? totals[warp] : nothing, lanes, combine);
}

// All warps of a block. Their shared memory is used in two halves by turns: who writes a half anew
// has met all threads since they read it.
struct TeamMemory {
  double words[2][2 * warp_lanes];
};
struct BlockTeam {
  TeamMemory* memory;
  int warps;
  int lanes;  // power_from(warps)
  int turn = 0;

  template <class T, class Combine>
  __device__ __forceinline__ T combined(T value, const T& nothing, const Combine& combine) {
    T* const totals = reinterpret_cast<T*>(memory->words[turn]);
    turn ^= 1;
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    value = combine_lanes(value, warp_lanes, combine);
    if (lane == 0) totals[threadIdx.x / warp_lanes] = value;
    __syncthreads();
    return combine_totals(totals, warps, lanes, nothing, combine);
  }
};

}  // namespace KW_TARGET::rowwise
