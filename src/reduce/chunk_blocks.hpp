// Sequences in chunks (order.hpp): those that are too long for a warp's stage, and all long ones of
// small arrays.
//
// Idea        A block takes a run of chunks, one after the other, through a ring of stages in
// shared
//             memory (chunk_ring.hpp), so that what is on its way depends neither on registers nor
//             on how long a chunk's tree takes. A thread reads only what it has asked for itself:
//             no barrier in the walk. After some chunks each warp makes the total of one.
// Merging     Sequences of several chunks of which all are in the run are merged by the block
//             alone, a round later. Of one that others have a part of, its totals are left, and who
//             arrives last at the ticket of the block where it begins merges them: two tickets a
//             block at most, after its run, so nobody waits for a fence.
#pragma once

#include "device/arrival.hpp"
#include "device/overlap.hpp"
#include "reduce/chunk_ring.hpp"
#include "reduce/work_lists.hpp"

namespace KW_TARGET {

// Three blocks of 80 registers per SM; two of instances that would spill.
template <ReduceKind kind, class T>
constexpr int chunk_blocks_per_sm = kind == ReduceKind::moments ? 2 : 3;

// The chunks of a block's run, in shared memory, where they take no registers: those on the list,
// or those of all rows. A warp finds 32 of them at a time, since a division takes longer than the
// addition of a short chunk; those after them while the block is at these.
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
                                       const WorkLists& lists, std::int64_t begin, int count,
                                       int from, int lane) {
    if (from + lane >= count) return;
    const std::int64_t at = begin + from + lane, each = lists.chunks_each;
    ChunkItem& item = items[(from + lane) & (kept - 1)];
    if (each == 0) {
      item = lists.items[at];
    } else {
      const std::int64_t sequence = at / each;
      item = chunk_of<T>(sequence, sequences.at(sequence), at - sequence * each, sequence);
    }
    places[(from + lane) & (kept - 1)] = ChunkRing<T, turns>::place_of(
        Packs<T>(data + item.element, item.count, extent_of(data, sequences.elements)));
  }
};

// What the threads of a block have of some chunks that it has walked, for the tree: a warp each. So
// the tree takes an eighth of the instructions that it takes where all warps go up a chunk's
// together, most lanes for nothing.
template <class A, class T>
struct ChunkPartials {
  using Partial = typename A::Partial;
  static constexpr bool is_wide = sizeof(Partial) > 8 || sizeof(Lanes<A, T>) > 64;
  static constexpr int chunks = is_wide ? order_warps / 2 : order_warps;
  static constexpr int a_lane = order_threads / warp_lanes;

  Partial of[chunks][order_threads + warp_lanes];
  Value<T> first[chunks];

  // One place is left out after each lane's, so that lanes read from different banks.
  __device__ __forceinline__ void put(int chunk, int thread, const Partial& partial) {
    of[chunk][thread + thread / a_lane] = partial;
  }
  // A warp calls it; the first lane has the result. By halves, which takes fewer registers.
  __device__ __forceinline__ Partial tree(int chunk, int lane) const {
    constexpr int half = a_lane / 2;
    Partial whole = A::empty();
#pragma unroll 1
    for (int first_of_half = 0; first_of_half < a_lane; first_of_half += half) {
      Partial own[half];
#pragma unroll
      for (int i = 0; i < half; ++i) own[i] = of[chunk][lane * (a_lane + 1) + first_of_half + i];
      A::merge(whole, tree_of_array<A>(own));  // into nothing at first
    }
    return tree_of_warp<A, warp_lanes>(whole);
  }
};

// Off a boundary, lanes of a thread are partly those of the thread before in the order (walk.hpp),
// and what its tree makes of them has a part for each.
template <class A>
struct CutPartials {
  typename A::Partial kept[2], sent[2];  // to the thread before

  template <class T>
  __device__ __forceinline__ CutPartials(const Lanes<A, T>& lanes, int skip) {
    constexpr int width = Lanes<A, T>::count;
    typename A::Partial partial[width];
#pragma unroll
    for (int j = 0; j < width; ++j) partial[j] = A::close(lanes.lane[j]);
    sent[0] = partial[0];
    sent[1] = A::empty();
    kept[0] = partial[width - 1];
    kept[1] = A::empty();
    if constexpr (width == 4) {
      if (skip == 2) {
        kept[0] = partial[2];
        A::merge(kept[0], partial[3]);
        A::merge(sent[0], partial[1]);
      } else {
        A::merge(partial[1], partial[2]);
        sent[1] = partial[1];  // of skip 3
        if (skip == 1) kept[0] = partial[1], kept[1] = partial[3];
      }
    }
  }
  // The tree over a thread's lanes, from what it kept and what the thread behind has sent.
  template <class T>
  __device__ __forceinline__ static typename A::Partial join(const typename A::Partial (&kept)[2],
                                                             const typename A::Partial (&sent)[2],
                                                             int skip) {
    constexpr bool is_wide = order_width<T> == 4;
    typename A::Partial joined = kept[0], second = sent[0];
    if (is_wide && skip == 1) {
      second = kept[1];
      A::merge(second, sent[0]);
    }
    A::merge(joined, second);
    if (is_wide && skip == 3) A::merge(joined, sent[1]);
    return joined;
  }
};

// The last thread of a warp has no thread behind in its warp: both leave their parts here, and who
// makes the chunk's tree puts them together: no barrier for each chunk. Types of 16 bits leave
// lanes.
template <class A, class T>
struct ChunkEdges {
  using Partial = typename A::Partial;
  static constexpr int chunks = A::any_order ? 1 : ChunkPartials<A, T>::chunks;
  static constexpr bool cuts = order_width<T> <= 4;
  struct Parts {
    Partial part[2];
  };
  using Edge = std::conditional_t<cuts, Parts, Lanes<A, T>>;

  Edge last[chunks][order_warps], first[chunks][order_warps];
  int skip[chunks], turn[chunks];

  // The tree over a thread's lanes, as far as its warp has them.
  __device__ __forceinline__ Partial close(Lanes<A, T>& lanes, int own_skip, int own_turn,
                                           int chunk, int thread) {
    const int lane = thread % warp_lanes, warp = thread / warp_lanes;
    if (thread == 0) skip[chunk] = own_skip, turn[chunk] = own_turn;
    if (own_skip == 0) return tree_of_lanes(lanes);
    if constexpr (cuts) {
      const CutPartials<A> cut(lanes, own_skip);
      if (lane == 0) first[chunk][warp] = {{cut.sent[0], cut.sent[1]}};
      if (lane == warp_lanes - 1) last[chunk][warp] = {{cut.kept[0], cut.kept[1]}};
      Partial sent[2] = {from_lane(cut.sent[0], (lane + 1) % warp_lanes), cut.sent[1]};
      if (order_width<T> == 4 && own_skip == 3)
        sent[1] = from_lane(cut.sent[1], (lane + 1) % warp_lanes);
      return CutPartials<A>::template join<T>(cut.kept, sent, own_skip);
    } else {
      if (lane == 0) first[chunk][warp] = lanes;
      move_lanes(lanes, own_skip, lane);
      if (lane == warp_lanes - 1) last[chunk][warp] = lanes;
      return tree_of_lanes(lanes);
    }
  }
  // What the last threads of all warps have. A warp calls it, before it makes the tree.
  __device__ __forceinline__ void join(ChunkPartials<A, T>& partials, int chunk, int lane) const {
    const int own_skip = skip[chunk];
    if (own_skip > 0 && lane < order_warps) {
      const Edge& own = last[chunk][lane];
      const Edge& after = first[chunk][(lane + 1) % order_warps];
      Partial joined;
      if constexpr (cuts) {
        joined = CutPartials<A>::template join<T>(own.part, after.part, own_skip);
      } else {
        Lanes<A, T> lanes;
        constexpr int width = Lanes<A, T>::count;
#pragma unroll
        for (int j = 0; j < width; ++j) {
          const int moved = j + own_skip;
          lanes.lane[j] = moved < width ? own.lane[j] : after.lane[moved - width];
        }
        joined = tree_of_lanes(lanes);
      }
      partials.put(chunk, member_of(lane * warp_lanes + warp_lanes - 1, turn[chunk]), joined);
    }
    __syncwarp(whole_warp());
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

template <class A, class T>
struct ChunkMemory {
  ChunkRun run;
  ChunkPartials<A, T> partials;
  ChunkEdges<A, T> edges;
  std::int64_t head;  // the place of the sequence that the run begins in the middle of, or -1
  bool is_last;
};
// All of a block's shared memory, with so many stages.
template <class A, class T>
constexpr std::size_t chunk_memory_bytes =
    (sizeof(ChunkMemory<A, T>) + stage_alignment - 1) / stage_alignment* stage_alignment;

// A warp merges the totals of a sequence, which are all there.
template <ReduceKind kind, class T>
__device__ __forceinline__ void merge_sequence(const LongSequence& found,
                                               const typename Accumulator<kind, T>::Total* totals,
                                               const ResultSink& sink, int lane) {
  const auto total =
      merge_totals<Accumulator<kind, T>>(totals + found.first_total, found.chunks, lane);
  if (lane == 0) write_result<T, kind>(sink, found.sequence, total, found.count);
}

// The end of a block's run, from chunk `begin` on and before `end`: if the sequence at `place`
// reaches beyond it, the last one of its blocks to arrive merges it. All threads call it.
template <ReduceKind kind, class T>
__device__ __forceinline__ void merge_across_blocks(
    const Sequences& sequences, const WorkLists& lists,
    const typename Accumulator<kind, T>::Total* totals, const RunCut& cut, std::int64_t place,
    std::int64_t begin, std::int64_t end, bool& is_last, const ResultSink& sink, int thread) {
  if (place < 0 || place >= lists.sequence_capacity) return;
  const LongSequence found = lists.at(sequences, place);
  const std::int64_t found_end = found.first_total + found.chunks;
  if (found.first_total >= begin && found_end <= end) return;
  const std::int64_t first_block = cut.block_of(found.first_total);
  const auto blocks = static_cast<unsigned>(cut.block_of(found_end - 1) - first_block + 1);
  const bool merges = arrives_last(
      is_last, blocks, thread == 0, [] { __syncthreads(); },
      [&] { return lists.block_tickets + first_block; });
  if (merges && thread < warp_lanes) merge_sequence<kind, T>(found, totals, sink, thread);
}

// Chunks: a block takes a run of them, some a round. It walks one after the other; then each warp
// makes the total of one.
template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, (chunk_blocks_per_sm<kind, T>))
    reduce_chunks_kernel(const T* data, Sequences sequences, WorkLists lists,
                         typename Accumulator<kind, T>::Total* totals, int stages,
                         ResultSink sink) {
  using A = Accumulator<kind, T>;
  constexpr int a_round = ChunkPartials<A, T>::chunks;
  constexpr bool needs_first = kind == ReduceKind::moments, turns = turns_chunks<A, T>;
  auto* shared = gpu::dynamic_shared<unsigned char>();
  ChunkMemory<A, T>& memory = *reinterpret_cast<ChunkMemory<A, T>*>(shared);
  ChunkRun& run = memory.run;
  ChunkPartials<A, T>& partials = memory.partials;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes, warp = thread / warp_lanes;
  const Extent array = extent_of(data, sequences.elements);
  const bool has_rows = lists.chunks_each > 0;  // and lists, which the previous launch makes, else
  if (!has_rows) wait_for_previous_kernel();
  const std::int64_t items =
      has_rows ? sequences.count * lists.chunks_each
               : min(static_cast<std::int64_t>(*lists.item_count), lists.item_capacity);
  const RunCut cut(items, gridDim.x);
  const std::int64_t begin = cut.begin(blockIdx.x);
  const auto count = static_cast<int>(cut.begin(std::int64_t{blockIdx.x} + 1) - begin);

  if (warp == 0) run.find<T, turns>(data, sequences, lists, begin, count, 0, lane);
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
  if (needs_first && count > 0) next_first = to_value(data[run[0].element]);
  std::int64_t complete = -1;  // the place of a sequence whose totals are all there
  const auto merge_complete = [&] {
    if (complete < 0 || complete >= lists.sequence_capacity) return;
    const LongSequence found = lists.at(sequences, complete);
    if (found.first_total >= begin) merge_sequence<kind, T>(found, totals, sink, lane);
    complete = -1;
  };
#pragma unroll 1
  for (int round = 0; round < count; round += a_round) {
    // In a round after the last that used the chunks that these replace.
    if (round % warp_lanes == order_warps && warp == 0) {
      const int next = round / warp_lanes * warp_lanes + warp_lanes;
      run.find<T, turns>(data, sequences, lists, begin, count, next, lane);
    }
    const int chunks = min(a_round, count - round);
#pragma unroll 1
    for (int i = 0; i < chunks; ++i) {
      const ChunkPlace& place = run.place(round + i);
      if constexpr (needs_first) {
        first = next_first;
        if (round + i + 1 < count) next_first = to_value(data[run[round + i + 1].element]);
        if (thread == 0) partials.first[i] = first;
      }
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
        partials.put(i, thread, tree_of_lanes(lanes));
      } else {
        partials.put(i, member_of(thread, turn), memory.edges.close(lanes, skip, turn, i, thread));
      }
    }
    __syncthreads();
    merge_complete();
    if (warp < chunks) {
      if constexpr (!A::any_order) memory.edges.join(partials, warp, lane);
      const ChunkItem& item = run[round + warp];
      const Chunk<T> chunk = {item.begin, item.count, partials.first[warp]};
      const typename A::Total total = A::total(partials.tree(warp, lane), chunk);
      if (item.of == ChunkOf::alone) {
        if (lane == 0) write_result<T, kind>(sink, item.sequence, total, item.count);
      } else {
        if (lane == 0) totals[begin + round + warp] = total;
        if (item.of == ChunkOf::last) complete = item.place;
      }
    }
    __syncthreads();
  }
  let_next_kernel_start();
  merge_complete();
  if (count > 0) {
    const ChunkItem& last = run[count - 1];
    const std::int64_t head = memory.head;
    const std::int64_t tail = last.of == ChunkOf::inner ? last.place : -1;
    const std::int64_t end = begin + count;
    merge_across_blocks<kind, T>(sequences, lists, totals, cut, head, begin, end, memory.is_last,
                                 sink, thread);
    if (tail != head) {
      merge_across_blocks<kind, T>(sequences, lists, totals, cut, tail, begin, end, memory.is_last,
                                   sink, thread);
    }
  }
  if (thread == 0) lists.clear();
}
}  // namespace KW_TARGET
