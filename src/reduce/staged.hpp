// Many contiguous sequences by warps that have stages (stage.hpp): rows, and chunks of long rows or
// segments.
//
// Idea        A warp has a ring of stages for itself. It asks for the runs of elements that it will
//             need, some whole rows or one chunk, reduces the oldest run that is there
//             (strips.hpp), and asks for the next one in its place. So how much memory is on its
//             way depends neither on registers nor on how long a tree takes, and no warp waits for
//             another.
// Order       order.hpp's: a sequence has the bits that it has alone.
// Work        Runs go round: at any time the warps of the grid, one block an SM, are at runs that
//             lie near each other, and long runs beside short ones even out.
// Limits      Chunks of more than smallest_chunk_rounds rounds (of sequences of more than
// max_chunks
//             chunks) do not fit a stage: chunk_blocks.hpp has them. Where a row has fewer elements
//             than a strip, lanes have nothing to do: short_sequences.hpp has those.
#pragma once

#include "device/overlap.hpp"
#include "reduce/staged_plan.hpp"
#include "reduce/strips.hpp"
#include "reduce/work_lists.hpp"

namespace KW_TARGET {

// What a warp asks for at once: consecutive elements, and what they are. `sequences` is how many
// lie here and are all of theirs, 0 of a chunk of several, below 0 after the last run.
struct StagedRun {
  std::int64_t from;      // its first element in the array
  std::int64_t sequence;  // the first one
  std::int64_t begin;     // of a chunk in its sequence
  std::int64_t place;     // of a chunk's sequence among those of several chunks
  std::int64_t total;     // of a chunk: where its total goes
  std::int32_t count;     // of elements
  std::int32_t sequences;
};

// A warp's part of the block's shared memory: stages, places for a tree, a run a stage.
template <class A>
struct WarpStages {
  using Partial = typename A::Partial;
  static constexpr int places_bytes =
      (strip_places * static_cast<int>(sizeof(Partial)) + stage_alignment - 1) / stage_alignment *
      stage_alignment;
  static constexpr int run_bytes = sizeof(StagedRun);

  unsigned char* stages;
  Partial* places;
  StagedRun* runs;

  __host__ __device__ static constexpr int bytes(int stages, int stage_bytes) {
    return (stages * (stage_bytes + run_bytes) + places_bytes + stage_alignment - 1) /
           stage_alignment * stage_alignment;
  }
  __device__ __forceinline__ WarpStages(unsigned char* memory, const StagedPlan& plan)
      : stages(memory),
        places(reinterpret_cast<Partial*>(memory + plan.stages * plan.stage_bytes)),
        runs(reinterpret_cast<StagedRun*>(memory + plan.stages * plan.stage_bytes + places_bytes)) {
  }
};

// Makes a warp's runs, one after the other; all lanes have the same.
template <class T>
class StagedRuns {
 public:
  __device__ __forceinline__ StagedRuns(const Sequences& sequences, const StagedPlan& plan,
                                        const WorkLists& lists, int warp)
      : sequences_(sequences), plan_(plan), lists_(lists) {
    step_ = std::int64_t{gridDim.x} * plan.warps;
    at_ = std::int64_t{warp} * gridDim.x + blockIdx.x;
    items_ = plan.items;
    if (plan.work == StagedWork::listed_chunks) {
      items_ = min(static_cast<std::int64_t>(*lists.item_count), lists.item_capacity);
    }
  }

  __device__ __forceinline__ StagedRun make() {
    StagedRun run = {};
    if (at_ >= items_) {
      run.sequences = -1;
      return run;
    }
    if (plan_.work == StagedWork::row_tiles) {
      run.sequence = at_ * plan_.rows_a_tile;
      run.sequences =
          static_cast<int>(min(std::int64_t{plan_.rows_a_tile}, sequences_.count - run.sequence));
      run.from = run.sequence * sequences_.ld;
      run.count = static_cast<int>((run.sequences - 1) * sequences_.ld + sequences_.length);
    } else {
      const ChunkItem item = lists_.items[at_];
      const int sequences = item.of == ChunkOf::alone ? 1 : 0;
      run = {item.element, item.sequence, item.begin, item.place, at_, item.count, sequences};
    }
    at_ += step_;
    return run;
  }

 private:
  const Sequences& sequences_;
  const StagedPlan& plan_;
  const WorkLists& lists_;
  std::int64_t at_, step_, items_;
};

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(staged_threads, 1)
    reduce_staged_kernel(const T* data, Sequences sequences, StagedPlan plan, WorkLists lists,
                         typename Accumulator<kind, T>::Total* totals, ResultSink sink) {
  using A = Accumulator<kind, T>;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes, warp = thread / warp_lanes;
  const WarpStages<A> own(gpu::dynamic_shared<unsigned char>() +
                              warp * WarpStages<A>::bytes(plan.stages, plan.stage_bytes),
                          plan);
  const Extent array = extent_of(data, sequences.elements);
  wait_for_previous_kernel();
  StagedRuns<T> runs(sequences, plan, lists, warp);
  const auto ask = [&](int stage) {
    const StagedRun run = runs.make();
    if (lane == 0) own.runs[stage] = run;
    if (run.sequences >= 0) {
      ask_for_run(own.stages + stage * plan.stage_bytes,
                  Packs<T>(data + run.from, run.count, array), lane);
    }
    async_commit();
  };
#pragma unroll 1
  for (int stage = 0; stage < plan.stages; ++stage) ask(stage);
#pragma unroll 1
  for (int at = 0;; at = at + 1 == plan.stages ? 0 : at + 1) {
    wait_for_stage(plan.stages - 1);
    const StagedRun& run = own.runs[at];
    if (run.sequences < 0) break;
    const unsigned char* stage = own.stages + at * plan.stage_bytes;
    int begin = static_cast<int>(reinterpret_cast<std::uintptr_t>(data + run.from) % 16);
    Chunk<T> chunk;
    chunk.begin = run.begin;
    chunk.count = plan.work == StagedWork::row_tiles ? sequences.length : run.count;
    const int count = static_cast<int>(chunk.count);
#pragma unroll 1
    for (int i = 0; i < max(run.sequences, 1); ++i) {
      chunk.first = to_value(*reinterpret_cast<const T*>(stage + begin));
      const auto skip = static_cast<int>(begin % 16 / sizeof(T));
      const typename A::Total total = A::total(
          reduce_by_strips<A, T>(stage + begin, skip, count, chunk.first, own.places, lane), chunk);
      begin += static_cast<int>(sequences.ld * sizeof(T));
      if (lane != 0) continue;
      if (run.sequences > 0) {
        write_result<T, kind>(sink, run.sequence + i, total, count);
      } else {
        totals[run.total] = total;
      }
    }
    if (run.sequences == 0 && lists.sequence_tickets != nullptr) {
      merge_if_last<kind, T>(sequences, lists, totals, run, sink, lane);
    }
    __syncwarp(whole_warp());
    ask(at);
  }
  __syncthreads();
  let_next_kernel_start();
  if (thread == 0 && plan.work == StagedWork::listed_chunks && lists.sequence_tickets != nullptr) {
    lists.clear();
  }
}

}  // namespace KW_TARGET
