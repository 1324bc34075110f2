// Segments of a few KB by warps that have stages in shared memory, as staged_rows.hpp has rows.
//
// Lengths     Where a segment lies is asked for a segment ahead and kept in its stage. One that is
//             much longer than the mean fits no stage: it goes on the lists
//             (work_lists.hpp).
#pragma once

#include "reduce/rows/staged_rows.hpp"

namespace KW_TARGET {

// What a stage has before its elements: of which there are `count`, below 0: none; `skip` would lie
// between the boundary before and the first one; that boundary lies `place` bytes into the stage.
struct alignas(16) StagedHead {
  int skip, count, place;
};
static_assert(sizeof(StagedHead) <= staged_head_bytes);

// By a warp: asks for a sequence, or puts it on the lists where it fits no stage.
template <class T>
__device__ __forceinline__ void ask_for_sequence(unsigned char* stage, const T* data,
                                                 const Sequences& sequences, const Span& span,
                                                 std::int64_t sequence, const StagedPlan& plan,
                                                 const WorkLists& lists, WarpCopies& copies,
                                                 int number, int lane) {
  const bool fits = span.count <= plan.most;
  if (!fits) {
    const Span own = {span.begin, lane == 0 ? span.count : -1};
    put_on_lists<T>(lists, sequence, own, plan.most + 1, lane);
  }
  const Packs<T> packs(data + span.begin, fits ? span.count : 0,
                       extent_of(data, sequences.elements));
  if (lane == 0)
    *reinterpret_cast<StagedHead*>(stage) = {packs.skip, fits ? packs.count : -1,
                                             place_in_stage(packs.boundary)};
  copies.ask(number, stage + staged_head_bytes, packs, lane);
}

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(most_staged_threads(Accumulator<kind, T>::any_order), 1)
    reduce_staged_segments_kernel(const T* data, Sequences sequences, StagedPlan plan,
                                  WorkLists lists, ResultSink sink) {
  using A = Accumulator<kind, T>;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes, warp = thread / warp_lanes;
  const WarpStages<A> own(gpu::dynamic_shared<unsigned char>() + warp * WarpStages<A>::bytes(plan),
                          plan);
  const std::int64_t step = std::int64_t{gridDim.x} * plan.warps;
  const std::int64_t first = std::int64_t{warp} * gridDim.x + blockIdx.x;
  WarpCopies copies(own.full, plan.stages, lane);
  __syncthreads();
  wait_for_previous_kernel();
  std::int64_t asked = first;
  const auto limits_of = [&](std::int64_t sequence) {
    return sequence < sequences.count ? sequences.limits(sequence) : Limits64{0, 0};
  };
  Limits64 next = limits_of(asked);
  const auto ask = [&](int stage) {
    if (asked < sequences.count) {
      ask_for_sequence(own.stages + stage * plan.stage_bytes, data, sequences,
                       sequences.within(next), asked, plan, lists, copies, stage, lane);
      asked += step;
      next = limits_of(asked);
    }
  };
#pragma unroll 1
  for (int stage = 0; stage < plan.stages; ++stage) ask(stage);
  int stage = 0;
#pragma unroll 1
  for (std::int64_t sequence = first; sequence < sequences.count; sequence += step) {
    copies.wait(stage);
    const unsigned char* memory = own.stages + stage * plan.stage_bytes;
    const StagedHead head = *reinterpret_cast<const StagedHead*>(memory);
    if (head.count >= 0) {
      const StagedRun<T> run = {memory + staged_head_bytes + head.place, head.skip, head.count};
      const typename A::Total total = reduce_staged<A, false>(run, own.places, lane);
      if (lane == 0) write_result<T, kind>(sink, sequence, total, head.count);
    }
    __syncwarp(whole_warp());
    ask(stage);
    stage = stage + 1 == plan.stages ? 0 : stage + 1;
  }
  let_next_kernel_start();
}

}  // namespace KW_TARGET
