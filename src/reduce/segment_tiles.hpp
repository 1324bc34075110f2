// Short segments by tiles: neighbouring segments lie next to each other in memory, so a warp copies
// a batch of them into a stage of shared memory as one run, and its lanes reduce them there.
//
// Idea        From a stage an element is read wherever it lies, so a segment needs no lane of its
//             own for each 16 bytes, nothing is moved down from a boundary, and lengths may differ.
//             A segment goes to a lane, or to neighbouring ones where a batch has fewer segments
//             than a warp has lanes: each adds up a run of 2^k elements, which is a subtree of the
//             order (order.hpp), eight elements at a time.
// Banks       Where segments have the same length, or several lanes one segment, lanes would read
//             from the same banks. There a lane takes eight elements in an order of its own:
//             element j ^ turn in place of element j. At each level of the tree this exchanges
//             neighbours, no more, and a sum does not depend on which of two numbers is the first.
// Longer      A segment that is too long for its lanes goes to all lanes of the warp.
// Rest        A batch that does not fit a stage is staged piece by piece, each when the one before
//             is reduced; segments that fit no stage go on the lists (work_lists.hpp).
#pragma once

#include "reduce/neutral.hpp"
#include "reduce/stage.hpp"
#include "reduce/tile_plan.hpp"
#include "reduce/work_lists.hpp"

namespace KW_TARGET {

constexpr int tile_block = 8;  // elements that a lane loads at a time
constexpr int tile_run_doublings = 4, warp_shift = 5;
static_assert(tile_block << tile_run_doublings == tile_most_of_lane);

// Where a lane's segment lies in a stage: the first element's position and how many there are;
// below 0: none. Where a batch does not fit a stage, the first one's count says so.
struct TileSegment {
  int at, count;
};
static_assert(sizeof(TileSegment) * warp_lanes == tile_segments_bytes);
constexpr int not_staged = -2;

// The first lane that says so; warp_lanes: none does. All lanes call it.
__device__ __forceinline__ int first_lane_of(bool own, int lane) {
  return warp_lanes -
         static_cast<int>(largest_of_warp(own ? static_cast<unsigned>(warp_lanes - lane) : 0u));
}

// The tree over `count` neighbours, from `at` on, of eight elements that stand in any order of
// exchanged neighbours.
template <class A, class T, int count>
__device__ __forceinline__ typename A::Partial tree_of_elements(
    const Value<T> (&values)[tile_block], int at, Value<T> first) {
  if constexpr (count == 1) {
    return lane_of_one<A, T>(values[at], first);
  } else {
    typename A::Partial whole = tree_of_elements<A, T, count / 2>(values, at, first);
    A::merge(whole, tree_of_elements<A, T, count / 2>(values, at + count / 2, first));
    return whole;
  }
}

// One lane's walk over a run of elements in shared memory: `left` of them from `from` on, blocks of
// eight, as many as the lane of the warp that has the most. Blocks that only others have change
// nothing. `turns`: each block in the lane's own order.
template <ReduceKind kind, class T, bool turns>
struct TileWalk {
  using A = Accumulator<kind, T>;
  using Partial = typename A::Partial;

  const T* from;
  int at, left, turn;
  Value<T> first;

  __device__ __forceinline__ Partial run(int blocks) {
    if constexpr (A::any_order) {
      Lanes<A, T> lanes;
      lanes.clear();
#pragma unroll 1
      for (int block = 0; block < blocks; ++block) {
        add_block(lanes);
        from += tile_block, at += tile_block, left -= tile_block;
      }
      return tree_of_lanes(lanes);
    } else {
      return tree_of_groups(blocks);
    }
  }

 private:
  // Blocks that are added up without counting, and levels of the tree over such groups, of which a
  // run has 2^levels - 1 at most.
  static constexpr int group_blocks = sizeof(Partial) > 8 || turns ? 2 : 4, levels = 4;

  // Which of a block's elements are there, a bit each.
  __device__ __forceinline__ unsigned present(int of) const {
    return (1u << min(max(of, 0), tile_block)) - 1;
  }
  __device__ __forceinline__ int place(int j) const { return turns ? j ^ turn : j; }

  // The elements of a block of which `of` are there; those beyond it change nothing (neutral.hpp).
  __device__ __forceinline__ void load_block(Value<T> (&values)[tile_block], const T* block,
                                             int of) const {
    [[maybe_unused]] const unsigned bits = present(of);
#pragma unroll
    for (int j = 0; j < tile_block; ++j) {
      values[j] = needs_first_element<A> ? first : Value<T>{};
      const int i = place(j);
      if (turns ? i < of : (bits >> j & 1) != 0) values[j] = to_value(block[i]);
    }
  }

  __device__ __forceinline__ void add_block(Lanes<A, T>& lanes) const {
    Value<T> values[tile_block];
    load_block(values, from, left);
#pragma unroll
    for (int j = 0; j < tile_block; ++j) {
      typename A::Lane& lane = lanes.lane[j % lanes.count];
      if constexpr (turns && compares_places<A>) {
        A::merge(lane, {values[j], static_cast<std::uint32_t>(at + place(j))});
      } else {
        A::add(lane, values[j], at + place(j), first);
      }
    }
  }

  __device__ __forceinline__ Partial tree_of_groups(int blocks) {
    Partial waiting[levels];  // level l: the tree over 2^l groups that waits for the next 2^l
#pragma unroll
    for (int level = 0; level < levels; ++level) waiting[level] = A::empty();
    int groups = 0;
#pragma unroll 1
    for (; groups * group_blocks < blocks; ++groups) {
      Partial sum = tree_of_blocks<group_blocks>(0, blocks - groups * group_blocks);
      if (groups == 0 && blocks <= group_blocks) return sum;
      from += group_blocks * tile_block, left -= group_blocks * tile_block;
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

  // The tree over `count` blocks from block `number` on, of which `blocks` have elements in some
  // lane of the warp.
  template <int count>
  __device__ __forceinline__ Partial tree_of_blocks(int number, int blocks) const {
    if constexpr (count == 1) {
      Value<T> values[tile_block];
      load_block(values, from + number * tile_block, left - number * tile_block);
      return tree_of_elements<A, T, tile_block>(values, 0, first);
    } else {
      constexpr int half = count / 2;
      Partial whole = tree_of_blocks<half>(number, blocks);
      if (blocks > half) A::merge(whole, tree_of_blocks<half>(number + half, blocks - half));
      return whole;
    }
  }
};

// A warp's stages in the block's shared memory, each with its segments' places before the elements.
struct TileStages {
  unsigned char* memory;
  TilePlan plan;

  __device__ __forceinline__ TileSegment* segments(int stage) const {
    return reinterpret_cast<TileSegment*>(memory + stage * plan.stage_bytes);
  }
  __device__ __forceinline__ unsigned char* elements(int stage) const {
    return memory + stage * plan.stage_bytes + tile_segments_bytes;
  }
};

// Asks for the segments of those lanes that are `wanted`, from element `begin` of the array on.
template <class T>
__device__ __forceinline__ void ask_for_segments(const TileStages& stages, int stage, const T* data,
                                                 const Extent& array, std::int64_t begin,
                                                 const Span& own, bool wanted, int lane) {
  const auto at = static_cast<int>(own.begin - begin), count = static_cast<int>(own.count);
  const std::uint32_t end = largest_of_warp(wanted ? static_cast<std::uint32_t>(at + count) : 0u);
  const Packs<T> packs(data + begin, end, array);
  ask_for_run(stages.elements(stage), packs, lane);
  TileSegment segment = {0, -1};
  if (wanted) segment = {at + packs.skip, count};
  stages.segments(stage)[lane] = segment;
  async_commit();
}

// Whether a lane's segment lies in a stage that begins with element `begin`.
__device__ __forceinline__ bool fits_stage(const TilePlan& plan, std::int64_t begin,
                                           const Span& own) {
  return own.begin >= begin && own.begin - begin + own.count <= plan.elements &&
         own.count <= plan.most_staged;
}

// Asks for a batch of segments, one a lane, if all of them fit the stage.
template <class T>
__device__ __forceinline__ void ask_for_tile(const TileStages& stages, int stage, const T* data,
                                             const Extent& array, const Span& own, int lane) {
  const std::int64_t begin = from_lane(own.begin, 0);
  const bool is_there = own.count >= 0;
  if (__all_sync(whole_warp(), !is_there || fits_stage(stages.plan, begin, own))) {
    ask_for_segments(stages, stage, data, array, begin, own, is_there, lane);
  } else {
    if (lane == 0) stages.segments(stage)[0] = {0, not_staged};
    async_commit();
  }
}

// Reduces segments in a stage: all of at most plan.most elements by `group` lanes each, side by
// side; then the longer ones by all lanes of the warp, one after the other.
template <ReduceKind kind, class T>
__device__ __forceinline__ void reduce_by_lanes(const TileStages& stages, int stage,
                                                std::int64_t first_sequence, const ResultSink& sink,
                                                int lane) {
  using A = Accumulator<kind, T>;
  const TilePlan& plan = stages.plan;
  const TileSegment* segments = stages.segments(stage);
  int shift = plan.group_shift, first_segment = 0, fewest = 0, most = plan.most;
#pragma unroll 1
  while (first_segment < plan.each) {
    const int group = 1 << shift;
    const int member = lane & (group - 1), at_segment = first_segment + (lane >> shift);
    const TileSegment own = segments[at_segment];
    const bool mine = own.count >= fewest && own.count <= most;
    const int count = mine ? own.count : 0;
    const T* begin = reinterpret_cast<const T*>(stages.elements(stage)) + own.at;
    Value<T> first = {};
    if (count > 0) first = to_value(*begin);

    const int share = (count + group - 1) >> shift;
    int run = tile_block;
#pragma unroll
    for (int i = 0; i < tile_run_doublings; ++i) run = run < share ? 2 * run : run;
    const int at = member * run, left = max(min(run, count - at), 0);
    const int blocks = static_cast<int>(
        largest_of_warp((static_cast<unsigned>(left) + tile_block - 1) / tile_block));
    const T* from = begin + at;
    const auto bytes = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from));
    // Where all begin at the same place of a block's bytes, a warp's reads meet in few banks; where
    // lanes share a segment, in some. Places would be compared for it, which takes longer.
    constexpr unsigned block_bytes = tile_block * static_cast<unsigned>(sizeof(T));
    const bool meets = __all_sync(whole_warp(), (bytes ^ from_lane(bytes, 0)) % block_bytes == 0);
    const bool turns = meets || (group > 2 && !compares_places<A>);
    typename A::Partial partial;
    if (turns) {
      const auto turn = static_cast<int>(bytes / line_bytes % tile_block);
      partial = TileWalk<kind, T, true>{from, at, left, turn, first}.run(blocks);
    } else {
      partial = TileWalk<kind, T, false>{from, at, left, 0, first}.run(blocks);
    }
#pragma unroll 1
    for (int step = 1; step < group; step *= 2) {
      A::merge(partial, from_lane_above(partial, step, group));
    }
    if (mine && member == 0) {
      typename A::Partial whole = A::empty();
      if (count > 0) A::merge(whole, partial);
      const Chunk<T> chunk = {0, count, first};
      write_result<T, kind>(sink, first_sequence + at_segment, A::total(whole, chunk), count);
    }
    // The next of the longer ones.
    first_segment = fewest > 0 ? first_segment + 1 : 0;
    fewest = plan.most + 1, most = plan.most_staged, shift = warp_shift;
    const bool is_longer = lane >= first_segment && lane < plan.each &&
                           segments[lane].count >= fewest && segments[lane].count <= most;
    first_segment = first_lane_of(is_longer, lane);
  }
}

// Blocks of four warps: six of 80 registers per SM; four of instances that would spill.
template <ReduceKind kind, class T>
constexpr int tile_blocks_per_sm =
    kind == ReduceKind::moments || kind == ReduceKind::norm_square ? 4
    : std::is_same_v<T, double>                                    ? 5
                                                                   : 6;

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(tile_warps* warp_lanes, (tile_blocks_per_sm<kind, T>))
    reduce_tiles_kernel(const T* data, Sequences sequences, TilePlan plan, WorkLists lists,
                        ResultSink sink) {
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes, warp = thread / warp_lanes;
  const int each = plan.each;
  const std::int64_t step = std::int64_t{gridDim.x} * tile_warps * each;
  const TileStages stages = {
      gpu::dynamic_shared<unsigned char>() + warp * plan.stages * plan.stage_bytes, plan};
  // A lane's segment of a batch: its limits are asked for a batch ahead, and looked at when it is
  // the batch's turn.
  const auto has_one = [&](std::int64_t from) {
    return lane < each && from + lane < sequences.count;
  };
  const auto limits_of = [&](std::int64_t from) {
    return has_one(from) ? sequences.limits(from + lane) : Limits64{0, 0};
  };
  const auto span_of = [&](std::int64_t from, const Limits64& limits) {
    return has_one(from) ? sequences.within(limits) : Span{0, -1};
  };
  const Extent array = extent_of(data, sequences.elements);
  std::int64_t first = (std::int64_t{blockIdx.x} * tile_warps + warp) * each, asked = first;
  if (sequences.offsets == nullptr && lane == 0 && first < sequences.count) {
    const Span last = sequences.at(min(first + each, sequences.count) - 1);
    const std::int64_t begin = first * sequences.ld;
    prefetch_run(Packs<T>(data + begin, last.begin + last.count - begin, array));
  }
  wait_for_previous_kernel();
  Limits64 next = limits_of(asked);
  const auto ask = [&](int stage) {
    ask_for_tile(stages, stage, data, array, span_of(asked, next), lane);
    asked += step;
    next = limits_of(asked);
  };
#pragma unroll 1
  for (int stage = 0; stage < plan.stages; ++stage) ask(stage);
  int stage = 0;
#pragma unroll 1
  for (; first < sequences.count; first += step) {
    wait_for_copies(plan.stages - 1);
    __syncwarp(whole_warp());
    const bool is_staged = stages.segments(stage)[0].count != not_staged;
    Span own = {0, -1};
    bool waits = false;
    if (!is_staged) {
      own = span_of(first, limits_of(first));
      const bool is_long = own.count > plan.most_staged;
      if (__any_sync(whole_warp(), is_long))
        put_on_lists<T>(lists, first + lane, own, plan.most_staged + 1, lane);
      waits = own.count >= 0 && !is_long;
    }
    bool is_ready = is_staged;
#pragma unroll 1
    while (is_ready || __any_sync(whole_warp(), waits)) {
      if (!is_ready) {  // as many of those that wait as fit, from the first one on
        const std::int64_t begin = from_lane(own.begin, first_lane_of(waits, lane));
        const bool wanted = waits && fits_stage(plan, begin, own);
        __syncwarp(whole_warp());
        ask_for_segments(stages, stage, data, array, begin, own, wanted, lane);
        wait_for_copies(0);
        __syncwarp(whole_warp());
        waits = waits && !wanted;
      }
      is_ready = false;
      reduce_by_lanes<kind, T>(stages, stage, first, sink, lane);
    }
    __syncwarp(whole_warp());
    ask(stage);
    stage = stage + 1 == plan.stages ? 0 : stage + 1;
  }
  let_next_kernel_start();
}

}  // namespace KW_TARGET
