// Many contiguous sequences, rows or segments, to one result each.
//
// Idea        Sequences that fit a few lanes are reduced side by side, several a warp; longer ones
//             by a whole warp each; those of more than one chunk are cut into chunks (order.hpp),
//             which all warps share alike, however long the sequence is. Totals of chunks meet in a
//             last small kernel.
// Order       That of the whole-array kernel: a row or segment has the bits that it has alone. A
//             group of lanes does the lowest levels of the tree; a warp that stands for 256 threads
//             keeps the sums of all of them (walk.hpp).
// Limits      Segments need two more launches for the long ones among them, as the host does not
//             know whether there are any: about 3 us.
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
struct ChunkItem {
  std::int64_t sequence, element, begin;
  std::int32_t count, alone;
};
template <class T>
__device__ __forceinline__ ChunkItem chunk_of(std::int64_t sequence, Span own, std::int64_t chunk) {
  const std::int64_t size = chunk_elements<T>(own.count), begin = chunk * size;
  return {sequence, own.begin + begin, begin,
          static_cast<std::int32_t>(min(size, own.count - begin)), own.count <= size};
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
  std::int64_t item_capacity, sequence_capacity;
};

constexpr int packs_a_lane = 4;

// The most elements that a group of so many lanes takes.
template <class T>
__host__ __device__ constexpr std::int64_t group_elements(int group) {
  return std::int64_t{group} * packs_a_lane * order_width<T>;
}

// Sequences of `fewest` to group_elements elements, 32 / group of them at a time; each lane has
// four packs next to each other, so that most of the tree needs no other lane. `own` is this lane's
// one of the warp's sequences, of which there are `each`.
template <ReduceKind kind, class T>
__device__ __forceinline__ void reduce_by_groups(const T* data, const Extent& array, Span own,
                                                 std::int64_t fewest, int group, int each,
                                                 std::int64_t first_sequence,
                                                 const ResultSink& sink, int lane) {
  using A = Accumulator<kind, T>;
  constexpr int width = order_width<T>;
  const int member = lane % group;
#pragma unroll 1
  for (int i = lane / group; i - lane / group < each; i += warp_lanes / group) {
    const Span span = from_lane(own, i);
    const bool mine = span.count >= fewest && span.count <= group_elements<T>(group);
    if (!__any_sync(whole_warp(), mine)) continue;
    Chunk<T> chunk;
    chunk.count = mine ? span.count : 0;
    const T* begin = data + span.begin;
    if (chunk.count > 0) chunk.first = to_value(*begin);
    const Packs<T> packs(begin, chunk.count, array);
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
      lanes.add_part(loaded[j], (member * packs_a_lane + j) * width, packs.count, chunk.first);
      partials[j] = tree_of_lanes(lanes);
    }
    typename A::Partial partial = tree_of_array<A>(partials);
#pragma unroll 1
    for (int step = 1; step < group; step *= 2) {
      A::merge(partial, from_lane_above(partial, step, group));
    }
    if (mine && member == 0) {
      write_result<T, kind>(sink, first_sequence + i, A::total(partial, chunk), chunk.count);
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
  for (std::int64_t i = 0; i < taken; ++i) lists.items[first + i] = chunk_of<T>(sequence, own, i);
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
__global__ void __launch_bounds__(order_threads)
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
    const std::int64_t most = group_elements<T>(group);
    if (__any_sync(whole_warp(), own.count >= fewest && own.count <= most)) {
      reduce_by_groups<kind, T>(data, array, own, fewest, group, each, first, sink, lane);
    }
    fewest = most + 1;
  }
  if (__any_sync(whole_warp(), own.count >= fewest)) {
    put_on_lists<T>(lists, first + lane, own, fewest, lane);
  }
}

// A warp takes a chunk where its eight sets of lanes fit 64 registers, else a block does.
template <class A, class T>
constexpr int chunk_team = A::any_order || sizeof(Lanes<A, T>) * order_warps <= 256 ? warp_lanes
                                                                                    : order_threads;

// Threads of a block, and blocks per SM: twelve warps of 168 registers, which have 48 KiB in
// flight; eight where eight lanes lie in a pack, which would spill.
template <class A, class T>
constexpr int chunk_threads = chunk_team<A, T> == warp_lanes ? 128 : order_threads;
template <class A, class T>
constexpr int chunk_blocks_per_sm = chunk_team<A, T> == order_threads ? 1
                                    : Lanes<A, T>::count > 4          ? 2
                                                                      : 3;

// Chunks, a team each: those on the list, or those of all rows. Consecutive blocks take consecutive
// chunks, so that what is left over at the end is spread over all SMs. The next chunk's first packs
// are on their way while this one's total is made. A sequence of one chunk is done here, the
// others' totals are merged next.
template <ReduceKind kind, class T>
__global__ void __launch_bounds__((chunk_threads<Accumulator<kind, T>, T>),
                                  (chunk_blocks_per_sm<Accumulator<kind, T>, T>))
    reduce_chunks_kernel(const T* data, Sequences sequences, WorkLists lists,
                         typename Accumulator<kind, T>::Total* totals, ResultSink sink) {
  using A = Accumulator<kind, T>;
  constexpr int team = chunk_team<A, T>, teams_a_block = chunk_threads<A, T> / team;
  __shared__ BlockMemory<A, T> memory;
  const int member = static_cast<int>(threadIdx.x) % team;
  const std::int64_t teams = std::int64_t{gridDim.x} * teams_a_block;
  wait_for_previous_kernel();
  const std::int64_t each = lists.chunks_each;
  const std::int64_t items =
      each > 0 ? sequences.count * each
               : min(static_cast<std::int64_t>(*lists.item_count), lists.item_capacity);
  const Extent array = extent_of(data, sequences.elements);
  const auto item_at = [&](std::int64_t i) {
    if (i >= items) return ChunkItem{};
    return each > 0 ? chunk_of<T>(i / each, sequences.at(i / each), i % each) : lists.items[i];
  };
  const auto packs_of = [&](const ChunkItem& item) {
    return Packs<T>(data + item.element, item.count, array);
  };

  std::int64_t i = blockIdx.x + std::int64_t{gridDim.x} * (static_cast<int>(threadIdx.x) / team);
  ChunkItem item = item_at(i);
  Packs<T> packs = packs_of(item);
  Walk<A, T, team> walk;
  walk.start(packs, member);
#pragma unroll 1
  for (; i < items; i += teams) {
    const ChunkItem next = item_at(i + teams);
    Chunk<T> chunk = {item.begin, item.count, {}};
    if (item.count > 0) chunk.first = to_value(data[item.element]);
    walk.finish(packs, member, chunk.first);
    const int skip = packs.skip;
    packs = packs_of(next);
    walk.start(packs, member);
    typename A::Total total;
    if constexpr (team == warp_lanes) {
      total = total_of_warp<A>(walk, skip, chunk, member);
    } else {
      total = total_of_block<A>(walk.sets[0], skip, chunk, memory, member);
      __syncthreads();
    }
    if (member == 0 && item.alone != 0) {
      write_result<T, kind>(sink, item.sequence, total, item.count);
    } else if (member == 0) {
      totals[i] = total;
    }
    item = next;
  }
  let_next_kernel_start();
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
  Total slots[order_warps];
#pragma unroll
  for (int i = 0; i < order_warps; ++i) slots[i] = A::empty_total();
#pragma unroll 1
  for (std::int64_t round = lane; round < chunks; round += order_threads) {
#pragma unroll
    for (int i = 0; i < order_warps; ++i) {
      const std::int64_t c = round + i * warp_lanes;
      if (c < chunks) A::merge(slots[i], totals[c]);
    }
  }
#pragma unroll
  for (int i = 0; i < order_warps; ++i) slots[i] = tree_of_warp<A, warp_lanes>(slots[i]);
  return tree_of_array<A>(slots);
}

// Every sequence of more than one chunk, a warp each. The last block clears the lists' counters.
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
    const LongSequence found =
        each > 0 ? LongSequence{i, sequences.length, i * each, each} : lists.sequences[i];
    const typename A::Total total = merge_totals<A>(totals + found.first_total, found.chunks, lane);
    if (lane == 0) write_result<T, kind>(sink, found.sequence, total, found.count);
  }
  if (lists.chunks_each > 0) return;
  __syncthreads();
  if (threadIdx.x == 0 && take_ticket(lists.finished_blocks) == gridDim.x - 1) {
    *lists.item_count = *lists.sequence_count = *lists.finished_blocks = 0;
  }
}

}  // namespace KW_TARGET
