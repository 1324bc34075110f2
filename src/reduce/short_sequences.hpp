// Sequences of one chunk at most (order.hpp), rows or segments, by warps that read them alone.
//
// Idea        Sequences that fit a few lanes are reduced side by side, several a warp; longer ones
//             by a whole warp each. A lane has four packs next to each other, so most of the tree
//             needs no other lane, and a sequence of no more elements than the order has lanes
//             needs no sums along a lane.
// Ends        What a lane has loaded beyond the end of its sequence is replaced by elements that
//             change nothing (neutral.hpp), so that no addition asks whether its element is there.
// Few         Where all sequences of a batch have few elements and a lane each, a lane reads its
//             own one by one: packs would mostly hold what belongs to others.
// Work        Warps stay and take batches of sequences in turn. Where the next batch lies is read
//             before this one is reduced, and what comes next is brought into L2 meanwhile.
#pragma once

#include "device/overlap.hpp"
#include "reduce/chunks/work_lists.hpp"
#include "reduce/numbers/neutral.hpp"
#include "reduce/segments/segment_tiles.hpp"

namespace KW_TARGET {

constexpr int packs_a_lane = 4;

// What a group of so many lanes takes at a time.
template <class T>
__host__ __device__ constexpr std::int64_t group_elements(int group, int packs = packs_a_lane) {
  return std::int64_t{group} * packs * order_width<T>;
}
// The most elements that it takes: a whole warp takes 6 KB, quarter by quarter. Longer sequences
// are quicker by blocks (chunk_blocks.hpp).
template <class T>
__host__ __device__ constexpr std::int64_t most_of_group(int group) {
  return group < warp_lanes ? group_elements<T>(group) : order_lanes<T> * 3 / 2;
}

// What a lane has of a sequence at a time: `count` packs next to each other.
template <class T, int count>
struct LanePacks {
  static constexpr int width = order_width<T>;
  Pack<T> packs[count + 1];

  // Loads the packs that hold the elements from `at` on, which all lie within the array, and moves
  // the elements down, so that the lane's first one stands at position 0.
  __device__ __forceinline__ void load(const Packs<T>& all, int at) {
    const bool moves = all.skip > 0;
    const T* from = all.boundary + at;
    compute_now(from);  // once, not for each load
#pragma unroll
    for (int j = 0; j <= count; ++j) {
      packs[j] = {};
      if ((j < count || moves) && at + j * width < all.end)
        packs[j] = load_pack_of_line(from + j * width);
    }
    if (!moves) return;
#pragma unroll
    for (int j = 0; j < count; ++j) packs[j] = straddling(packs[j], packs[j + 1], all.skip);
  }
  // The same at an end of the array: element by element.
  __device__ __forceinline__ void load_elements(const T* begin, int at, int elements) {
    const T* from = begin + at;
    compute_now(from);
#pragma unroll
    for (int j = 0; j < count; ++j) {
      T found[width] = {};
#pragma unroll
      for (int e = 0; e < width; ++e) {
        if (at + j * width + e < elements) found[e] = from[j * width + e];
      }
      memcpy(packs[j].words, found, sizeof found);
    }
  }
  // Replaces all but the first `left` elements.
  __device__ __forceinline__ void end_after(int left, std::uint32_t low, std::uint32_t high) {
    const std::uint32_t fill[4] = {low, high, low, high};
#pragma unroll
    for (int j = 0; j < count; ++j) fill_beyond(packs[j], left - j * width, fill);
  }
};

// Whether what is not there is replaced; of narrow types each element is asked for instead, as
// masks of their words take more instructions.
template <class T>
constexpr bool fills_ends = sizeof(T) != 2;

// The sum over this lane's packs, from element `at` of a sequence of `count` on, where each of the
// order's lanes has one element at most.
template <class A, class T, int packs>
__device__ __forceinline__ typename A::Partial tree_of_packs(const LanePacks<T, packs>& own, int at,
                                                             [[maybe_unused]] int count,
                                                             Value<T> first) {
  constexpr int width = order_width<T>;
  if constexpr (!fills_ends<T>) {
    typename A::Partial partials[packs];
#pragma unroll
    for (int j = 0; j < packs; ++j) {
      Lanes<A, T> lanes;
      lanes.clear();
      lanes.add_part(own.packs[j], at + j * width, count, first);
      partials[j] = tree_of_lanes(lanes);
    }
    return tree_of_array<A>(partials);
  } else if constexpr (A::any_order) {
    Lanes<A, T> lanes;
    lanes.clear();
#pragma unroll
    for (int j = 0; j < packs; ++j) lanes.add_pack(own.packs[j], at + j * width, first);
    return tree_of_lanes(lanes);
  } else {
    typename A::Partial partials[packs];
#pragma unroll
    for (int j = 0; j < packs; ++j) {
      typename A::Partial ones[width];
#pragma unroll
      for (int e = 0; e < width; ++e) ones[e] = lane_of_one<A, T>(own.packs[j].value(e), first);
      partials[j] = tree_of_array<A>(ones);
    }
    return tree_of_array<A>(partials);
  }
}

// One sequence for a group of lanes: what its kinds of steps share.
template <ReduceKind kind, class T>
class GroupSequence {
 public:
  using A = Accumulator<kind, T>;
  using Partial = typename A::Partial;
  static constexpr int width = order_width<T>;

  __device__ __forceinline__ GroupSequence(const T* begin, int count, const Extent& array,
                                           int member, int group)
      : packs_(begin, count, array), member_(member), group_(group) {
    const char* bytes = reinterpret_cast<const char*>(packs_.boundary);
    const int reach = packs_.end * static_cast<int>(sizeof(T)) + 15;  // or less
    all_inside_ = __all_sync(whole_warp(),
                             count == 0 || (bytes >= array.begin && array.end - bytes >= reach));
    if (needs_first_element<A> && count > 0) {
      const T element = *begin;
      first_ = to_value(element);
      fill_low_ = fill_words(element, &fill_high_);
    }
  }
  __device__ __forceinline__ Value<T> first() const { return first_; }

  // No more elements than the group's lanes have at a time, so many packs each.
  template <int packs>
  __device__ __forceinline__ Partial at_once() const {
    LanePacks<T, packs> own;
    const int at = member_ * packs * width;
    load(own, at);
    return across_group(tree_of_packs<A>(own, at, packs_.count, first_));
  }
  // More of them, by a whole warp: the order's lanes in quarters, each through all rounds, merged
  // as a tree.
  __device__ __forceinline__ Partial by_quarters() const {
    constexpr int quarter = static_cast<int>(order_lanes<T>) / 4;
    Partial whole = A::empty();
#pragma unroll 1
    for (int half = 0; half < 4 * quarter && half < packs_.count; half += 2 * quarter) {
      Partial both = A::empty();
#pragma unroll 1
      for (int at = half; at < half + 2 * quarter && at < packs_.count; at += quarter) {
        A::merge(both, across_group(quarter_from(at)));  // into nothing at first
      }
      A::merge(whole, both);
    }
    return whole;
  }

 private:
  // The elements from `at` of the sequence on.
  template <int packs>
  __device__ __forceinline__ void load(LanePacks<T, packs>& own, int at) const {
    if (all_inside_) {
      own.load(packs_, at);
    } else {
      own.load_elements(packs_.boundary + packs_.skip, at, packs_.count);
    }
    if constexpr (fills_ends<T>) {
      const int left = packs_.count - at;
      const bool ends = left < packs * width && (needs_first_element<A> || left > -width);
      if (__any_sync(whole_warp(), ends)) own.end_after(left, fill_low_, fill_high_);
    }
  }
  __device__ __forceinline__ Partial quarter_from(int from) const {
    constexpr int packs = order_threads / warp_lanes / 4, sets = A::any_order ? 1 : packs;
    Lanes<A, T> lanes[sets];
#pragma unroll
    for (int j = 0; j < sets; ++j) lanes[j].clear();
#pragma unroll 1
    for (; from < packs_.count; from += static_cast<int>(order_lanes<T>)) {
      const int at = from + member_ * packs * width;
      LanePacks<T, packs> own;
      load(own, at);
#pragma unroll
      for (int j = 0; j < packs; ++j) {
        if constexpr (fills_ends<T>) {
          lanes[j % sets].add_pack(own.packs[j], at + j * width, first_);
        } else {
          lanes[j % sets].add_part(own.packs[j], at + j * width, packs_.count, first_);
        }
      }
    }
    Partial partials[sets];
#pragma unroll
    for (int j = 0; j < sets; ++j) partials[j] = tree_of_lanes(lanes[j]);
    return tree_of_array<A>(partials);
  }
  __device__ __forceinline__ Partial across_group(Partial partial) const {
#pragma unroll 1
    for (int step = 1; step < group_; step *= 2) {
      A::merge(partial, from_lane_above(partial, step, group_));
    }
    return partial;
  }

  Packs<T> packs_;
  int member_, group_;
  bool all_inside_;
  Value<T> first_ = {};
  std::uint32_t fill_low_ = 0, fill_high_ = 0;
};

// A warp's sequences of a batch, one a lane: where they begin and how many elements they have.
struct Batch {
  std::int64_t begin;
  int count;  // or more than any group takes; below 0: none

  __device__ __forceinline__ explicit Batch(const Span& own)
      : begin(own.begin), count(static_cast<int>(min(own.count, std::int64_t{INT32_MAX}))) {}
};

// Asks for what a lane of a group will read of a sequence.
template <class T>
__device__ __forceinline__ void prefetch_of_lane(const T* begin, int count, int member) {
  const int at = member * packs_a_lane * order_width<T>;
  if (at < count) prefetch_line_to_l2(begin + at);
}

// Sequences of `fewest` to most_of_group elements, 32 / group of them at a time, of the `each` of a
// batch, while those after them, in this batch or in the next one, are on their way to L2. A
// lane has `packs` at a time; without `in_quarters` the group has all at once.
template <ReduceKind kind, class T, int packs = packs_a_lane, bool in_quarters = true>
__device__ __forceinline__ void reduce_by_groups(const T* data, const Extent& array,
                                                 const Batch& own, const Batch& next, int fewest,
                                                 int group, int each, std::int64_t first_sequence,
                                                 const ResultSink& sink, int lane) {
  using A = Accumulator<kind, T>;
  const int member = lane & (group - 1), teams = warp_lanes / group, team = lane / group;
  const int most =
      static_cast<int>(in_quarters ? most_of_group<T>(group) : group_elements<T>(group, packs));
  int found = from_lane(own.count, team);
  std::int64_t begin = from_lane(own.begin, team);
#pragma unroll 1
  for (int from = 0; from < each; from += teams) {
    const bool is_last = from + teams >= each;
    const int after = is_last ? team : from + teams + team;
    const int ahead_count = is_last ? next.count : own.count;
    const std::int64_t ahead_begin = is_last ? next.begin : own.begin;
    const int next_found = from_lane(ahead_count, after);
    const std::int64_t next_begin = from_lane(ahead_begin, after);
    prefetch_of_lane(data + next_begin, next_found, member);
    const bool mine = found >= fewest && found <= most;
    if (__any_sync(whole_warp(), mine)) {
      const int count = mine ? found : 0;
      const GroupSequence<kind, T> sequence(data + begin, count, array, member, group);
      // Of a whole warp all lanes have the same sequence.
      typename A::Partial whole = A::empty();
      if (in_quarters && group == warp_lanes && count > group_elements<T>(warp_lanes)) {
        whole = sequence.by_quarters();
      } else {
        const typename A::Partial partial = sequence.template at_once<packs>();
        if (count > 0) A::merge(whole, partial);
      }
      if (mine && member == 0) {
        const Chunk<T> chunk = {0, count, sequence.first()};
        write_result<T, kind>(sink, first_sequence + from + team, A::total(whole, chunk), count);
      }
    }
    found = next_found;
    begin = next_begin;
  }
}

// The most elements of a sequence that a lane reads one by one, where its warp's other lanes have
// no more of theirs: 48 bytes, as measured on an H200 (results/h200/explored-reduce-low.txt); with
// 64 the lanes' loads are slower than whole packs.
template <class T>
constexpr int few_elements = sizeof(T) == 1 ? 32 : 48 / static_cast<int>(sizeof(T));

// A lane's sequence of a batch of `each` that begins with sequence `first`.
__device__ __forceinline__ Span short_of_lane(const Sequences& sequences, std::int64_t first,
                                              int each, int lane) {
  const bool has_one = lane < each && first + lane < sequences.count;
  return has_one ? sequences.at(first + lane) : Span{0, -1};
}

// A batch of such sequences, one a lane.
template <ReduceKind kind, class T>
__device__ __forceinline__ void reduce_few(const T* data, const Batch& own,
                                           std::int64_t first_sequence, const ResultSink& sink,
                                           int lane) {
  using A = Accumulator<kind, T>;
  const int count = max(own.count, 0);
  const T* begin = data + own.begin;
  Value<T> first = {};
  if (needs_first_element<A> && count > 0) first = to_value(*begin);
  const int blocks = static_cast<int>(
      largest_of_warp((static_cast<unsigned>(count) + tile_block - 1) / tile_block));
  const typename A::Partial partial = TileWalk<A, T, false>{begin, 0, count, 0, first}.run(blocks);
  typename A::Partial whole = A::empty();
  if (count > 0) A::merge(whole, partial);
  const Chunk<T> chunk = {0, count, first};
  if (own.count >= 0)
    write_result<T, kind>(sink, first_sequence + lane, A::total(whole, chunk), count);
}

// Three blocks of 80 registers per SM; two of instances that would spill, four of small ones.
template <ReduceKind kind, class T>
constexpr int short_blocks_per_sm = kind == ReduceKind::moments ||
                                            kind == ReduceKind::norm_square ||
                                            (kind == ReduceKind::sum_square && sizeof(T) == 2)
                                        ? 2
                                    : std::is_integral_v<T> && sizeof(T) >= 4 &&
                                            (kind == ReduceKind::sum ||
                                             kind == ReduceKind::sum_abs ||
                                             kind == ReduceKind::sum_square)
                                        ? 4
                                        : 3;

// Sequences of a chunk at most, `each` a batch, 32 at most, by all warps of a launch; longer ones
// go on the lists. Groups of `group` lanes take those that fit them, all 32 lanes what is left.
// `next`: the lane's sequence of the warp's first batch.
template <ReduceKind kind, class T>
__device__ __forceinline__ void reduce_short_ones(const T* data, const Sequences& sequences,
                                                  int group, int each, const WorkLists& lists,
                                                  const ResultSink& sink, Span next, int lane) {
  const std::int64_t step = std::int64_t{gridDim.x} * order_warps * each;
  const Extent array = extent_of(data, sequences.elements);
#pragma unroll 1
  for (std::int64_t first = this_warp() * each; first < sequences.count; first += step) {
    const Batch batch(next);
    next = short_of_lane(sequences, first + step, each, lane);
    if (group == 1 && __all_sync(whole_warp(), batch.count <= few_elements<T>)) {
      reduce_few<kind, T>(data, batch, first, sink, lane);
      continue;
    }
    const Batch next_batch(next);
    int fewest = 0;
#pragma unroll 1
    for (int lanes = group; lanes <= warp_lanes;
         lanes = lanes < warp_lanes ? warp_lanes : 2 * warp_lanes) {
      const int most = static_cast<int>(most_of_group<T>(lanes));
      if (__any_sync(whole_warp(), batch.count >= fewest && batch.count <= most)) {
        reduce_by_groups<kind, T>(data, array, batch, next_batch, fewest, lanes, each, first, sink,
                                  lane);
      }
      fewest = most + 1;
    }
    if (__any_sync(whole_warp(), batch.count >= fewest)) {
      // Looked up again: kept, it would take registers of what comes before.
      put_on_lists<T>(lists, first + lane, short_of_lane(sequences, first, each, lane), fewest,
                      lane);
    }
  }
}

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, (short_blocks_per_sm<kind, T>))
    reduce_short_kernel(const T* data, Sequences sequences, int group, int each, WorkLists lists,
                        ResultSink sink) {
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  if (threadIdx.x == 0) begin_small_grid(data, sequences);
  wait_for_previous_kernel();
  const Span first = short_of_lane(sequences, this_warp() * each, each, lane);
  reduce_short_ones<kind, T>(data, sequences, group, each, lists, sink, first, lane);
}

}  // namespace KW_TARGET
