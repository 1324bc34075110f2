// Many contiguous sequences, rows or segments, to one result each.
//
// Idea        Sequences that fit a few lanes are reduced side by side, several a warp; longer ones
//             by a whole warp each; those with more elements than the order has lanes are cut into
//             chunks (order.hpp), which all blocks share alike, however long the sequence is. The
//             block that is done last with a sequence merges its totals, in their order.
// Order       That of the whole-array kernel: a row or segment has the bits that it has alone. A
//             group of lanes does the lowest levels of the tree, which are all that a sequence of
//             no more elements than lanes needs.
// Limits      Segments need another launch for the long ones among them, as the host does not know
//             whether there are any.
#pragma once

#include "device/overlap.hpp"
#include "device/ticket.hpp"
#include "reduce/result.hpp"
#include "reduce/walk.hpp"

namespace KW_TARGET {

struct Span {
  std::int64_t begin, count;
};

// Where each sequence lies: rows ld apart, or segments by offsets, kept within [0, elements].
struct Sequences {
  std::int64_t count;
  std::int64_t length, ld;      // of rows
  const std::int64_t* offsets;  // of segments, else null
  std::int64_t elements;        // from the array's first to its last

  __device__ __forceinline__ Span at(std::int64_t i) const {
    if (offsets == nullptr) return {i * ld, length};
    const std::int64_t begin = min(max(offsets[i], std::int64_t{0}), elements);
    const std::int64_t end = min(max(offsets[i + 1], begin), elements);
    return {begin, end - begin};
  }
};

// A chunk to reduce: where it begins in the array and in its sequence, and whether it is all of it.
// `place` is that of its sequence among those of several chunks.
enum class ChunkOf : std::int32_t { alone, several };
struct ChunkItem {
  std::int64_t sequence, element, begin, place;
  std::int32_t count;
  ChunkOf of;
};
template <class T>
__device__ __forceinline__ ChunkItem chunk_of(std::int64_t sequence, Span own, std::int64_t chunk,
                                              std::int64_t place) {
  const std::int64_t size = chunk_elements<T>(own.count), begin = chunk * size;
  const auto count = static_cast<std::int32_t>(min(size, own.count - begin));
  const ChunkOf of = own.count <= size ? ChunkOf::alone : ChunkOf::several;
  return {sequence, own.begin + begin, begin, place, count, of};
}
// A sequence of several chunks, whose totals lie next to each other.
struct LongSequence {
  std::int64_t sequence, count, first_total, chunks;
};

// What is found while the short sequences are reduced. Rows need no lists: `chunks_each` says all.
struct WorkLists {
  std::int64_t chunks_each;  // of every sequence; 0: see the lists
  ChunkItem* items;
  LongSequence* sequences;
  unsigned* item_count;  // in Workspace.tickets, as are the next two
  unsigned* sequence_count;
  unsigned* finished_blocks;
  // One for each sequence of several chunks: who takes the last merges its totals. Null where there
  // are too many; merge_totals_kernel merges then.
  unsigned* sequence_tickets;
  std::int64_t item_capacity, sequence_capacity;

  __device__ __forceinline__ LongSequence at(const Sequences& all, std::int64_t place) const {
    if (chunks_each == 0) return sequences[place];
    return {place, all.length, place * chunks_each, chunks_each};
  }
  // At the end of a launch after which no other reads the lists, by one thread of each block.
  __device__ __forceinline__ void clear() const {
    if (chunks_each > 0 || take_ticket(finished_blocks) != gridDim.x - 1) return;
    *item_count = *sequence_count = *finished_blocks = 0;
  }
};

constexpr int packs_a_lane = 4;

// What a group of so many lanes takes at a time.
template <class T>
__host__ __device__ constexpr std::int64_t group_elements(int group) {
  return std::int64_t{group} * packs_a_lane * order_width<T>;
}
// The most elements that it takes: a whole warp takes two parts, which have all of the order's
// lanes with an element each.
template <class T>
__host__ __device__ constexpr std::int64_t most_of_group(int group) {
  return group < warp_lanes ? group_elements<T>(group) : 2 * group_elements<T>(warp_lanes);
}

// The lanes of a group over the elements of `packs`, which begin `part` elements into a sequence of
// `count`; each lane has four packs next to each other, so that most of the tree needs no other
// lane. The group's first lane has the result.
template <ReduceKind kind, class T>
__device__ __forceinline__ typename Accumulator<kind, T>::Partial reduce_part(
    const Packs<T>& packs, int member, int part, int count, Value<T> first, int group) {
  using A = Accumulator<kind, T>;
  constexpr int width = order_width<T>;
  Pack<T> loaded[packs_a_lane + 1] = {};
#pragma unroll
  for (int j = 0; j <= packs_a_lane; ++j) {
    const int pack = member * packs_a_lane + j;
    const bool needed = j < packs_a_lane || packs.skip > 0;
    if (needed && pack * width < packs.end) loaded[j] = packs.load_part(pack);
  }
  if (packs.skip > 0) {
#pragma unroll
    for (int j = 0; j < packs_a_lane; ++j) {
      loaded[j] = straddling(loaded[j], loaded[j + 1], packs.skip);
    }
  }
  typename A::Partial partials[packs_a_lane];
#pragma unroll
  for (int j = 0; j < packs_a_lane; ++j) {
    Lanes<A, T> lanes;
    lanes.clear();
    lanes.add_part(loaded[j], part + (member * packs_a_lane + j) * width, count, first);
    partials[j] = tree_of_lanes(lanes);
  }
  typename A::Partial partial = tree_of_array<A>(partials);
#pragma unroll 1
  for (int step = 1; step < group; step *= 2) {
    A::merge(partial, from_lane_above(partial, step, group));
  }
  return partial;
}

// Sequences of `fewest` to most_of_group elements, 32 / group of them at a time, while the next
// ones are on their way to L2. `own` is this lane's one of the warp's sequences, of which there are
// `each`.
template <ReduceKind kind, class T>
__device__ __forceinline__ void reduce_by_groups(const T* data, const Extent& array, Span own,
                                                 std::int64_t fewest, int group, int each,
                                                 std::int64_t first_sequence,
                                                 const ResultSink& sink, int lane) {
  using A = Accumulator<kind, T>;
  const int member = lane % group;
  const auto part_elements = static_cast<int>(group_elements<T>(group));
#pragma unroll 1
  for (int i = lane / group; i - lane / group < each; i += warp_lanes / group) {
    const Span span = from_lane(own, i);
    const Span next = from_lane(own, (i + warp_lanes / group) % warp_lanes);
    const std::int64_t ahead = std::int64_t{member} * packs_a_lane * order_width<T>;
    if (i + warp_lanes / group < each && ahead < next.count)
      prefetch_line_to_l2(data + next.begin + ahead);
    const bool mine = span.count >= fewest && span.count <= most_of_group<T>(group);
    if (!__any_sync(whole_warp(), mine)) continue;
    Chunk<T> chunk;
    chunk.count = mine ? span.count : 0;
    const T* begin = data + span.begin;
    if (chunk.count > 0) chunk.first = to_value(*begin);
    typename A::Partial whole = A::empty();
    int part = 0;
#pragma unroll 1
    do {
      const auto left = static_cast<int>(chunk.count) - part;
      const Packs<T> packs(begin + part, min(left, part_elements), array);
      const typename A::Partial partial = reduce_part<kind, T>(
          packs, member, part, static_cast<int>(chunk.count), chunk.first, group);
      A::merge(whole, partial);  // into nothing at first
      part += part_elements;
    } while (part < chunk.count && group == warp_lanes);
    if (mine && member == 0) {
      write_result<T, kind>(sink, first_sequence + i, A::total(whole, chunk), chunk.count);
    }
  }
}

// The sum of `value` over this lane and those below it.
__device__ __forceinline__ unsigned sum_up_to_lane(unsigned value, int lane) {
#pragma unroll
  for (int step = 1; step < warp_lanes; step *= 2) {
    const unsigned below =
        __shfl_up_sync(whole_warp(), value, static_cast<unsigned>(step), warp_lanes);
    if (lane >= step) value += below;
  }
  return value;
}

// Room for `wanted` entries for this lane, next to those of the warp's other lanes: one atomic
// operation per warp. Returns where they begin.
__device__ __forceinline__ std::int64_t take_room(unsigned* count, unsigned wanted, int lane) {
  const unsigned up_to = sum_up_to_lane(wanted, lane);
  unsigned first = 0;
  if (lane == warp_lanes - 1 && up_to > 0) first = atomicAdd(count, up_to);
  return std::int64_t{__shfl_sync(whole_warp(), first, warp_lanes - 1, warp_lanes)} + up_to -
         wanted;
}

// Puts each lane's sequence on the lists, if it has at least `fewest` elements. Offsets that
// descend can name more elements than there are; what has no room then is left out.
template <class T>
__device__ __forceinline__ void put_on_lists(const WorkLists& lists, std::int64_t sequence,
                                             Span own, std::int64_t fewest, int lane) {
  const bool long_one = own.count >= fewest;
  const auto chunks = long_one ? static_cast<unsigned>(chunk_count<T>(own.count)) : 0u;
  const std::int64_t first = take_room(lists.item_count, chunks, lane);
  const std::int64_t place = take_room(lists.sequence_count, chunks > 1 ? 1 : 0, lane);
  const std::int64_t room = max(lists.item_capacity - first, std::int64_t{0});
  const std::int64_t taken = min(std::int64_t{chunks}, room);
  for (std::int64_t i = 0; i < taken; ++i) {
    lists.items[first + i] = chunk_of<T>(sequence, own, i, place);
  }
  if (chunks > 1 && place < lists.sequence_capacity) {
    lists.sequences[place] = {sequence, own.count, first, taken};
  }
}

__device__ __forceinline__ std::int64_t this_warp() {
  return std::int64_t{blockIdx.x} * order_warps + static_cast<int>(threadIdx.x) / warp_lanes;
}

// Sequences that fit a warp's lanes, `each` a warp, 32 at most; longer ones go on the lists. Groups
// of `group` lanes take those that fit them, all 32 lanes what is left.
template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, kind == ReduceKind::moments ? 2 : 3)
    reduce_short_kernel(const T* data, Sequences sequences, int group, int each, WorkLists lists,
                        ResultSink sink) {
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const std::int64_t first = this_warp() * each;
  wait_for_previous_kernel();
  if (first >= sequences.count) return;
  const Extent array = extent_of(data, sequences.elements);
  const bool has_one = lane < each && first + lane < sequences.count;
  const Span own = has_one ? sequences.at(first + lane) : Span{0, -1};

  std::int64_t fewest = 0;
#pragma unroll 1
  for (; group <= warp_lanes; group = group < warp_lanes ? warp_lanes : 2 * warp_lanes) {
    const std::int64_t most = most_of_group<T>(group);
    if (__any_sync(whole_warp(), own.count >= fewest && own.count <= most)) {
      reduce_by_groups<kind, T>(data, array, own, fewest, group, each, first, sink, lane);
    }
    fewest = most + 1;
  }
  if (__any_sync(whole_warp(), own.count >= fewest)) {
    put_on_lists<T>(lists, first + lane, own, fewest, lane);
  }
}

// The totals of one sequence in their slots, then the slots as a tree; the first lane has the
// result. Each lane has a slot in every eighth and reads all of them at once.
template <class A>
__device__ __forceinline__ typename A::Total merge_totals(const typename A::Total* totals,
                                                          std::int64_t chunks, int lane) {
  using Total = typename A::Total;
  if (chunks <= warp_lanes) {
    return tree_of_warp<A, warp_lanes>(lane < chunks ? totals[lane] : A::empty_total());
  }
  constexpr int at_once = sizeof(Total) <= 8 ? 4 : 2;  // of the eighths
  Total kept = A::empty_total();                       // lane i: the i-th eighth's
#pragma unroll 1
  for (int first = 0; first < order_warps && first * warp_lanes < chunks; first += at_once) {
    Total slots[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) slots[i] = A::empty_total();
#pragma unroll 1
    for (std::int64_t round = first * warp_lanes + lane; round < chunks; round += order_threads) {
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const std::int64_t c = round + i * warp_lanes;
        if (c < chunks) A::merge(slots[i], totals[c]);
      }
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const Total eighth = from_lane(tree_of_warp<A, warp_lanes>(slots[i]), 0);
      if (lane == first + i) kept = eighth;
    }
  }
  return tree_of_warp<A, order_warps>(kept);
}

// By a warp that has left the total of a chunk: if no other of its sequence is missing, merges all
// of them.
template <ReduceKind kind, class T>
__device__ __forceinline__ void merge_if_last(const Sequences& sequences, const WorkLists& lists,
                                              const typename Accumulator<kind, T>::Total* totals,
                                              const ChunkItem& item, const ResultSink& sink,
                                              int lane) {
  if (item.place >= lists.sequence_capacity) return;
  const LongSequence found = lists.at(sequences, item.place);
  unsigned before = 0;
  if (lane == 0) {
    __threadfence();
    before = atomicAdd(lists.sequence_tickets + item.place, 1);
    __threadfence();
  }
  before = from_lane(before, 0);
  __syncwarp(whole_warp());
  if (before + 1 != found.chunks) return;
  const auto total =
      merge_totals<Accumulator<kind, T>>(totals + found.first_total, found.chunks, lane);
  if (lane != 0) return;
  lists.sequence_tickets[item.place] = 0;
  write_result<T, kind>(sink, item.sequence, total, found.count);
}

// Three blocks of 80 registers per SM; of instances that would spill two, which have more packs on
// their way (walk.hpp). Variance of half types has no room for those.
template <ReduceKind kind, class T>
constexpr int chunk_blocks_per_sm = kind == ReduceKind::moments ||
                                            kind == ReduceKind::norm_square ||
                                            (kind == ReduceKind::sum_square &&
                                             (sizeof(T) == 2 || std::is_same_v<T, std::int64_t>)) ||
                                            (kind == ReduceKind::min_max &&
                                             std::is_same_v<T, double>)
                                        ? 2
                                        : 3;
template <ReduceKind kind, class T>
constexpr int chunk_packs_in_flight = kind == ReduceKind::moments && sizeof(T) == 2 ? 1
                                      : chunk_blocks_per_sm<kind, T> == 2           ? 4
                                                                                    : 2;

// The chunks of a block's run, in shared memory, where they take no registers: those on the list,
// or those of all rows. A warp finds 32 of them at a time, since a division takes longer than the
// addition of a short chunk; those after them while the block is at these.
struct ChunkRun {
  ChunkItem items[2][warp_lanes];

  __device__ __forceinline__ const ChunkItem& operator[](int at) const {
    return items[at / warp_lanes % 2][at % warp_lanes];
  }
  // Finds chunks `from` to from + 31 of a run that begins with chunk `begin` of all and has
  // `count`. A warp calls it; others see them after the next barrier.
  template <class T>
  __device__ __forceinline__ void find(const Sequences& sequences, const WorkLists& lists,
                                       std::int64_t begin, int count, int from, int lane) {
    if (from + lane >= count) return;
    const std::int64_t at = begin + from + lane, each = lists.chunks_each;
    ChunkItem& item = items[from / warp_lanes % 2][lane];
    if (each == 0) {
      item = lists.items[at];
    } else {
      const std::int64_t sequence = at / each;
      item = chunk_of<T>(sequence, sequences.at(sequence), at - sequence * each, sequence);
    }
  }
};

// What the threads of a block have of some chunks that it has walked, for the tree: a warp each. So
// the tree takes an eighth of the instructions that it takes where all warps go up a chunk's
// together, most lanes for nothing.
template <class A, class T>
struct ChunkPartials {
  using Partial = typename A::Partial;
  static constexpr int chunks = sizeof(Partial) <= 16 ? order_warps : order_warps / 2;
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

// Chunks: a block takes a run of them, some a round. It walks one after the other, whose first
// packs are on their way when the one before ends; then each warp makes the total of one. Of a
// sequence of several chunks, the warp that is done last merges the totals.
template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, (chunk_blocks_per_sm<kind, T>))
    reduce_chunks_kernel(const T* data, Sequences sequences, WorkLists lists,
                         typename Accumulator<kind, T>::Total* totals, ResultSink sink) {
  using A = Accumulator<kind, T>;
  constexpr int a_round = ChunkPartials<A, T>::chunks;
  __shared__ ChunkRun run;
  __shared__ ChunkPartials<A, T> partials;
  __shared__ FirstLanes<A, T> first_lanes[2];
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes, warp = thread / warp_lanes;
  const Extent array = extent_of(data, sequences.elements);
  wait_for_previous_kernel();
  const std::int64_t items =
      lists.chunks_each > 0
          ? sequences.count * lists.chunks_each
          : min(static_cast<std::int64_t>(*lists.item_count), lists.item_capacity);
  const std::int64_t shorter = items / gridDim.x, longer = items - shorter * gridDim.x;
  const std::int64_t begin = blockIdx.x * shorter + min(std::int64_t{blockIdx.x}, longer);
  const auto count = static_cast<int>(shorter) + (blockIdx.x < longer ? 1 : 0);

  if (warp == 0) run.find<T>(sequences, lists, begin, count, 0, lane);
  __syncthreads();
  Packs<T> packs(data, 0, array);
  Value<T> first = {};
  Walk<A, T, chunk_packs_in_flight<kind, T>> walk;
  const auto start = [&](int at) {
    if (at >= count) return;
    packs = Packs<T>(data + run[at].element, run[at].count, array);
    first = to_value(data[run[at].element]);
    walk.start(packs, thread);
  };
  start(0);
#pragma unroll 1
  for (int round = 0; round < count; round += a_round) {
    // In a round after the last that used the chunks that these replace.
    if (round % warp_lanes == order_warps && warp == 0) {
      const int next = round / warp_lanes * warp_lanes + warp_lanes;
      run.find<T>(sequences, lists, begin, count, next, lane);
    }
    const int chunks = min(a_round, count - round);
#pragma unroll 1
    for (int i = 0; i < chunks; ++i) {
      walk.finish(packs, thread, first);
      const int skip = packs.skip;
      if (thread == 0) partials.first[i] = first;
      start(round + i + 1);
      move_lanes_of_block<A>(walk.lanes, skip, first_lanes[i % 2], thread);
      partials.put(i, thread, tree_of_lanes(walk.lanes));
    }
    __syncthreads();
    if (warp < chunks) {
      const ChunkItem& item = run[round + warp];
      const Chunk<T> chunk = {item.begin, item.count, partials.first[warp]};
      const typename A::Total total = A::total(partials.tree(warp, lane), chunk);
      if (item.of == ChunkOf::alone) {
        if (lane == 0) write_result<T, kind>(sink, item.sequence, total, item.count);
      } else {
        if (lane == 0) totals[begin + round + warp] = total;
        if (lists.sequence_tickets != nullptr)
          merge_if_last<kind, T>(sequences, lists, totals, item, sink, lane);
      }
    }
    __syncthreads();
  }
  let_next_kernel_start();
  if (lists.sequence_tickets != nullptr && thread == 0) lists.clear();
}

// Every sequence of more than one chunk, a warp each, where there are too many for tickets.
template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, 2)
    merge_totals_kernel(Sequences sequences, WorkLists lists,
                        const typename Accumulator<kind, T>::Total* totals, ResultSink sink) {
  using A = Accumulator<kind, T>;
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  wait_for_previous_kernel();
  const std::int64_t each = lists.chunks_each;
  const std::int64_t count =
      each > 0 ? sequences.count
               : min(static_cast<std::int64_t>(*lists.sequence_count), lists.sequence_capacity);
  const std::int64_t i = this_warp();
  if (i < count) {
    const LongSequence found = lists.at(sequences, i);
    const typename A::Total total = merge_totals<A>(totals + found.first_total, found.chunks, lane);
    if (lane == 0) write_result<T, kind>(sink, found.sequence, total, found.count);
  }
  __syncthreads();
  if (threadIdx.x == 0) lists.clear();
}

}  // namespace KW_TARGET
