// Segments of some KB and more in one launch: a block takes them whole, some neighbouring ones at a
// time, and comes back for more.
//
// Idea        The chunks of a block's segments are a run that it walks as chunk_blocks.hpp has it,
//             but nobody cut it beforehand: a warp finds the next chunks while the others walk,
//             from the next window of segments, which a ticket says. So nothing is put on a list or
//             left for others, one segment's data are on their way while another is walked over,
//             and blocks that are quicker take more.
// Uneven      Where segments are not alike the same warps reduce the short ones one by one, as
//             short_sequences.hpp has it, and put the others on the lists: a launch less.
// Longer      A segment that would keep a block long after the others are done goes on the lists
//             (work_lists.hpp).
#pragma once

#include "reduce/chunk_finder.hpp"
#include "reduce/short_sequences.hpp"

namespace KW_TARGET {

template <class A, class T>
struct SegmentBlockMemory {
  ChunkRun run;
  SegmentWindow window;
  ChunkPartials<A, T> partials;
  ChunkEdges<A, T> edges;
  KeptTotals<A, 2 * most_block_chunks> totals;
  int found[2];
};
template <class A, class T>
constexpr std::size_t segment_block_bytes =
    (sizeof(SegmentBlockMemory<A, T>) + stage_alignment - 1) / stage_alignment* stage_alignment;

// Three spill sums of squares of two-byte elements.
template <ReduceKind kind, class T>
constexpr int segment_blocks_per_sm = kind == ReduceKind::sum_square && sizeof(T) == 2
                                          ? 2
                                          : chunk_blocks_per_sm<kind, T>;

// Whether these blocks have the registers to reduce short segments in place of reduce_short_kernel,
// where segments are not alike.
template <ReduceKind kind, class T>
constexpr bool blocks_take_short_ones =
    sizeof(T) >= 4 && short_blocks_per_sm<kind, T> >= segment_blocks_per_sm<kind, T>;

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, (segment_blocks_per_sm<kind, T>))
    reduce_segment_blocks_kernel(const T* data, Sequences sequences, BlockPlan plan,
                                 WindowTickets tickets, WorkLists lists, int short_each, int stages,
                                 ResultSink sink) {
  using A = Accumulator<kind, T>;
  using Total = typename A::Total;
  constexpr int a_round = ChunkPartials<A, T>::chunks;
  constexpr bool needs_first = kind == ReduceKind::moments, turns = turns_chunks<A, T>;
  constexpr int finder_warp = order_warps - 1, ahead = a_round + most_chunk_stages + 1;
  auto* shared = gpu::dynamic_shared<unsigned char>();
  SegmentBlockMemory<A, T>& memory = *reinterpret_cast<SegmentBlockMemory<A, T>*>(shared);
  ChunkRun& run = memory.run;
  ChunkPartials<A, T>& partials = memory.partials;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes, warp = thread / warp_lanes;
  const Extent array = extent_of(data, sequences.elements);
  if (thread == 0) begin_small_grid(data, sequences);
  if (short_each > 0 && lane == 0)
    prefetch_line_to_l2(sequences.offsets + min(this_warp() * short_each, sequences.count));
  wait_for_previous_kernel();
  if (plan.most_of_even > 0 && !are_even(sequences, plan.most_of_even, thread)) {
    if constexpr (blocks_take_short_ones<kind, T>) {
      if (short_each == 0) return;
      const Span first = short_of_lane(sequences, this_warp() * short_each, short_each, lane);
      reduce_short_ones<kind, T>(data, sequences, warp_lanes, short_each, lists, sink, first, lane);
    }
    return;
  }
  ChunkFinder<T, turns> finder(data, sequences, plan, tickets, memory.window, run, lane);
  if (warp == finder_warp) {
    finder.start();
    const int first_found = finder.find(ahead, lists);
    if (lane == 0) memory.found[0] = first_found;
  }
  __syncthreads();
  int found = memory.found[0];
  ChunkRing<T, turns> ring(shared + segment_block_bytes<A, T>, stages);
  int ask_at = 0, ask_piece = 0;
  const auto ask = [&] {  // for the next piece, into the stage that is free
    if (ask_at < found) {
      const ChunkPlace& place = run.place(ask_at);
      ring.ask(place, ask_piece, array, thread);
      if (++ask_piece == place.pieces) ask_piece = 0, ++ask_at;
    }
    async_commit();
    ring.advance();
  };
  for (int stage = 0; stage < stages; ++stage) ask();
  Value<T> first = {}, next_first = {};
  const auto first_of = [&](int at) {
    return run[at].count > 0 ? to_value(data[run[at].element]) : Value<T>{};
  };
  if (needs_first && found > 0) next_first = first_of(0);
  int complete = -1;  // the last chunk of a sequence whose totals are all there
  const auto merge_complete = [&] {
    if (complete < 0) return;
    const ChunkItem& last = run[complete];
    const int chunks = static_cast<int>(last.begin >> plan.chunk_shift) + 1;
    const Total total = memory.totals.merge(complete + 1 - chunks, chunks, lane);
    if (lane == 0) write_result<T, kind>(sink, last.sequence, total, last.begin + last.count);
    complete = -1;
  };
#pragma unroll 1
  for (int round = 0; round < found; round += a_round) {
    const int slots = round & a_round;
    const int number = round / a_round & 1;
    if (warp == finder_warp) {
      const int now = finder.find(round + a_round + ahead, lists);
      if (lane == 0) memory.found[number ^ 1] = now;
    }
    const int chunks = min(a_round, found - round);
#pragma unroll 1
    for (int i = 0; i < chunks; ++i) {
      const ChunkPlace& place = run.place(round + i);
      if constexpr (needs_first) {
        first = next_first;
        if (round + i + 1 < found) next_first = first_of(round + i + 1);
        if (thread == 0) partials.first[slots + i] = first;
      }
      walk_chunk<A>(ring, place, partials, memory.edges, slots + i, first, thread, ask);
    }
    __syncthreads();
    found = memory.found[number ^ 1];
    merge_complete();
    if (warp >= slots && warp < slots + chunks) {
      const int of_run = round + warp - slots;
      const ChunkItem& item = run[of_run];
      const Total total = total_of_chunk<A>(item, partials, memory.edges, warp, lane);
      if (item.of == ChunkOf::alone) {
        if (lane == 0) write_result<T, kind>(sink, item.sequence, total, item.count);
      } else {
        if (lane == 0) memory.totals[of_run] = total;
        if (item.of == ChunkOf::last) complete = of_run;
      }
    }
  }
  let_next_kernel_start();
  __syncthreads();
  merge_complete();
  if (thread == 0 && tickets.next_window != nullptr &&
      take_ticket(tickets.finished_blocks) == gridDim.x - 1) {
    *tickets.next_window = *tickets.finished_blocks = 0;
  }
}

}  // namespace KW_TARGET
