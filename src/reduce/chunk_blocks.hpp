// Sequences in chunks (order.hpp), a block a chunk: those whose chunks are longer than a warp's
// stage holds, and all long ones of small arrays.
#pragma once

#include "device/overlap.hpp"
#include "reduce/work_lists.hpp"

namespace KW_TARGET {

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
  static constexpr bool is_wide = sizeof(Partial) > 16 || sizeof(Lanes<A, T>) > 64;
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

// Off a boundary, the lanes of a warp's last thread are partly with the first thread of the next
// warp (walk.hpp). Each warp leaves both threads' here, and who makes the chunk's tree puts them
// together: no barrier for each chunk.
template <class A, class T>
struct ChunkEdges {
  static constexpr int chunks = A::any_order ? 1 : ChunkPartials<A, T>::chunks;

  Lanes<A, T> last[chunks][order_warps], first[chunks][order_warps];
  int skip[chunks];

  // Moves a warp's lanes as far as it has them.
  __device__ __forceinline__ void move(Lanes<A, T>& lanes, int own_skip, int chunk, int thread) {
    const int lane = thread % warp_lanes, warp = thread / warp_lanes;
    if (thread == 0) skip[chunk] = own_skip;
    if (own_skip == 0) return;
    if (lane == 0) first[chunk][warp] = lanes;
    move_lanes(lanes, own_skip, lane);
    if (lane == warp_lanes - 1) last[chunk][warp] = lanes;
  }
  // What the last threads of all warps have. A warp calls it, before it makes the tree.
  __device__ __forceinline__ void join(ChunkPartials<A, T>& partials, int chunk, int lane) const {
    const int own_skip = skip[chunk];
    if (own_skip > 0 && lane < order_warps) {
      const Lanes<A, T>& after = first[chunk][(lane + 1) % order_warps];
      Lanes<A, T> joined;
      constexpr int width = Lanes<A, T>::count;
#pragma unroll
      for (int j = 0; j < width; ++j) {
        const int moved = j + own_skip;
        joined.lane[j] = moved < width ? last[chunk][lane].lane[j] : after.lane[moved - width];
      }
      partials.put(chunk, lane * warp_lanes + warp_lanes - 1, tree_of_lanes(joined));
    }
    __syncwarp(whole_warp());
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
  __shared__ ChunkEdges<A, T> edges;
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
      if constexpr (!A::any_order) edges.move(walk.lanes, skip, i, thread);
      partials.put(i, thread, tree_of_lanes(walk.lanes));
    }
    __syncthreads();
    if (warp < chunks) {
      if constexpr (!A::any_order) edges.join(partials, warp, lane);
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
}  // namespace KW_TARGET
