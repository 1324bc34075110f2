// A whole array to one result, in one launch.
//
// Idea        One block per chunk (order.hpp). Each block leaves its total in a mailbox; the last
//             block of the grid collects all of them and merges them in the order of the chunks,
//             whatever order they came in: the same bits every run. Nothing waits for a fence or an
//             atomic operation. The grid is never larger than a few blocks per SM, and the last
//             block is the last to start, so the blocks that it waits for run or are done.
// Overlap     The next call's blocks come to the SMs while this call's totals are collected, and
//             bring the beginnings of their chunks into L2 meanwhile.
// Limits      Up to about 2^21 elements per call it is latency: load, tree, mailbox, tree. Above,
// it is
//             memory.
#pragma once

#include "device/mailbox.hpp"
#include "device/overlap.hpp"
#include "reduce/chunks/letters.hpp"
#include "reduce/chunks/work_lists.hpp"
#include "reduce/numbers/result.hpp"
#include "reduce/walk/walk.hpp"

namespace KW_TARGET {

// All chunks' totals in their slots (order.hpp), then the slots merged; thread 0 has the result.
template <class A>
__device__ __forceinline__ typename A::Total collect_totals(Letter* box, int chunks,
                                                            typename A::Total* warps, int thread) {
  const auto total = merge_letters<A, order_threads>(box, 0, chunks, thread);
  if (chunks <= warp_lanes) return tree_of_warp<A, warp_lanes>(total);
  return tree_of_block<A>(total, warps, thread);
}

// Four blocks of 64 registers per SM, with which the whole grid of an H200 is resident: with three,
// a quarter of the blocks would come in a second wave, with five some SMs would have more of them
// than others. Instances that have as many anyway have no such bound.
template <ReduceKind kind, class T>
constexpr bool has_half_squares = sizeof(T) == 2 &&
                                  (kind == ReduceKind::moments || kind == ReduceKind::sum_square);
template <ReduceKind kind, class T>
constexpr int array_blocks_per_sm =
    !has_half_squares<kind, T> &&
            (kind == ReduceKind::moments || kind == ReduceKind::sum_square ||
             (kind == ReduceKind::min_max && sizeof(T) == 8) ||
             (kind == ReduceKind::norm_square && std::is_same_v<T, std::int32_t>))
        ? 0
        : 4;

// Packs of a batch of the walk: fewer where sums take more registers.
template <ReduceKind kind, class T>
constexpr int array_packs = has_half_squares<kind, T> ? 2 : 4;

constexpr std::int64_t least_turned_rounds = 8;

// A sequence of which blocks have a chunk each: its number among the results, what it has, and
// where totals are left.
struct MailedSequence {
  std::int64_t number, elements;
  int chunks;
  Letter* box;
};

template <class A, class T>
struct MailedMemory {
  BlockMemory<A, T> block;
  typename A::Total warps[order_warps];
};

// A block's chunk of it, number `own`: the block of the last one merges all.
template <ReduceKind kind, class T, int in_flight>
__device__ __forceinline__ void reduce_mailed_chunk(const MailedSequence& of, int own,
                                                    const Packs<T>& packs, const Chunk<T>& chunk,
                                                    int turn,
                                                    MailedMemory<Accumulator<kind, T>, T>& memory,
                                                    const ResultSink& sink, int thread) {
  using A = Accumulator<kind, T>;
  using Total = typename A::Total;
  const int member = member_of(thread, turn);
  Walk<A, T, in_flight> walk;
  walk.start(packs, member);
  walk.finish(packs, member, chunk.first);
  let_next_kernel_start();
  Total total = total_of_block<A>(walk.lanes, packs.skip, turn, chunk, memory.block, thread);
  if (of.chunks > 1) {
    if (thread == 0) send(of.box + own * letters_of<Total>, total);
    if (own != of.chunks - 1) return;
    total = collect_totals<A>(of.box, of.chunks, memory.warps, thread);
  }
  if (thread == 0) write_result<T, kind>(sink, of.number, total, of.elements);
}

// Of small arrays a turn would be one more barrier for little.
template <class A, class T>
__device__ __forceinline__ int turn_of_chunk(const Packs<T>& packs, std::int64_t chunk_size) {
  return A::any_order || chunk_size > least_turned_rounds * order_lanes<T> ? turn_of(packs) : 0;
}

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, (array_blocks_per_sm<kind, T>))
    reduce_array_kernel(const T* data, std::int64_t n, std::int64_t chunk_size, Letter* box,
                        ResultSink sink) {
  using A = Accumulator<kind, T>;
  __shared__ MailedMemory<A, T> memory;
  const int thread = static_cast<int>(threadIdx.x);
  Chunk<T> chunk;
  chunk.begin = blockIdx.x * chunk_size;
  chunk.count = min(chunk_size, n - chunk.begin);
  const T* begin = data + chunk.begin;
  const Packs<T> packs(begin, chunk.count, extent_of(data, n));

  if (thread == 0) prefetch_chunk(packs);
  wait_for_previous_kernel();
  if (chunk.count > 0) chunk.first = to_value(*begin);
  const int turn = turn_of_chunk<A>(packs, chunk_size);
  reduce_mailed_chunk<kind, T, array_packs<kind, T>>({0, n, static_cast<int>(gridDim.x), box},
                                                     static_cast<int>(blockIdx.x), packs, chunk,
                                                     turn, memory, sink, thread);
}

// Variances of 16 bits would spill with as many blocks as arrays have.
template <ReduceKind kind, class T>
constexpr int segment_blocks_an_sm = kind == ReduceKind::moments && sizeof(T) == 2
                                         ? 3
                                         : array_blocks_per_sm<kind, T>;

// One segment, whose limits the device has: as many blocks as an array of its elements may have
// chunks, each of which asks for `share` elements of the array before it knows them.
template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, (segment_blocks_an_sm<kind, T>))
    reduce_one_segment_kernel(const T* data, Sequences segment, std::int64_t share, Letter* box,
                              ResultSink sink) {
  using A = Accumulator<kind, T>;
  __shared__ MailedMemory<A, T> memory;
  const int thread = static_cast<int>(threadIdx.x);
  const Extent array = extent_of(data, segment.elements);
  const std::int64_t place = blockIdx.x * share;
  if (thread == 0)
    prefetch_chunk(
        Packs<T>(data + place, max(min(share, segment.elements - place), std::int64_t{0}), array));
  wait_for_previous_kernel();
  const Span own = segment.at(0);
  std::int64_t chunk_size = smallest_chunk<T>;
  auto chunks = static_cast<unsigned>(ceil_div(own.count, smallest_chunk<T>));
  if (own.count > max_chunks * smallest_chunk<T>) {
    chunk_size = chunk_elements<T>(own.count);
    chunks = static_cast<unsigned>(ceil_div(own.count, chunk_size));
  }
  chunks = max(chunks, 1u);
  if (blockIdx.x >= chunks) return;
  Chunk<T> chunk;
  chunk.begin = blockIdx.x * chunk_size;
  chunk.count = min(chunk_size, own.count - chunk.begin);
  const T* begin = data + own.begin + chunk.begin;
  const Packs<T> packs(begin, chunk.count, array);
  if (chunk.count > 0) chunk.first = to_value(*begin);
  const int turn = turn_of_chunk<A>(packs, chunk_size);
  reduce_mailed_chunk<kind, T, array_packs<kind, T>>({0, own.count, static_cast<int>(chunks), box},
                                                     static_cast<int>(blockIdx.x), packs, chunk,
                                                     turn, memory, sink, thread);
}

}  // namespace KW_TARGET
