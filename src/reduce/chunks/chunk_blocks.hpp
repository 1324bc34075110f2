// Sequences in chunks (order.hpp): those that are too long for a warp's stage, and all long ones of
// small arrays.
//
// Idea        A block takes a run of chunks, one after the other, through a ring of stages in
// shared
//             memory (chunk_ring.hpp), so that what is on its way depends neither on registers nor
//             on how long a chunk's tree takes. A thread reads only what it has asked for itself:
//             no barrier in the walk. After some chunks a warp each makes the total of one, while
//             others walk on.
// Merging     Sequences of several chunks of which all are in the run are merged by the block
//             alone, a round later, where they are few from totals that it keeps in shared memory.
//             Of one that others have a part of, its totals are left, and who arrives last at the
//             ticket of the block where it begins merges them: two tickets a block at most, after
//             its run, so nobody waits for a fence.
#pragma once

#include "device/arrival.hpp"
#include "device/overlap.hpp"
#include "reduce/chunks/chunk_edges.hpp"
#include "reduce/chunks/chunk_ring.hpp"
#include "reduce/chunks/counted_chunks.hpp"
#include "reduce/chunks/work_lists.hpp"

namespace KW_TARGET {

// Three blocks of 80 registers per SM; two of instances that would spill.
template <ReduceKind kind, class T>
constexpr int chunk_blocks_per_sm = kind == ReduceKind::moments ? 2 : 3;

// Whether a sequence may be one chunk, however long: where not even its totals show the order.
template <class A, class T>
constexpr bool takes_whole = A::any_order && !std::is_same_v<A, Variance<T>>;

// The chunks of a block's run, in shared memory, where they take no registers: those on the list,
// those of all rows, or of few segments. A warp finds 32 of them at a time, since a division takes
// longer than the addition of a short chunk; those after them while the block is at these.
struct ChunkRun {
  static constexpr int kept = 2 * warp_lanes;
  ChunkPlace places[kept];
  ChunkItem items[kept];

  __device__ __forceinline__ const ChunkItem& operator[](int at) const {
    return items[at & (kept - 1)];
  }
  __device__ __forceinline__ const ChunkPlace& place(int at) const {
    return places[at & (kept - 1)];
  }
  // Finds chunks `from` to from + 31 of a run that begins with chunk `begin` of all and has
  // `count`. A warp calls it; others see them after the next barrier.
  template <class T, bool turns>
  __device__ __forceinline__ void find(const T* data, const Sequences& sequences,
                                       const WorkLists& lists, const CountedChunks& counted,
                                       std::int64_t begin, int count, int from, int lane) {
    if (from + lane >= count) return;
    const std::int64_t at = begin + from + lane, each = lists.chunks_each;
    ChunkItem& item = items[(from + lane) & (kept - 1)];
    if (lists.are_counted) {
      const auto chunk = static_cast<std::int32_t>(at);
      const int segment = counted.segment_of(chunk, static_cast<int>(sequences.count));
      item = chunk_of<T>(segment, sequences.at(segment), chunk - counted.first[segment], segment);
    } else if (each == 0) {
      item = lists.items[at];
    } else if (each == 1) {
      const Span own = sequences.at(at);
      item = {at, own.begin, 0, at, static_cast<std::int32_t>(own.count), ChunkOf::alone};
    } else {
      const std::int64_t sequence = at / each;
      item = chunk_of<T>(sequence, sequences.at(sequence), at - sequence * each, sequence);
    }
    places[(from + lane) & (kept - 1)] = ChunkRing<T, turns>::place_of(
        Packs<T>(data + item.element, item.count, extent_of(data, sequences.elements)));
  }
};

// Before the wait for the previous kernel a block asks for its first chunks to be brought into L2.
constexpr int prefetched_chunks = 2;
__device__ __forceinline__ void prefetch_place(const ChunkPlace& place) {
  const int bytes = min(place.packs * 16, prefetched_bytes);
  if (bytes > 0 && place.inside) prefetch_to_l2(place.begin, static_cast<unsigned>(bytes));
}

// Where the work of a launch is cut into runs of chunks: one a block, the first ones one longer.
struct RunCut {
  std::int64_t shorter, longer;  // chunks of a run; how many have one more

  __device__ __forceinline__ RunCut(std::int64_t items, unsigned blocks)
      : shorter(items / blocks), longer(items - shorter * blocks) {}
  __device__ __forceinline__ std::int64_t begin(std::int64_t block) const {
    return block * shorter + min(block, longer);
  }
  __device__ __forceinline__ std::int64_t block_of(std::int64_t item) const {
    const std::int64_t in_longer = longer * (shorter + 1);
    if (item < in_longer) return item / (shorter + 1);
    return longer + (item - in_longer) / shorter;
  }
};

// The totals of the last chunks of a block's run in shared memory: number `at` of the run.
template <class A, int kept>
struct KeptTotals {
  static_assert((kept & (kept - 1)) == 0);
  typename A::Total of[kept];

  __device__ __forceinline__ typename A::Total& operator[](int at) { return of[at & (kept - 1)]; }
  // A warp merges `chunks` of them from `first` on; the first lane has the result.
  __device__ __forceinline__ typename A::Total merge(int first, int chunks, int lane) {
    typename A::Total merged = A::empty_total();  // lane i: the i-th eighth of the slots'
#pragma unroll 1
    for (int eighth = 0; eighth * warp_lanes < chunks; ++eighth) {
      const int c = eighth * warp_lanes + lane;
      const typename A::Total slot = c < chunks ? (*this)[first + c] : A::empty_total();
      const typename A::Total sum = from_lane(tree_of_warp<A, warp_lanes>(slot), 0);
      if (lane == eighth) merged = sum;
    }
    return chunks > warp_lanes ? tree_of_warp<A, order_warps>(merged) : merged;
  }
};

// A sequence of so many chunks at most is merged from totals that its block has kept: a power of
// two, and no less than the chunks of two rounds, which follow before it is.
constexpr int most_kept_chunks = 16;
static_assert(most_kept_chunks >= 2 * order_warps / 2);

template <class A, class T>
struct ChunkMemory {
  ChunkRun run;
  KeptTotals<A, 2 * most_kept_chunks> totals;
  CountedChunks counted;
  ChunkPartials<A, T> partials;
  ChunkEdges<A, T> edges;
  typename A::Total warps[order_warps];
  std::int64_t head;  // the place of the sequence that the run begins in the middle of, or -1
  bool is_last;
};
// All of a block's shared memory, with so many stages.
template <class A, class T>
constexpr std::size_t chunk_memory_bytes =
    (sizeof(ChunkMemory<A, T>) + stage_alignment - 1) / stage_alignment* stage_alignment;

// Where the totals of a sequence of several chunks are.
__device__ __forceinline__ LongSequence find_sequence(const Sequences& sequences,
                                                      const WorkLists& lists,
                                                      const CountedChunks& counted,
                                                      std::int64_t place) {
  if (lists.are_counted) return counted.at(sequences, place);
  if (lists.chunks_each == 0) return lists.sequences[place];
  return {place, sequences.length, place * lists.chunks_each, lists.chunks_each};
}

// A warp merges the totals of a sequence, which are all there.
template <ReduceKind kind, class T>
__device__ __forceinline__ void merge_sequence(const LongSequence& found,
                                               const typename Accumulator<kind, T>::Total* totals,
                                               const ResultSink& sink, int lane) {
  const auto total =
      merge_totals<Accumulator<kind, T>>(totals + found.first_total, found.chunks, lane);
  if (lane == 0) write_result<T, kind>(sink, found.sequence, total, found.count);
}

// The same by a block: a slot a thread. Nobody uses `warps` until the next barrier.
template <ReduceKind kind, class T>
__device__ __forceinline__ void merge_sequence_by_block(
    const LongSequence& found, const typename Accumulator<kind, T>::Total* totals,
    typename Accumulator<kind, T>::Total* warps, const ResultSink& sink, int thread) {
  using A = Accumulator<kind, T>;
  typename A::Total total = A::empty_total();
#pragma unroll 1
  for (std::int64_t c = thread; c < found.chunks; c += order_threads) {
    A::merge(total, totals[found.first_total + c]);
  }
  total = tree_of_block<A>(total, warps, thread);
  if (thread == 0) write_result<T, kind>(sink, found.sequence, total, found.count);
}

// The end of a block's run, from chunk `begin` on and before `end`: if the sequence at `place`
// reaches beyond it, the last one of its blocks to arrive merges it. All threads call it.
template <ReduceKind kind, class T>
__device__ __forceinline__ void merge_across_blocks(
    const Sequences& sequences, const WorkLists& lists,
    ChunkMemory<Accumulator<kind, T>, T>& memory,
    const typename Accumulator<kind, T>::Total* totals, const RunCut& cut, std::int64_t place,
    std::int64_t begin, std::int64_t end, const ResultSink& sink, int thread) {
  if (place < 0 || place >= lists.sequence_capacity) return;
  const LongSequence found = find_sequence(sequences, lists, memory.counted, place);
  const std::int64_t found_end = found.first_total + found.chunks;
  if (found.first_total >= begin && found_end <= end) return;
  const std::int64_t first_block = cut.block_of(found.first_total);
  const auto blocks = static_cast<unsigned>(cut.block_of(found_end - 1) - first_block + 1);
  const bool merges = arrives_last(
      memory.is_last, blocks, thread == 0, [] { __syncthreads(); },
      [&] { return lists.block_tickets + first_block; });
  if (merges) merge_sequence_by_block<kind, T>(found, totals, memory.warps, sink, thread);
}

// A thread's walk over its packs of a chunk, which the ring has, for place `slot` of the partials;
// `ask` is called for each piece's stage as soon as that is free.
template <class A, class T, bool turns, class Ask>
__device__ __forceinline__ void walk_chunk(const ChunkRing<T, turns>& ring, const ChunkPlace& place,
                                           ChunkPartials<A, T>& partials, ChunkEdges<A, T>& edges,
                                           int slot, Value<T> first, int thread, const Ask& ask) {
  Lanes<A, T> lanes;
  lanes.clear();
  const int pieces = place.pieces, skip = place.skip, turn = turns ? place.turn : 0;
#pragma unroll 1
  for (int piece = 0; piece < pieces; ++piece) {
    ring.wait();
    ring.add(lanes, place, piece, first, thread);
    ask();
  }
  if constexpr (A::any_order) {
    partials.put(slot, thread, tree_of_lanes(lanes));
  } else {
    partials.put(slot, member_of(thread, turn), edges.close(lanes, skip, turn, slot, thread));
  }
}

// What a warp makes of place `slot` of the partials; the first lane has it.
template <class A, class T>
__device__ __forceinline__ typename A::Total total_of_chunk(const ChunkItem& item,
                                                            ChunkPartials<A, T>& partials,
                                                            ChunkEdges<A, T>& edges, int slot,
                                                            int lane) {
  if constexpr (!A::any_order) edges.join(partials, slot, lane);
  const Chunk<T> chunk = {item.begin, item.count, partials.first[slot]};
  return A::total(partials.tree(slot, lane), chunk);
}

// Chunks: a block takes a run of them, some a round. It walks one after the other; then a warp each
// makes the total of one, while the other warps walk on.
template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, (chunk_blocks_per_sm<kind, T>))
    reduce_chunks_kernel(const T* data, Sequences sequences, WorkLists lists,
                         typename Accumulator<kind, T>::Total* totals, int stages,
                         ResultSink sink) {
  using A = Accumulator<kind, T>;
  constexpr int a_round = ChunkPartials<A, T>::chunks;
  static_assert((a_round & (a_round - 1)) == 0);
  constexpr bool needs_first = kind == ReduceKind::moments, turns = turns_chunks<A, T>;
  auto* shared = gpu::dynamic_shared<unsigned char>();
  ChunkMemory<A, T>& memory = *reinterpret_cast<ChunkMemory<A, T>*>(shared);
  ChunkRun& run = memory.run;
  ChunkPartials<A, T>& partials = memory.partials;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes, warp = thread / warp_lanes;
  const Extent array = extent_of(data, sequences.elements);
  const bool has_rows = lists.chunks_each > 0;  // and lists, which the previous launch makes, else
  if (!has_rows) {
    if (lists.are_counted && thread == 0) begin_small_grid(data, sequences);
    wait_for_previous_kernel();
  }
  if (lists.are_counted) {
    memory.counted.template count<T>(sequences, thread);
  }
  const std::int64_t items =
      has_rows            ? sequences.count * lists.chunks_each
      : lists.are_counted ? std::int64_t{memory.counted.first[sequences.count]}
                          : min(static_cast<std::int64_t>(*lists.item_count), lists.item_capacity);
  if (!has_rows && !lists.are_counted && items == 0) return;  // nothing to clear, either
  const RunCut cut(items, gridDim.x);
  const std::int64_t begin = cut.begin(blockIdx.x);
  const auto count = static_cast<int>(cut.begin(std::int64_t{blockIdx.x} + 1) - begin);

  if (warp == 0) run.find<T, turns>(data, sequences, lists, memory.counted, begin, count, 0, lane);
  __syncthreads();
  if (has_rows) {
    if (thread < min(count, prefetched_chunks)) prefetch_place(run.place(thread));
    if (thread == 0) start_next_of_small_grid();
    wait_for_previous_kernel();
  }
  if (thread == 0 && count > 0) {
    memory.head = run[0].of != ChunkOf::alone && run[0].begin > 0 ? run[0].place : -1;
  }
  ChunkRing<T, turns> ring(shared + chunk_memory_bytes<A, T>, stages);
  int ask_at = 0, ask_piece = 0;
  const auto ask = [&] {  // for the next piece, into the stage that is free
    if (ask_at < count) {
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
  if (needs_first && count > 0) next_first = first_of(0);
  int complete = -1;  // the last chunk of a sequence whose totals are all there
  const auto merge_complete = [&] {
    if (complete < 0) return;
    const ChunkItem& last = run[complete];
    const std::int64_t elements = last.begin + last.count;
    if (elements <= most_kept_chunks * smallest_chunk<T>) {
      const int chunks = static_cast<int>(last.begin / smallest_chunk<T>) + 1;
      if (const int first_chunk = complete + 1 - chunks; first_chunk >= 0) {
        const typename A::Total total = memory.totals.merge(first_chunk, chunks, lane);
        if (lane == 0) write_result<T, kind>(sink, last.sequence, total, elements);
      }
    } else if (last.place < lists.sequence_capacity) {
      const LongSequence found = find_sequence(sequences, lists, memory.counted, last.place);
      if (found.first_total >= begin) merge_sequence<kind, T>(found, totals, sink, lane);
    }
    complete = -1;
  };
#pragma unroll 1
  for (int round = 0; round < count; round += a_round) {
    // Rounds have the halves of the partials by turns: this one's first place.
    const int slots = round & a_round;
    // In a round after the last that used the chunks that these replace.
    if (round % warp_lanes == order_warps && warp == 0) {
      const int next = round / warp_lanes * warp_lanes + warp_lanes;
      run.find<T, turns>(data, sequences, lists, memory.counted, begin, count, next, lane);
    }
    const int chunks = min(a_round, count - round);
#pragma unroll 1
    for (int i = 0; i < chunks; ++i) {
      const ChunkPlace& place = run.place(round + i);
      if constexpr (needs_first) {
        first = next_first;
        if (round + i + 1 < count) next_first = first_of(round + i + 1);
        if (thread == 0) partials.first[slots + i] = first;
      }
      walk_chunk<A>(ring, place, partials, memory.edges, slots + i, first, thread, ask);
    }
    __syncthreads();
    merge_complete();
    // Each round's trees are for other warps than the last one's.
    if (warp >= slots && warp < slots + chunks) {
      const int of_run = round + warp - slots;
      const ChunkItem& item = run[of_run];
      const typename A::Total total = total_of_chunk<A>(item, partials, memory.edges, warp, lane);
      if (item.of == ChunkOf::alone) {
        if (lane == 0) write_result<T, kind>(sink, item.sequence, total, item.count);
      } else {
        if (lane == 0) memory.totals[of_run] = totals[begin + of_run] = total;
        if (item.of == ChunkOf::last) complete = of_run;
      }
    }
  }
  __syncthreads();
  let_next_kernel_start();
  merge_complete();
  if (count > 0) {
    const ChunkItem& last = run[count - 1];
    const std::int64_t head = memory.head;
    const std::int64_t tail = last.of == ChunkOf::inner ? last.place : -1;
    const std::int64_t end = begin + count;
    merge_across_blocks<kind, T>(sequences, lists, memory, totals, cut, head, begin, end, sink,
                                 thread);
    if (tail != head) {
      merge_across_blocks<kind, T>(sequences, lists, memory, totals, cut, tail, begin, end, sink,
                                   thread);
    }
  }
  if (thread == 0) lists.clear();
}
}  // namespace KW_TARGET
