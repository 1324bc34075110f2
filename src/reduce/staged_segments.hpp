// Segments of a few KB by warps that have stages in shared memory, as staged_rows.hpp has rows.
//
// Lengths     Where a segment lies is asked for a segment ahead and kept in its stage. One that is
//             much longer than the mean fits no stage: it goes on the lists
//             (work_lists.hpp).
#pragma once

#include "reduce/staged_rows.hpp"

namespace KW_TARGET {

// What a stage has before its elements: of which there are `count`, below 0: none; `skip` would lie
// between the boundary before and the first one.
struct alignas(16) StagedHead {
  int skip, count;
};
static_assert(sizeof(StagedHead) == staged_head_bytes);

// By a warp: asks for a sequence, or puts it on the lists where it fits no stage.
template <class T>
__device__ __forceinline__ void ask_for_sequence(unsigned char* stage, const T* data,
                                                 const Sequences& sequences, const Span& span,
                                                 std::int64_t sequence, const StagedPlan& plan,
                                                 const WorkLists& lists, int lane) {
  const bool fits = span.count <= plan.most;
  if (!fits) {
    const Span own = {span.begin, lane == 0 ? span.count : -1};
    put_on_lists<T>(lists, sequence, own, plan.most + 1, lane);
  }
  const Packs<T> packs(data + span.begin, fits ? span.count : 0,
                       extent_of(data, sequences.elements));
  ask_for_run(stage + staged_head_bytes, packs, lane);
  if (lane == 0) *reinterpret_cast<StagedHead*>(stage) = {packs.skip, fits ? packs.count : -1};
}

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(staged_threads, 1)
    reduce_staged_segments_kernel(const T* data, Sequences sequences, StagedPlan plan,
                                  WorkLists lists, ResultSink sink) {
  using A = Accumulator<kind, T>;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes, warp = thread / warp_lanes;
  const WarpStages<A> own(gpu::dynamic_shared<unsigned char>() + warp * WarpStages<A>::bytes(plan),
                          plan);
  const std::int64_t step = std::int64_t{gridDim.x} * plan.warps;
  const std::int64_t first = std::int64_t{warp} * gridDim.x + blockIdx.x;
  wait_for_previous_kernel();
  std::int64_t asked = first;
  const auto limits_of = [&](std::int64_t sequence) {
    return sequence < sequences.count ? sequences.limits(sequence) : Limits64{0, 0};
  };
  Limits64 next = limits_of(asked);
  const auto ask = [&](int stage) {
    if (asked < sequences.count) {
      ask_for_sequence(own.stages + stage * plan.stage_bytes, data, sequences,
                       sequences.within(next), asked, plan, lists, lane);
      asked += step;
      next = limits_of(asked);
    }
    async_commit();
  };
#pragma unroll 1
  for (int stage = 0; stage < plan.stages; ++stage) ask(stage);
  int stage = 0;
#pragma unroll 1
  for (std::int64_t sequence = first; sequence < sequences.count; sequence += step) {
    wait_for_copies(plan.stages - 1);
    __syncwarp(whole_warp());
    const unsigned char* memory = own.stages + stage * plan.stage_bytes;
    const StagedHead head = *reinterpret_cast<const StagedHead*>(memory);
    if (head.count >= 0) {
      const unsigned char* begin =
          memory + staged_head_bytes + head.skip * static_cast<int>(sizeof(T));
      Chunk<T> chunk = {0, head.count, {}};
      if (head.count > 0) chunk.first = to_value(*reinterpret_cast<const T*>(begin));
      const typename A::Total total = A::total(
          reduce_by_strips<A, T>(begin, head.skip, head.count, chunk.first, own.places, lane),
          chunk);
      if (lane == 0) write_result<T, kind>(sink, sequence, total, head.count);
    }
    __syncwarp(whole_warp());
    ask(stage);
    stage = stage + 1 == plan.stages ? 0 : stage + 1;
  }
  let_next_kernel_start();
}

}  // namespace KW_TARGET
