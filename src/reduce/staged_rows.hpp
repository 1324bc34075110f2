// Rows of a few KB by warps that have stages in shared memory (stage.hpp).
//
// Idea        A warp has a ring of stages for itself. It asks for the rows that it will need,
// reduces
//             the oldest ones that are there (strips.hpp), and asks for the next ones in their
//             place. So how much memory is on its way depends neither on registers nor on how long
//             a tree takes, and no warp waits for another.
// Order       order.hpp's: a row has the bits that it has alone.
// Work        Rows go round: at any time the warps of the grid, one block an SM, are at rows that
// lie
//             near each other.
// Limits      Shorter rows leave lanes without an element (short_sequences.hpp). Of longer ones few
//             warps have a stage, and a warp gives an instruction every five cycles: blocks of 256
//             threads are quicker (chunk_blocks.hpp).
#pragma once

#include "device/overlap.hpp"
#include "reduce/result.hpp"
#include "reduce/staged_plan.hpp"
#include "reduce/strips.hpp"
#include "reduce/work_lists.hpp"

namespace KW_TARGET {

// A warp's part of the block's shared memory: stages, and places for a tree.
template <class A>
struct WarpStages {
  using Partial = typename A::Partial;
  static constexpr int places_bytes =
      (strip_places * static_cast<int>(sizeof(Partial)) + stage_alignment - 1) / stage_alignment *
      stage_alignment;

  unsigned char* stages;
  Partial* places;

  __host__ __device__ static constexpr int bytes(const StagedPlan& plan) {
    return plan.stages * plan.stage_bytes + places_bytes;
  }
  __device__ __forceinline__ WarpStages(unsigned char* memory, const StagedPlan& plan)
      : stages(memory),
        places(reinterpret_cast<Partial*>(memory + plan.stages * plan.stage_bytes)) {}
};

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(staged_threads, 1)
    reduce_staged_kernel(const T* data, Sequences rows, StagedPlan plan, ResultSink sink) {
  using A = Accumulator<kind, T>;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes, warp = thread / warp_lanes;
  const WarpStages<A> own(gpu::dynamic_shared<unsigned char>() + warp * WarpStages<A>::bytes(plan),
                          plan);
  const Extent array = extent_of(data, rows.elements);
  const std::int64_t step = std::int64_t{gridDim.x} * plan.warps;
  const std::int64_t first_row = std::int64_t{warp} * gridDim.x + blockIdx.x;
  const auto packs_of = [&](std::int64_t row) {
    return Packs<T>(data + row * rows.ld, rows.length, array);
  };
  const auto ask = [&](std::int64_t row, int stage) {
    if (row < rows.count) ask_for_run(own.stages + stage * plan.stage_bytes, packs_of(row), lane);
    async_commit();
  };
  if (const std::int64_t row = first_row + lane * step; lane < plan.stages && row < rows.count)
    prefetch_run(packs_of(row));
  wait_for_previous_kernel();
  std::int64_t asked = first_row;
#pragma unroll 1
  for (int stage = 0; stage < plan.stages; ++stage, asked += step) ask(asked, stage);
  int stage = 0;
#pragma unroll 1
  for (std::int64_t row = first_row; row < rows.count; row += step, asked += step) {
    wait_for_copies(plan.stages - 1);
    __syncwarp(whole_warp());
    const auto address = reinterpret_cast<std::uintptr_t>(data + row * rows.ld);
    const auto past_boundary = static_cast<int>(address % 16);
    const unsigned char* begin = own.stages + stage * plan.stage_bytes + past_boundary;
    const Chunk<T> chunk = {0, rows.length, to_value(*reinterpret_cast<const T*>(begin))};
    const typename A::Total total = A::total(
        reduce_by_strips<A, T>(begin, past_boundary / static_cast<int>(sizeof(T)),
                               static_cast<int>(rows.length), chunk.first, own.places, lane),
        chunk);
    if (lane == 0) write_result<T, kind>(sink, row, total, rows.length);
    __syncwarp(whole_warp());
    ask(asked, stage);
    stage = stage + 1 == plan.stages ? 0 : stage + 1;
  }
  let_next_kernel_start();
}

}  // namespace KW_TARGET
