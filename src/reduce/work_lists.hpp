// What the kernels of many sequences share: where each sequence lies, the lists of those that are
// too long for one warp, and how the totals of one that is reduced in several chunks are merged.
#pragma once

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
struct WorkLists {
  std::int64_t chunks_each;  // of every sequence; 0: see the lists
  ChunkItem* items;
  LongSequence* sequences;
  unsigned* item_count;  // in Workspace.tickets, as are the next two
  unsigned* sequence_count;
  unsigned* finished_blocks;
  // One a block, for the sequence that others have a part of and that begins in its run.
  unsigned* block_tickets;
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
