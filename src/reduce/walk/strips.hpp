// How one warp reduces a chunk of order.hpp, or a sequence that is no longer, whose elements lie in
// a stage: by strips, and without any other warp.
//
//   strip      what the lanes of a warp have side by side of a round of the order's lanes. The warp
//              adds up a strip's rounds, then the next strip's, and leaves what each lane has in
//              the place of the order's thread that it stands for.
//   places     one of each of the order's threads, and one more after each lane's share, so that
//              lanes read from different banks. The warp makes the order's tree of them.
#pragma once

#include "reduce/walk/any_order.hpp"
#include "reduce/walk/stage.hpp"
#include "reduce/walk/walk.hpp"

namespace KW_TARGET {

constexpr int threads_a_lane = order_threads / warp_lanes;
constexpr int strip_places = order_threads + warp_lanes;
// Of the norm of float64 a warp makes one of three sums at a time.
template <class A>
using StripPlace = std::conditional_t<std::is_same_v<A, NormSquare>, double, typename A::Partial>;

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

// One strip's sums in a lane: the lane's pack of each round, which it has whole.
template <class A, class T, int rounds>
__device__ __forceinline__ typename A::Partial sum_of_strip(const Pack<T> (&packs)[rounds], int at,
                                                            Value<T> first) {
  constexpr int width = order_width<T>, round = order_threads * width;
  typename A::Partial partials[width];
#pragma unroll
  for (int j = 0; j < width; ++j) {
    typename A::Lane lane = lane_with<A, T>(packs[0].value(j), first);
#pragma unroll
    for (int r = 1; r < rounds; ++r) A::add(lane, packs[r].value(j), at + r * round + j, first);
    partials[j] = A::close(lane);
  }
  return tree_of_array<A>(partials);
}

// A warp's way over the strips of a sequence in a stage.
template <class A, class T>
class StripWalk {
 public:
  static constexpr int width = order_width<T>;
  static constexpr int strip = warp_lanes * width, round = order_threads * width;

  // `skip` elements would lie between the boundary before `begin` and the first one.
  __device__ __forceinline__ StripWalk(const unsigned char* begin, int skip, T first,
                                       typename A::Partial* places, int lane)
      : from_(begin + lane * 16),
        skip_(skip),
        at_(lane * width),
        first_(first),
        place_(places + lane + lane / threads_a_lane) {}

  // Strips that all have whole packs in so many rounds, or none of them.
  __device__ __forceinline__ void add_whole(int rounds, int strips) {
    static_assert(smallest_chunk_rounds == 4);
    if (rounds == 1) add_whole<1>(strips);
    if (rounds == 2) add_whole<2>(strips);
    if (rounds == 3) add_whole<3>(strips);
    if (rounds == 4) add_whole<4>(strips);
  }
  // A strip of which the last round has a part. What is not there is replaced by what changes
  // nothing (neutral.hpp).
  __device__ __forceinline__ void add_part(int rounds, int count) {
    std::uint32_t high = 0;
    const std::uint32_t low = fill_words(neutral_element<A>(first_), &high);
    Lanes<A, T> lanes;
    lanes.clear();
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) {
      const int at = at_ + r * round, left = count - at;
      Pack<T> pack = {};
      if (left > 0) pack = load_staged<T>(from_ + r * round_bytes, skip_);
      fill_beyond(pack, left, low, high);
      lanes.add_pack(pack, at, to_value(first_));
    }
    put(tree_of_lanes(lanes));
  }

 private:
  template <int rounds>
  __device__ __forceinline__ void add_whole(int strips) {
    if (skip_ == 0) {
      add_whole<rounds, true>(strips);
    } else {
      add_whole<rounds, false>(strips);
    }
  }
  template <int rounds, bool is_aligned>
  __device__ __forceinline__ void add_whole(int strips) {
#pragma unroll 1
    for (; strips > 0; --strips) {
      Pack<T> packs[rounds];
#pragma unroll
      for (int r = 0; r < rounds; ++r) {
        packs[r] = load_staged<T>(from_ + r * round_bytes, is_aligned ? 0 : skip_);
      }
      put(sum_of_strip<A, T, rounds>(packs, at_, to_value(first_)));
    }
  }
  __device__ __forceinline__ void put(typename A::Partial sum) {
    *place_ = sum;
    place_ += warp_lanes + warp_lanes / threads_a_lane;
    from_ += strip_bytes, at_ += strip;
  }

  const unsigned char* from_;
  int skip_, at_;  // at_: this lane's first element of the strip
  T first_;
  typename A::Partial* place_;
};

// What two lanes `apart` have of two sums: the lower lane gets all of the first one, the upper lane
// all of the second one. Additions may be turned round.
template <class A, class Partial>
__device__ __forceinline__ Partial halve_sums(const Partial& one, const Partial& two, int apart,
                                              int lane) {
  constexpr int words = static_cast<int>(sizeof(Partial) / 4);
  std::uint32_t kept[words], given[words];
  memcpy(kept, &one, sizeof one);
  memcpy(given, &two, sizeof two);
  const bool is_upper = (lane & apart) != 0;
#pragma unroll
  for (int i = 0; i < words; ++i) {  // by words: of two numbers a compiler may choose an address
    const std::uint32_t other = is_upper ? kept[i] : given[i];
    kept[i] = is_upper ? given[i] : kept[i];
    given[i] = from_lane(other, lane ^ apart);
  }
  Partial sum, later;
  memcpy(&sum, kept, sizeof sum);
  memcpy(&later, given, sizeof later);
  A::merge(sum, later);
  return sum;
}
template <class A, class Partial>
__device__ __forceinline__ void add_lane_apart(Partial& sum, int apart, int lane) {
  A::merge(sum, from_lane(sum, lane ^ apart));
}

// The most elements that OneRound takes: six strips, of which trees of more take longer than
// through shared memory; of 64 bits, of which a lane has two of each strip, four.
template <class T>
constexpr int most_of_one_round = static_cast<int>(order_lanes<T>) / 8 * (sizeof(T) == 8 ? 4 : 6);

// The elements of a sequence in a stage that has fewer than the order has lanes: one in each, so
// a strip is added up by a tree over its lanes. The strips' trees go on together: at each level a
// lane keeps half of its sums and gives the others away. All lanes have the result.
template <class A, class T>
class OneRound {
 public:
  using Partial = typename A::Partial;

  __device__ __forceinline__ OneRound(const StagedRun<T>& run, T first, int lane)
      : run_(run), lane_(lane), strips_((run.count + strip - 1) / strip), first_(to_value(first)) {
    low_ = fill_words(neutral_element<A>(first), &high_);
  }

  __device__ __forceinline__ Partial total() const {
    Partial whole = A::empty();
    A::merge(whole, tree());  // a zero becomes positive
    return whole;
  }

 private:
  static constexpr int width = order_width<T>, strip = warp_lanes * width;
  static_assert(order_warps == 8);

  __device__ __forceinline__ Partial tree() const {
    if (strips_ <= 1) {
      Partial sum = sum_of_strip(0);
      go_up<1, 1>(sum);
      return sum;
    }
    const Partial low = pair(0);
    if (strips_ <= 2) {
      Partial sum = low;
      go_up<2, 2>(sum);
      return sum;
    }
    Partial half = halve_sums<A>(low, pair(2), 2, lane_);
    if (strips_ <= 4) {
      go_up<4, 4>(half);
      return half;
    }
    half = halve_sums<A>(half, halve_sums<A>(pair(4), A::empty(), 2, lane_), 4, lane_);
    go_up<8, 8>(half);
    return half;
  }
  // The levels from lanes `from` apart on, then those over `strips` strips, which neighbours have.
  template <int from, int strips>
  __device__ __forceinline__ void go_up(Partial& sum) const {
#pragma unroll
    for (int apart = from; apart < warp_lanes; apart *= 2) add_lane_apart<A>(sum, apart, lane_);
#pragma unroll
    for (int apart = 1; apart < strips; apart *= 2) add_lane_apart<A>(sum, apart, lane_);
  }
  // Strips `number` and the next one, of which each lane has half of the first level.
  __device__ __forceinline__ Partial pair(int number) const {
    const Partial one = sum_of_strip(number);
    Partial two = A::empty();
    if (number + 1 < strips_) two = sum_of_strip(number + 1);
    return halve_sums<A>(one, two, 1, lane_);
  }
  __device__ __forceinline__ Partial sum_of_strip(int number) const {
    const int at = number * strip + lane_ * width, left = run_.count - at;
    const unsigned char* from = run_.begin() + number * strip_bytes + lane_ * 16;
    Pack<T> pack = {{low_, high_, low_, high_}};
    if (number + 1 < strips_) {
      pack = load(from);
    } else {
      if (left > 0) pack = load(from);
      fill_beyond(pack, left, low_, high_);
    }
    const Pack<T> packs[1] = {pack};
    return KW_TARGET::sum_of_strip<A, T, 1>(packs, at, first_);
  }
  __device__ __forceinline__ Pack<T> load(const unsigned char* from) const {
    return run_.skip == 0 ? read_pack<T>(from) : load_staged<T>(from, run_.skip);
  }

  const StagedRun<T>& run_;
  int lane_, strips_;
  Value<T> first_;
  std::uint32_t low_, high_ = 0;
};

// The elements of a sequence in a stage, of smallest_chunk_rounds rounds at most. The first lane
// has the result.
template <class A, class T>
__device__ __forceinline__ typename A::Partial reduce_by_strips(const StagedRun<T>& run, T first,
                                                                typename A::Partial* places,
                                                                int lane) {
  using Strips = StripWalk<A, T>;
  Strips walk(run.begin(), run.skip, first, places, lane);
  int rounds = (run.count - 1) / Strips::round + 1;
  const int rest = run.count - (rounds - 1) * Strips::round, part = rest % Strips::strip;
  int strips = rest / Strips::strip, done = 0;
#pragma unroll 1
  while (true) {  // those of all rounds, then those of one less
    walk.add_whole(rounds, strips);
    done += strips;
    if (done == order_warps) break;
    if (done == strips && part > 0) walk.add_part(rounds, run.count), ++done;
    if (--rounds == 0) break;
    strips = order_warps - done;
  }
  __syncwarp(whole_warp());
  const typename A::Partial whole = tree_of_places<A>(places, done * warp_lanes, lane);
  __syncwarp(whole_warp());
  return whole;
}

}  // namespace KW_TARGET
