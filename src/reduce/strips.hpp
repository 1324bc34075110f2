// How one warp reduces a chunk of order.hpp, or a sequence that is no longer, whose elements lie in
// a stage: by strips, and without any other warp.
//
//   strip      what the lanes of a warp have side by side of a round of the order's lanes. The warp
//              adds up a strip's rounds, then the next strip's, and leaves what each lane has in
//              the place of the order's thread that it stands for.
//   places     one of each of the order's threads, and one more after each lane's share, so that
//              lanes read from different banks. The warp makes the order's tree of them.
#pragma once

#include "reduce/stage.hpp"

namespace KW_TARGET {

constexpr int threads_a_lane = order_threads / warp_lanes;
constexpr int strip_places = order_threads + warp_lanes;

// The tree over the first `present` of the order's threads' places, which has the others empty. A
// warp calls it; the first lane has the result. By halves, which takes fewer registers.
template <class A, class Partial>
__device__ __forceinline__ Partial tree_of_places(const Partial* places, int present, int lane) {
  constexpr int half = threads_a_lane / 2;
  const Partial* own_places = places + lane * (threads_a_lane + 1);
  Partial whole = A::empty();
#pragma unroll 1
  for (int from = lane * threads_a_lane; from < (lane + 1) * threads_a_lane; from += half) {
    Partial own[half];
#pragma unroll
    for (int i = 0; i < half; ++i) {
      own[i] = A::empty();
      if (from + i < present) own[i] = own_places[i];
    }
    own_places += half;
    A::merge(whole, tree_of_array<A>(own));  // into nothing at first
  }
  return tree_of_warp<A, warp_lanes>(whole);
}

// `count` elements from `from` on, of smallest_chunk_rounds rounds at most; `skip` of them would
// lie between the boundary before and the first one. The first lane has the result.
template <class A, class T>
__device__ __forceinline__ typename A::Partial reduce_by_strips(const unsigned char* from, int skip,
                                                                int count, Value<T> first,
                                                                typename A::Partial* places,
                                                                int lane) {
  constexpr int width = order_width<T>;
  constexpr int strip = warp_lanes * width, round = order_threads * width;
  constexpr int rounds = static_cast<int>(smallest_chunk_rounds);
  const int strips = min((count + strip - 1) / strip, order_warps);
  from += lane * 16;
  typename A::Partial* place = places + lane + lane / threads_a_lane;
  int left = count;       // elements from the strip's first one on
  int at = lane * width;  // this lane's first one
#pragma unroll 1
  for (int s = 0; s < strips; ++s) {
    Lanes<A, T> lanes;
    lanes.clear();
    // Rounds that have the whole strip, all loads before the first addition; then part of one.
    Pack<T> loaded[rounds];
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
      if (left >= r * round + strip) loaded[r] = load_staged<T>(from + r * round_bytes, skip);
    }
#pragma unroll
    for (int r = 0; r < rounds; ++r) {
      if (left >= r * round + strip) lanes.add_pack(loaded[r], at + r * round, first);
    }
    const int rest = left - max(left - strip + round, 0) / round * round;  // past whole rounds
    if (rest > 0 && at + (left - rest) < count) {
      const int next = (left - rest) / round;
      lanes.add_part(load_staged<T>(from + next * round_bytes, skip), at + (left - rest), count,
                     first);
    }
    *place = tree_of_lanes(lanes);
    place += warp_lanes + warp_lanes / threads_a_lane;
    from += strip_bytes, left -= strip, at += strip;
  }
  __syncwarp(whole_warp());
  const typename A::Partial whole = tree_of_places<A>(places, strips * warp_lanes, lane);
  __syncwarp(whole_warp());
  return whole;
}

}  // namespace KW_TARGET
