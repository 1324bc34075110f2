// Rows of a few KB by warps that have stages in shared memory (stage.hpp).
//
// Idea        A warp has a ring of stages for itself. It asks for the rows that it will need, each
//             by one copy (warp_copies.hpp), reduces the oldest ones that are there, and asks for
//             the next ones in their place. So how much memory is on its way depends neither on
//             registers nor on how long a tree takes, and no warp waits for another.
// Order       order.hpp's: a row has the bits that it has alone. Where it cannot show lanes walk
//             over packs (any_order.hpp), else over strips (strips.hpp).
// Work        Rows go round: at any time the warps of the grid, one block an SM, are at rows that
//             lie near each other.
// Limits      Shorter rows leave lanes without an element (short_sequences.hpp). Of longer ones few
//             warps have a stage, and a warp gives an instruction every five cycles: blocks of 256
//             threads are quicker (chunk_blocks.hpp).
#pragma once

#include "device/overlap.hpp"
#include "reduce/chunks/work_lists.hpp"
#include "reduce/numbers/result.hpp"
#include "reduce/rows/staged_plan.hpp"
#include "reduce/walk/any_order.hpp"
#include "reduce/walk/strips.hpp"
#include "reduce/walk/warp_copies.hpp"

namespace KW_TARGET {

// A warp's part of the block's shared memory: stages, their barriers, and places for a tree.
template <class A>
struct WarpStages {
  using Place = StripPlace<A>;
  static constexpr int barrier_bytes =
      16 * ((most_staged * static_cast<int>(sizeof(Mbarrier)) + 15) / 16);
  static constexpr int beside_bytes =
      (barrier_bytes + (A::any_order ? 0 : strip_places) * static_cast<int>(sizeof(Place)) +
       stage_alignment - 1) /
      stage_alignment * stage_alignment;

  unsigned char* stages;
  Mbarrier* full;
  Place* places;

  __host__ __device__ static constexpr int bytes(const StagedPlan& plan) {
    return plan.stages * plan.stage_bytes + beside_bytes;
  }
  __device__ __forceinline__ WarpStages(unsigned char* memory, const StagedPlan& plan)
      : stages(memory),
        full(reinterpret_cast<Mbarrier*>(memory + plan.stages * plan.stage_bytes)),
        places(reinterpret_cast<Place*>(memory + plan.stages * plan.stage_bytes + barrier_bytes)) {}
};

// The sum of a chunk in a stage, in the first lane.
template <class A, class T>
__device__ __forceinline__ typename A::Partial reduce_staged_chunk(const StagedRun<T>& run, T first,
                                                                   StripPlace<A>* places,
                                                                   int lane) {
  if constexpr (A::any_order) {
    return tree_of_warp<A, warp_lanes>(walk_packs<A>(run, lane, warp_lanes, first));
  } else {
    return reduce_by_strips<A>(run, first, places, lane);
  }
}

// The total of a sequence in a stage, in the first lane. A warp calls it; nobody writes the stage.
// Where totals show the order, and there may be several chunks, one after the other, of which lane
// c keeps the c-th one's total.
template <class A, bool has_chunks, class T>
__device__ __forceinline__ typename A::Total reduce_staged(const StagedRun<T>& run,
                                                           StripPlace<A>* places, int lane) {
  const T first = run.count > 0 ? run.first() : T{};
  const Chunk<T> chunk = {0, run.count, to_value(first)};
  if constexpr (std::is_same_v<A, NormSquare>) {
    return squares_by_ranges(
        lane == 0, [&]<class Sum>() { return reduce_staged<Sum, has_chunks>(run, places, lane); });
  } else if constexpr (!has_chunks) {
    if constexpr (!A::any_order) {
      if (run.count <= most_of_one_round<T>)
        return A::total(OneRound<A, T>(run, first, lane).total(), chunk);
    }
    return A::total(reduce_staged_chunk<A>(run, first, places, lane), chunk);
  } else {
    constexpr auto size = static_cast<int>(smallest_chunk<T>);
    typename A::Total kept = A::empty_total();
    StagedRun<T> part = run;
#pragma unroll 1
    for (int begin = 0; begin < run.count; begin += size) {
      part.count = min(run.count - begin, size);
      const T first_of_part = part.first();
      const Chunk<T> of_part = {begin, part.count, to_value(first_of_part)};
      const auto total =
          A::total(reduce_staged_chunk<A>(part, first_of_part, places, lane), of_part);
      const auto all = from_lane(total, 0);
      if (lane == begin / size) kept = all;
      part.boundary += size * static_cast<int>(sizeof(T));
    }
    return tree_of_warp<A, warp_lanes>(kept);
  }
}

// `has_chunks`: rows are longer than one.
template <ReduceKind kind, class T, bool has_chunks>
__global__ void __launch_bounds__(most_staged_row_threads(Accumulator<kind, T>::any_order,
                                                          sizeof(StripPlace<Accumulator<kind, T>>)),
                                  1)
    reduce_staged_kernel(const T* data, Sequences rows, StagedPlan plan, ResultSink sink) {
  using A = Accumulator<kind, T>;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes, warp = thread / warp_lanes;
  const WarpStages<A> own(gpu::dynamic_shared<unsigned char>() + warp * WarpStages<A>::bytes(plan),
                          plan);
  const Extent array = extent_of(data, rows.elements);
  WarpCopies copies(own.full, plan.stages, lane);
  __syncthreads();
  const std::int64_t step = std::int64_t{gridDim.x} * plan.warps, elements = step * rows.ld;
  const std::int64_t first_row = std::int64_t{warp} * gridDim.x + blockIdx.x;
  const T* begin = data + first_row * rows.ld;
  if (const std::int64_t row = first_row + lane * step; lane < plan.stages && row < rows.count)
    prefetch_run(Packs<T>(begin + lane * elements, rows.length, array));
  wait_for_previous_kernel();
  std::int64_t asked = first_row;
  const T* next = begin;
  const auto ask = [&](int stage) {
    if (asked < rows.count)
      copies.ask(stage, own.stages + stage * plan.stage_bytes, Packs<T>(next, rows.length, array),
                 lane);
    asked += step, next += elements;
  };
#pragma unroll 1
  for (int stage = 0; stage < plan.stages; ++stage) ask(stage);
  int stage = 0;
#pragma unroll 1
  for (std::int64_t row = first_row; row < rows.count; row += step, begin += elements) {
    copies.wait(stage);
    const auto skip = static_cast<int>(reinterpret_cast<std::uintptr_t>(begin) % 16 / sizeof(T));
    const StagedRun<T> run = {own.stages + stage * plan.stage_bytes + place_in_stage(begin), skip,
                              static_cast<int>(rows.length)};
    const typename A::Total total = reduce_staged<A, has_chunks>(run, own.places, lane);
    if (lane == 0) write_result<T, kind>(sink, row, total, rows.length);
    __syncwarp(whole_warp());
    ask(stage);
    stage = stage + 1 == plan.stages ? 0 : stage + 1;
  }
  let_next_kernel_start();
}

}  // namespace KW_TARGET
