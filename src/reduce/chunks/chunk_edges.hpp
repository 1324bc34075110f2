// What the threads of a block leave of the chunks that it has walked, in shared memory, and how a
// warp makes a chunk's total of it: on a boundary a tree; off one, parts of the last threads of
// warps are put together before.
#pragma once

#include "reduce/walk/walk.hpp"

namespace KW_TARGET {

// What the threads of a block have of some chunks that it has walked, for the tree: a warp each. So
// the tree takes an eighth of the instructions that it takes where all warps go up a chunk's
// together, most lanes for nothing. Twice as many places as chunks of a round: while some warps
// make the trees of one round, others walk the next one's chunks.
template <class A, class T>
struct ChunkPartials {
  using Partial = typename A::Partial;
  // Of two blocks an SM, which variances have (chunk_blocks.hpp), each has more shared memory.
  static constexpr bool has_room = std::is_same_v<A, Variance<T>>;
  static constexpr bool is_wide = sizeof(Partial) > 8 || sizeof(Lanes<A, T>) > 64;
  static constexpr int chunks = is_wide && !has_room ? order_warps / 4 : order_warps / 2;
  static constexpr int places = 2 * chunks;
  static_assert(places <= order_warps);
  static constexpr int a_lane = order_threads / warp_lanes;

  Partial of[places][order_threads + warp_lanes];
  Value<T> first[places];

  // One place is left out after each lane's, so that lanes read from different banks.
  __device__ __forceinline__ void put(int place, int thread, const Partial& partial) {
    of[place][thread + thread / a_lane] = partial;
  }
  // A warp calls it; the first lane has the result. By halves, which takes fewer registers.
  __device__ __forceinline__ Partial tree(int place, int lane) const {
    constexpr int half = a_lane / 2;
    Partial whole = A::empty();
#pragma unroll 1
    for (int first_of_half = 0; first_of_half < a_lane; first_of_half += half) {
      Partial own[half];
#pragma unroll
      for (int i = 0; i < half; ++i) own[i] = of[place][lane * (a_lane + 1) + first_of_half + i];
      A::merge(whole, tree_of_array<A>(own));  // into nothing at first
    }
    return tree_of_warp<A, warp_lanes>(whole);
  }
};

// Off a boundary, lanes of a thread are partly those of the thread before in the order (walk.hpp),
// and what its tree makes of them has a part for each.
template <class A>
struct CutPartials {
  typename A::Partial kept[2], sent[2];  // to the thread before

  template <class T>
  __device__ __forceinline__ CutPartials(const Lanes<A, T>& lanes, int skip) {
    constexpr int width = Lanes<A, T>::count;
    typename A::Partial partial[width];
#pragma unroll
    for (int j = 0; j < width; ++j) partial[j] = A::close(lanes.lane[j]);
    sent[0] = partial[0];
    sent[1] = A::empty();
    kept[0] = partial[width - 1];
    kept[1] = A::empty();
    if constexpr (width == 4) {
      if (skip == 2) {
        kept[0] = partial[2];
        A::merge(kept[0], partial[3]);
        A::merge(sent[0], partial[1]);
      } else {
        A::merge(partial[1], partial[2]);
        sent[1] = partial[1];  // of skip 3
        if (skip == 1) kept[0] = partial[1], kept[1] = partial[3];
      }
    }
  }
  // The tree over a thread's lanes, from what it kept and what the thread behind has sent.
  template <class T>
  __device__ __forceinline__ static typename A::Partial join(const typename A::Partial (&kept)[2],
                                                             const typename A::Partial (&sent)[2],
                                                             int skip) {
    constexpr bool is_wide = order_width<T> == 4;
    typename A::Partial joined = kept[0], second = sent[0];
    if (is_wide && skip == 1) {
      second = kept[1];
      A::merge(second, sent[0]);
    }
    A::merge(joined, second);
    if (is_wide && skip == 3) A::merge(joined, sent[1]);
    return joined;
  }
};

// The last thread of a warp has no thread behind in its warp: both leave their parts here, and who
// makes the chunk's tree puts them together: no barrier for each chunk. Types of 16 bits leave
// lanes.
template <class A, class T>
struct ChunkEdges {
  using Partial = typename A::Partial;
  static constexpr int places = A::any_order ? 1 : ChunkPartials<A, T>::places;
  static constexpr bool cuts = order_width<T> <= 4;
  struct Parts {
    Partial part[2];
  };
  using Edge = std::conditional_t<cuts, Parts, Lanes<A, T>>;

  Edge last[places][order_warps], first[places][order_warps];
  int skip[places], turn[places];

  // The tree over a thread's lanes, as far as its warp has them.
  __device__ __forceinline__ Partial close(Lanes<A, T>& lanes, int own_skip, int own_turn,
                                           int place, int thread) {
    const int lane = thread % warp_lanes, warp = thread / warp_lanes;
    if (thread == 0) skip[place] = own_skip, turn[place] = own_turn;
    if (own_skip == 0) return tree_of_lanes(lanes);
    if constexpr (cuts) {
      const CutPartials<A> cut(lanes, own_skip);
      if (lane == 0) first[place][warp] = {{cut.sent[0], cut.sent[1]}};
      if (lane == warp_lanes - 1) last[place][warp] = {{cut.kept[0], cut.kept[1]}};
      Partial sent[2] = {from_lane(cut.sent[0], (lane + 1) % warp_lanes), cut.sent[1]};
      if (order_width<T> == 4 && own_skip == 3)
        sent[1] = from_lane(cut.sent[1], (lane + 1) % warp_lanes);
      return CutPartials<A>::template join<T>(cut.kept, sent, own_skip);
    } else {
      if (lane == 0) first[place][warp] = lanes;
      move_lanes(lanes, own_skip, lane);
      if (lane == warp_lanes - 1) last[place][warp] = lanes;
      return tree_of_lanes(lanes);
    }
  }
  // What the last threads of all warps have. A warp calls it, before it makes the tree.
  __device__ __forceinline__ void join(ChunkPartials<A, T>& partials, int place, int lane) const {
    const int own_skip = skip[place];
    if (own_skip > 0 && lane < order_warps) {
      const Edge& own = last[place][lane];
      const Edge& after = first[place][(lane + 1) % order_warps];
      Partial joined;
      if constexpr (cuts) {
        joined = CutPartials<A>::template join<T>(own.part, after.part, own_skip);
      } else {
        Lanes<A, T> lanes;
        constexpr int width = Lanes<A, T>::count;
#pragma unroll
        for (int j = 0; j < width; ++j) {
          const int moved = j + own_skip;
          lanes.lane[j] = moved < width ? own.lane[j] : after.lane[moved - width];
        }
        joined = tree_of_lanes(lanes);
      }
      partials.put(place, member_of(lane * warp_lanes + warp_lanes - 1, turn[place]), joined);
    }
    __syncwarp(whole_warp());
  }
};

}  // namespace KW_TARGET
