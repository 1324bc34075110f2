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
#include "reduce/result.hpp"
#include "reduce/walk.hpp"

namespace KW_TARGET {

// All chunks' totals in their slots (order.hpp), then the slots merged; thread 0 has the result.
// All lanes of a warp look as long as one of them misses something: a warp that stays together
// looks faster than one that splits.
template <class A>
__device__ __forceinline__ typename A::Total collect_totals(Letter* box, int chunks,
                                                            typename A::Total* warps, int thread) {
  using Total = typename A::Total;
  constexpr int letters = letters_of<Total>;
  Total total = A::empty_total();
  for (int chunk = thread; chunk - thread % warp_lanes < chunks; chunk += order_threads) {
    const bool mine = chunk < chunks;
    Letter* letter = box + letters * (mine ? chunk : chunks - 1);
    Total delivered;
    while (__any_sync(whole_warp(), !look(letter, &delivered) && mine)) {
    }
    if (mine) {
      A::merge(total, delivered);
      clear<Total>(letter);
    }
  }
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

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, (array_blocks_per_sm<kind, T>))
    reduce_array_kernel(const T* data, std::int64_t n, std::int64_t chunk_size, Letter* box,
                        ResultSink sink) {
  using A = Accumulator<kind, T>;
  using Total = typename A::Total;
  __shared__ BlockMemory<A, T> memory;
  __shared__ Total total_warps[order_warps];
  const int thread = static_cast<int>(threadIdx.x);
  const int chunks = static_cast<int>(gridDim.x);
  Chunk<T> chunk;
  chunk.begin = blockIdx.x * chunk_size;
  chunk.count = min(chunk_size, n - chunk.begin);
  const T* begin = data + chunk.begin;
  const Packs<T> packs(begin, chunk.count, extent_of(data, n));

  if (thread == 0) prefetch_chunk(packs);
  wait_for_previous_kernel();
  if (chunk.count > 0) chunk.first = to_value(*begin);
  Walk<A, T, array_packs<kind, T>> walk;
  // Of small arrays it would be one more barrier for little.
  const int turn =
      A::any_order || chunk_size > least_turned_rounds * order_lanes<T> ? turn_of(packs) : 0;
  const int member = member_of(thread, turn);
  walk.start(packs, member);
  walk.finish(packs, member, chunk.first);
  let_next_kernel_start();
  Total total = total_of_block<A>(walk.lanes, packs.skip, turn, chunk, memory, thread);
  if (chunks > 1) {
    if (thread == 0) send(box + blockIdx.x * letters_of<Total>, total);
    if (blockIdx.x != gridDim.x - 1) return;
    total = collect_totals<A>(box, chunks, total_warps, thread);
  }
  if (thread == 0) write_result<T, kind>(sink, 0, total, n);
}

}  // namespace KW_TARGET
