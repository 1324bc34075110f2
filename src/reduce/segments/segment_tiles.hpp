// Short segments by tiles: neighbouring segments lie next to each other in memory, so a warp copies
// a batch of them into a stage of shared memory as one run, and its lanes reduce them there.
//
// Idea        From a stage an element is read wherever it lies, so a segment needs no lane of its
//             own for each 16 bytes, nothing is moved down from a boundary, and lengths may differ.
//             A segment goes to a lane, or to neighbouring ones where a batch has fewer segments
//             than a warp has lanes: each adds up a run of 2^k elements, which is a subtree of the
//             order (order.hpp), eight elements at a time; or, where order cannot show, every so
//             manyth pack of 16 bytes (any_order.hpp).
// Banks       Where segments have the same length, or several lanes one segment, lanes would read
//             from the same banks. There a lane takes eight elements in an order of its own:
//             element j ^ turn in place of element j. At each level of the tree this exchanges
//             neighbours, no more, and a sum does not depend on which of two numbers is the first.
// Batches     A warp takes units of up to 32 segments; of a unit as many at a time as fit the next
//             stage. So a batch has what its segments have, whatever the mean of all is.
// Longer      A segment that is too long for its lanes goes to all lanes of the warp; one that fits
//             no stage goes on the lists (work_lists.hpp).
#pragma once

#include "reduce/numbers/neutral.hpp"
#include "reduce/segments/tile_units.hpp"
#include "reduce/walk/any_order.hpp"

namespace KW_TARGET {

constexpr int tile_block_bits = 3, tile_block = 1 << tile_block_bits;  // elements of a block
template <class T>
constexpr int tile_run_doublings = sizeof(T) == 2 ? 5 : 4;
// The most elements of a lane's run; of int8 there are no runs (walk_packs).
template <class T>
constexpr int tile_most_of_lane = sizeof(T) == 1 ? 1 << 16 : tile_block << tile_run_doublings<T>;

// One lane's walk over a run of elements: `left` of them from `from` on, blocks of eight, as many
// as the lane of the warp that has the most. Elements that only others have change nothing
// (neutral.hpp). `turns`: each block in the lane's own order.
template <class A, class T, bool turns>
struct TileWalk {
  using Partial = typename A::Partial;

  const T* from;
  int at, left, turn;
  Value<T> first;
  int places[tile_block] = {};  // of a block's elements in the lane's own order

  __device__ __forceinline__ Partial run(int blocks) {
    find_places();
    if constexpr (A::any_order) {
      Partial whole = A::empty();
#pragma unroll 1
      for (; blocks > 0; blocks -= group_blocks) {
        append(whole, tree_of_group(blocks));
        advance();
      }
      return whole;
    } else {
      return tree_of_groups(blocks);
    }
  }

 private:
  // Blocks that are added up without counting, and levels of the tree over such groups, of which a
  // run has 2^levels - 1 at most.
  static constexpr int group_blocks = sizeof(Partial) > 16 || turns ? 2 : 4;
  static constexpr int group_elements = group_blocks * tile_block;
  static constexpr int levels = tile_run_doublings<T>;
  static_assert((1 << tile_run_doublings<T>) / group_blocks < 1 << levels);

  __device__ __forceinline__ void advance() {
    from += group_elements, at += group_elements, left -= group_elements;
  }
  // Merges what comes later; in a lane's own order either may be the first.
  __device__ __forceinline__ static void append(Partial& into, const Partial& later) {
    if constexpr (compares_places<A> && !turns) {
      A::add(into, later.best, static_cast<std::int32_t>(later.at), later.best);
    } else {
      A::merge(into, later);
    }
  }
  // Found once: for each load the compiler would find an address in three steps.
  __device__ __forceinline__ void find_places() {
#pragma unroll
    for (int j = 0; turns && j < tile_block; ++j) {
      places[j] = j ^ turn;
      compute_now(places[j]);
    }
  }
  __device__ __forceinline__ int place(int j) const { return turns ? places[j] : j; }

  // The elements of a block from element `begin` of the group on, of which `present` has a bit
  // each. All loads come first.
  __device__ __forceinline__ void load_block(Value<T> (&values)[tile_block], int begin,
                                             [[maybe_unused]] unsigned present) const {
    const T* block = from + begin;
    [[maybe_unused]] const int of_block = left - begin;
#pragma unroll
    for (int j = 0; j < tile_block; ++j) {
      const int i = place(j);
      values[j] = needs_first_element<A> ? first : Value<T>{};
      if (turns ? i < of_block : (present >> (begin + j) & 1) != 0) values[j] = to_value(block[i]);
    }
  }
  // The tree over `count` elements of a block from element j on.
  template <int count>
  __device__ __forceinline__ Partial tree_of_block(const Value<T> (&values)[tile_block], int begin,
                                                   int j) const {
    if constexpr (count > 1) {
      Partial whole = tree_of_block<count / 2>(values, begin, j);
      append(whole, tree_of_block<count / 2>(values, begin, j + count / 2));
      return whole;
    } else if constexpr (compares_places<A>) {
      return {values[j], static_cast<std::uint32_t>(at + begin + place(j))};
    } else {
      return lane_of_one<A, T>(values[j], first);
    }
  }
  // The tree over `count` blocks from element `begin` of the group on, of which `blocks` have
  // elements in some lane of the warp.
  template <int count>
  __device__ __forceinline__ Partial tree_of_blocks(int begin, unsigned present, int blocks) const {
    if constexpr (count == 1) {
      Value<T> values[tile_block];
      load_block(values, begin, present);
      return tree_of_block<tile_block>(values, begin, 0);
    } else {
      constexpr int half = count / 2;
      Partial whole = tree_of_blocks<half>(begin, present, blocks);
      if (blocks <= half) return whole;
      append(whole, tree_of_blocks<half>(begin + half * tile_block, present, blocks - half));
      return whole;
    }
  }
  __device__ __forceinline__ Partial tree_of_group(int blocks) const {
    const int count = min(max(left, 0), group_elements);
    const unsigned present = count == 32 ? ~0u : (1u << count) - 1;
    return tree_of_blocks<group_blocks>(0, present, blocks);
  }

  __device__ __forceinline__ Partial tree_of_groups(int blocks) {
    Partial waiting[levels];  // level l: the tree over 2^l groups that waits for the next 2^l
#pragma unroll
    for (int level = 0; level < levels; ++level) waiting[level] = A::empty();
    int groups = 0;
#pragma unroll 1
    for (; groups * group_blocks < blocks; ++groups) {
      Partial sum = tree_of_group(blocks - groups * group_blocks);
      if (groups == 0 && blocks <= group_blocks) return sum;
      advance();
      bool carries = true;
#pragma unroll
      for (int level = 0; level < levels; ++level) {
        if (!carries) continue;
        carries = (groups >> level & 1) != 0;
        if (carries) {
          Partial both = waiting[level];
          A::merge(both, sum);
          sum = both;
        } else {
          waiting[level] = sum;
        }
      }
    }
    Partial whole = A::empty();
#pragma unroll
    for (int level = 0; level < levels; ++level) {
      if ((groups >> level & 1) == 0) continue;
      Partial both = waiting[level];
      A::merge(both, whole);
      whole = both;
    }
    return whole;
  }
};

// One lane's part of a segment that several of them share: a run of blocks, which is a subtree of
// the order.
template <class A, class T>
__device__ __forceinline__ typename A::Partial walk_blocks(const T* begin, int count, int member,
                                                           const LaneShare& by, Value<T> first) {
  int at = 0, left = count;
  if (by.lanes > 1) {
    const int share = by.quotient(count + by.lanes - 1);
    const int doublings = warp_lanes - __clz(max(share - 1, 0)) - tile_block_bits;
    const int run = tile_block << max(doublings, 0);
    at = member * run, left = max(min(run, count - at), 0);
  }
  const int blocks = static_cast<int>(
      largest_of_warp((static_cast<unsigned>(left) + tile_block - 1) / tile_block));
  const T* from = begin + at;
  const auto bytes = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from));
  // Where all begin at the same place of a block's bytes, a warp's reads meet in few banks; where
  // lanes share a segment, in some. Places would be compared for it, which takes longer.
  constexpr unsigned block_bytes = tile_block * static_cast<unsigned>(sizeof(T));
  const bool meets = __all_sync(whole_warp(), (bytes ^ from_lane(bytes, 0)) % block_bytes == 0);
  const bool turns = meets || (by.lanes > 2 && !compares_places<A>);
  if (turns) {
    const auto turn = static_cast<int>(bytes / line_bytes % tile_block);
    return TileWalk<A, T, true>{from, at, left, turn, first}.run(blocks);
  }
  return TileWalk<A, T, false>{from, at, left, 0, first}.run(blocks);
}

// Whether lanes walk over whole packs (any_order.hpp): of one byte always, of others where several
// share a segment.
template <class A, class T>
__device__ __forceinline__ bool walks_packs([[maybe_unused]] int lanes) {
  return A::any_order && (sizeof(T) == 1 || lanes > 1);
}

// What neighbouring lanes have of `count` elements of a stage from element `at` on; the first of
// them has the sum. All lanes of the warp call it.
template <class A, class T>
__device__ __forceinline__ typename A::Partial sum_of_lanes(const unsigned char* elements, int at,
                                                            int count, int member,
                                                            const LaneShare& by, T first) {
  typename A::Partial partial;
  if (walks_packs<A, T>(by.lanes)) {
    if constexpr (A::any_order) {
      const int skip = at & (order_width<T> - 1);
      const unsigned char* boundary = elements + (at - skip) * static_cast<int>(sizeof(T));
      partial = walk_packs<A>(StagedRun<T>{boundary, skip, count}, member, by.lanes, first);
    }
  } else if constexpr (sizeof(T) > 1) {
    partial = walk_blocks<A>(reinterpret_cast<const T*>(elements) + at, count, member, by,
                             to_value(first));
  }
#pragma unroll 1
  for (int step = 1; step < by.lanes; step *= 2) {
    const typename A::Partial later = from_lane_above(partial, step);
    if (member + step < by.lanes) A::merge(partial, later);
  }
  return partial;
}

// Reduces a batch in its stage: all segments that their lanes may have, side by side; then the
// longer ones by all lanes of the warp, one after the other.
template <ReduceKind kind, class T>
__device__ __forceinline__ void reduce_by_lanes(const TileHead& head, const TileStages& stages,
                                                int stage, const ResultSink& sink, int lane) {
  using A = Accumulator<kind, T>;
  const TilePlan& plan = stages.plan;
  const TileSegment* segments = stages.batch(stage).segments;
  LaneShare by = head.lanes();
  int first_segment = 0, fewest = 0;
  int most = most_of_lanes(plan, by.lanes);
  const int of_group = most;
#pragma unroll 1
  while (first_segment < head.count) {
    const int number = by.quotient(lane), member = lane - number * by.lanes;
    const int at_segment = first_segment + number;
    const TileSegment own = segments[at_segment];
    const bool mine = own.count >= fewest && own.count <= most;
    const int count = mine ? own.count : 0;
    T element = {};
    if (needs_first_element<A> && count > 0)
      element = reinterpret_cast<const T*>(stages.elements(stage))[own.at];
    const Value<T> first = to_value(element);

    typename A::Partial partial;
    const auto of_run = [&]<class Sum>() {
      return sum_of_lanes<Sum>(stages.elements(stage), own.at, count, member, by, element);
    };
    if constexpr (std::is_same_v<A, NormSquare>) {
      partial = squares_by_ranges(mine && member == 0, of_run);
    } else {
      partial = of_run.template operator()<A>();
    }
    if (mine && member == 0) {
      typename A::Partial whole = A::empty();
      if (count > 0) A::merge(whole, partial);
      const Chunk<T> chunk = {0, count, first};
      write_result<T, kind>(sink, head.first_sequence + at_segment, A::total(whole, chunk), count);
    }
    if (!head.has_longer()) break;
    // The next of the longer ones.
    first_segment = fewest > 0 ? first_segment + 1 : 0;
    fewest = of_group + 1, most = plan.most_staged, by = lanes_of_each(warp_lanes);
    first_segment = first_lane_of(lane >= first_segment && segments[lane].count >= fewest, lane);
  }
}

// Blocks of four warps: six of 80 registers per SM; four or five of instances that would spill.
template <ReduceKind kind, class T>
constexpr int tile_blocks_per_sm = kind == ReduceKind::moments ||
                                           (kind == ReduceKind::norm_square && sizeof(T) == 4)
                                       ? 4
                                   : std::is_same_v<T, double> || kind == ReduceKind::norm_square ||
                                           (sizeof(T) == 2 && !Accumulator<kind, T>::any_order)
                                       ? 5
                                       : 6;

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(tile_warps* warp_lanes, (tile_blocks_per_sm<kind, T>))
    reduce_tiles_kernel(const T* data, Sequences sequences, TilePlan plan, WorkLists lists,
                        ResultSink sink) {
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes, warp = thread / warp_lanes;
  const std::int64_t first = (std::int64_t{blockIdx.x} * tile_warps + warp) * plan.each;
  const std::int64_t step = std::int64_t{gridDim.x} * tile_warps * plan.each;
  const TileStages stages = {
      gpu::dynamic_shared<unsigned char>() + warp * plan.stages * plan.stage_bytes, plan};
  if (sequences.offsets == nullptr && lane == 0 && first < sequences.count) {
    const Span last = sequences.at(min(first + plan.each, sequences.count) - 1);
    const std::int64_t begin = first * sequences.ld;
    prefetch_run(Packs<T>(data + begin, last.begin + last.count - begin,
                          extent_of(data, sequences.elements)));
  }
  constexpr int lanes_a_unit = 4;  // of which three ask for its offsets
  prefetch_offsets(sequences, first + lane / lanes_a_unit * step, lane % lanes_a_unit);
  __shared__ Mbarrier full[tile_warps][most_tile_stages];
  WarpCopies copies(full[warp], plan.stages, lane);
  __syncthreads();
  wait_for_previous_kernel();
  TileUnits<T> units(data, sequences, plan, copies, first, step, lane);
#pragma unroll 1
  for (int stage = 0; stage < plan.stages; ++stage) units.ask(stages, stage, lists);
#pragma unroll 1
  for (int stage = 0;; stage = stage + 1 == plan.stages ? 0 : stage + 1) {
    copies.wait(stage);
    const TileHead head = stages.head(stage);
    if (head.count == 0) break;
    reduce_by_lanes<kind, T>(head, stages, stage, sink, lane);
    __syncwarp(whole_warp());
    units.ask(stages, stage, lists);
  }
  let_next_kernel_start();
}

}  // namespace KW_TARGET
