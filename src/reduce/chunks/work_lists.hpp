// What the kernels of many sequences share: where each sequence lies, the lists of those that are
// too long for one warp, and how the totals of one that is reduced in several chunks are merged.
#pragma once

#include "device/ticket.hpp"
#include "reduce/numbers/result.hpp"
#include "reduce/walk/walk.hpp"

namespace KW_TARGET {

struct Span {
  std::int64_t begin, count;
};

// Where a segment begins and ends by the offsets as they are.
struct Limits64 {
  std::int64_t begin, end;
};

// Where each sequence lies: rows ld apart, or segments by offsets, kept within [0, elements].
struct Sequences {
  std::int64_t count;
  std::int64_t length, ld;      // of rows
  const std::int64_t* offsets;  // of segments, else null
  std::int64_t elements;        // from the array's first to its last

  __device__ __forceinline__ Span at(std::int64_t i) const {
    if (offsets == nullptr) return {i * ld, length};
    return within({offsets[i], offsets[i + 1]});
  }
  // Elements before sequence i, which begins at `begin`; of segments also those between them.
  __device__ __forceinline__ std::int64_t before(std::int64_t i, std::int64_t begin) const {
    return offsets == nullptr ? i * length : begin;
  }
  // The same in two steps, the load and what waits for it.
  __device__ __forceinline__ Limits64 limits(std::int64_t i) const {
    if (offsets == nullptr) return {i * ld, i * ld + length};
    return {offsets[i], offsets[i + 1]};
  }
  __device__ __forceinline__ Span within(const Limits64& of) const {
    const std::int64_t begin = min(max(of.begin, std::int64_t{0}), elements);
    const std::int64_t end = min(max(of.end, begin), elements);
    return {begin, end - begin};
  }
};

// A chunk to reduce: where it begins in the array and in its sequence, and whether it is all of it,
// or the last one. `place` is that of its sequence among those of several chunks.
enum class ChunkOf : std::int32_t { alone, inner, last };
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
  const ChunkOf of = own.count <= size            ? ChunkOf::alone
                     : begin + count == own.count ? ChunkOf::last
                                                  : ChunkOf::inner;
  return {sequence, own.begin + begin, begin, place, count, of};
}
// A sequence of several chunks, whose totals lie next to each other.
struct LongSequence {
  std::int64_t sequence, count, first_total, chunks;
};

// What is found while the short sequences are reduced. Rows need no lists: `chunks_each` says all.
// Nor do few segments, whose chunks each block counts for itself (counted_chunks.hpp).
struct WorkLists {
  std::int64_t chunks_each;  // of every sequence; 0: see the lists
  bool are_counted;          // few segments; no lists
  ChunkItem* items;
  LongSequence* sequences;
  unsigned* item_count;  // in Workspace.tickets, as are the next two
  unsigned* sequence_count;
  unsigned* finished_blocks;
  // One a block, for the sequence that others have a part of and that begins in its run.
  unsigned* block_tickets;
  std::int64_t item_capacity, sequence_capacity;

  // At the end of a launch after which no other reads the lists, by one thread of each block.
  __device__ __forceinline__ void clear() const {
    if (chunks_each > 0 || are_counted || take_ticket(finished_blocks) != gridDim.x - 1) return;
    *item_count = *sequence_count = *finished_blocks = 0;
  }
};

// Of so few segments each block looks at all.
constexpr int counted_a_thread = 4, most_counted_segments = counted_a_thread * order_threads;

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
// descend can name more elements than there are; what has no room then is left out. The first chunk
// of a sequence is its lane's work; those after it, which may be hundreds, are the whole warp's.
template <class T>
__device__ __forceinline__ void put_on_lists(const WorkLists& lists, std::int64_t sequence,
                                             Span own, std::int64_t fewest, int lane) {
  const bool long_one = own.count >= fewest;
  const auto chunks = long_one ? static_cast<unsigned>(chunk_count<T>(own.count)) : 0u;
  const std::int64_t first = take_room(lists.item_count, chunks, lane);
  const std::int64_t place = take_room(lists.sequence_count, chunks > 1 ? 1 : 0, lane);
  const std::int64_t room = max(lists.item_capacity - first, std::int64_t{0});
  const auto taken = static_cast<int>(min(std::int64_t{chunks}, room));
  if (taken > 0) lists.items[first] = chunk_of<T>(sequence, own, 0, place);
  if (chunks > 1 && place < lists.sequence_capacity) {
    lists.sequences[place] = {sequence, own.count, first, taken};
  }
  if (!__any_sync(whole_warp(), taken > 1)) return;
#pragma unroll 1
  for (int from = 0; from < warp_lanes; ++from) {
    const int left = from_lane(taken, from);
    if (left <= 1) continue;
    const std::int64_t its_sequence = from_lane(sequence, from);
    const Span its_span = from_lane(own, from);
    const std::int64_t its_first = from_lane(first, from), its_place = from_lane(place, from);
#pragma unroll 1
    for (int i = 1 + lane; i < left; i += warp_lanes) {
      lists.items[its_first + i] = chunk_of<T>(its_sequence, its_span, i, its_place);
    }
  }
}

// What a small grid does before it waits for the previous kernel, in whose shadow it costs nothing:
// each block asks for its share of the data and of the offsets, and the next kernel may come to the
// multiprocessors that this one leaves empty. By one thread of each block.
template <class P>
__device__ __forceinline__ void prefetch_share(const P* data, std::int64_t count) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = (address + 15) / 16 * 16;
  const std::uintptr_t end = (address + static_cast<std::uintptr_t>(count) * sizeof(P)) / 16 * 16;
  if (begin >= end) return;
  const auto share = (static_cast<unsigned>(end - begin) / gridDim.x / 16 + 1) * 16;
  const std::uintptr_t own = begin + std::uintptr_t{blockIdx.x} * share;
  if (own >= end) return;
  prefetch_to_l2(reinterpret_cast<const char*>(own),
                 static_cast<unsigned>(min(std::uintptr_t{share}, end - own)));
}
__device__ __forceinline__ void start_next_of_small_grid() {
  constexpr unsigned most_blocks = 128;
  if (gridDim.x <= most_blocks) let_next_kernel_start();
}
template <class T>
__device__ __forceinline__ void begin_small_grid(const T* data, const Sequences& sequences) {
  const auto most = static_cast<std::int64_t>(gridDim.x) * prefetched_bytes;
  if (sequences.elements * static_cast<std::int64_t>(sizeof(T)) > most) return;
  prefetch_share(data, sequences.elements);
  if (sequences.offsets != nullptr) prefetch_share(sequences.offsets, sequences.count + 1);
  start_next_of_small_grid();
}

__device__ __forceinline__ std::int64_t this_warp() {
  return std::int64_t{blockIdx.x} * order_warps + static_cast<int>(threadIdx.x) / warp_lanes;
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

}  // namespace KW_TARGET
