// A small array of segments in one launch, whatever their lengths.
//
// Idea        The first blocks' warps have a batch of short segments each, as short_sequences.hpp
//             has them. Each other block has a chunk of a longer segment, which it finds for itself
//             from the offsets: there are as many such blocks as the array's elements can make
//             chunks, and those that find none end. So nothing is put on a list, and no launch
//             waits for another.
// Merging     By letters, as array.hpp has it: a segment's last chunk waits for blocks that started
//             before, as blocks do in the order of their numbers.
#pragma once

#include "reduce/array.hpp"
#include "reduce/segments/few_plan.hpp"
#include "reduce/short_sequences.hpp"

namespace KW_TARGET {

// A longer segment has more elements than a warp takes at once.
template <class T>
constexpr std::int64_t most_short = group_elements<T>(warp_lanes);

// With three blocks extremes of int8 would spill.
template <ReduceKind kind, class T>
constexpr int few_blocks_per_sm = kind == ReduceKind::min_max && sizeof(T) == 1
                                      ? 2
                                      : short_blocks_per_sm<kind, T>;

// Measured on an H200 (results/h200/explored-reduce-waves.txt): sum of 252 of 5333 float64
// takes 7.1 us and 10.4 otherwise, l2_norm of 114 of 15618 13.6 and 11.9.
template <ReduceKind kind>
constexpr int few_chunks_per_sm = kind == ReduceKind::norm_square ? 0 : 9;

template <ReduceKind kind, class T>
FewPlan few_plan(const Reduce& p, const Device& device) {
  return plan_few(p,
                  {smallest_chunk<T>, order_width<T>, most_short<T>, most_of_group<T>(warp_lanes),
                   few_blocks_per_sm<kind, T>, few_chunks_per_sm<kind>},
                  device);
}

// A warp's only batch, but for segments that it has not at once: those that a group of `group`
// lanes has in a pack each, then those that all lanes have, in one or several.
template <ReduceKind kind, class T>
__device__ __forceinline__ void reduce_short_batch(const T* data, const Sequences& sequences,
                                                   int group, int each, std::int64_t first,
                                                   const ResultSink& sink, int lane) {
  const Batch batch(short_of_lane(sequences, first, each, lane)), none(Span{0, -1});
  if (group == 1 && __all_sync(whole_warp(), batch.count <= few_elements<T>)) {
    reduce_few<kind, T>(data, batch, first, sink, lane);
    return;
  }
  const Extent array = extent_of(data, sequences.elements);
  int fewest = 0;
#pragma unroll 1
  for (int lanes = group; lanes <= warp_lanes;
       lanes = lanes < warp_lanes ? warp_lanes : 2 * warp_lanes) {
    const auto most = static_cast<int>(group_elements<T>(lanes, 1));
    if (__any_sync(whole_warp(), batch.count >= fewest && batch.count <= most)) {
      reduce_by_groups<kind, T, 1, false>(data, array, batch, none, fewest, lanes, each, first,
                                          sink, lane);
    }
    fewest = most + 1;
  }
  if (__any_sync(whole_warp(), batch.count >= fewest)) {
    reduce_by_groups<kind, T, packs_a_lane, false>(data, array, batch, none, fewest, warp_lanes,
                                                   each, first, sink, lane);
  }
}

// The chunk of a block: the segment that has it, and which of the longer ones' chunks are its.
struct FoundChunk {
  std::int64_t segment, begin;
  std::int32_t count, first, chunks;  // without chunks: none was found
};

// Elements of a chunk of a longer segment, and how many chunks it has, by order.hpp.
template <class T>
__device__ __forceinline__ std::int64_t chunk_of_longer(std::int64_t count) {
  return count > max_chunks * smallest_chunk<T> ? chunk_elements<T>(count) : smallest_chunk<T>;
}
template <class T>
__device__ __forceinline__ std::int32_t chunks_of_longer(std::int64_t count) {
  if (count <= most_short<T>) return 0;
  if (count > max_chunks * smallest_chunk<T>)
    return static_cast<std::int32_t>(chunk_count<T>(count));
  return static_cast<std::int32_t>((count + smallest_chunk<T> - 1) / smallest_chunk<T>);
}

// Chunk `wanted` of all, which are numbered by a thread's segments. All threads of a block call it.
template <class T>
__device__ __forceinline__ void find_chunk(const Sequences& segments, int wanted, FoundChunk& found,
                                           std::int32_t (&of_warps)[order_warps], int thread) {
  const int lane = thread % warp_lanes, warp = thread / warp_lanes;
  const auto count = static_cast<int>(segments.count);
  std::int32_t own = 0;
#pragma unroll 8
  for (int i = thread; i < count; i += order_threads)
    own += chunks_of_longer<T>(segments.at(i).count);
  const auto up_to = static_cast<std::int32_t>(sum_up_to_lane(static_cast<unsigned>(own), lane));
  if (lane == warp_lanes - 1) of_warps[warp] = up_to;
  if (thread == 0) found.chunks = 0;
  __syncthreads();
  std::int32_t before = up_to - own;
#pragma unroll
  for (int i = 0; i < order_warps; ++i) before += i < warp ? of_warps[i] : 0;
  if (before <= wanted && wanted < before + own) {
    int i = thread;
    std::int32_t chunks = chunks_of_longer<T>(segments.at(i).count);
    while (wanted >= before + chunks) {
      before += chunks;
      chunks = chunks_of_longer<T>(segments.at(i += order_threads).count);
    }
    const Span span = segments.at(i);
    found = {i, span.begin, static_cast<std::int32_t>(span.count), before, chunks};
  }
  __syncthreads();
}

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, (few_blocks_per_sm<kind, T>))
    reduce_few_segments_kernel(const T* data, Sequences segments, FewPlan plan, Letter* box,
                               ResultSink sink) {
  using A = Accumulator<kind, T>;
  static_assert(most_few_blocks * letters_of<typename A::Total> * sizeof(Letter) <=
                ticket_count * sizeof(unsigned));
  __shared__ MailedMemory<A, T> memory;
  __shared__ FoundChunk found;
  __shared__ std::int32_t of_warps[order_warps];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % warp_lanes;
  if (thread == 0) begin_small_grid(data, segments);
  wait_for_previous_kernel();
  if (static_cast<int>(blockIdx.x) < plan.short_blocks) {
    const std::int64_t first = this_warp() * plan.each;
    reduce_short_batch<kind, T>(data, segments, plan.group, plan.each, first, sink, lane);
    return;
  }
  // Offsets that descend can name more chunks than there are blocks: those have none.
  const int wanted = static_cast<int>(blockIdx.x) - plan.short_blocks;
  const int last = static_cast<int>(gridDim.x) - plan.short_blocks;
  find_chunk<T>(segments, wanted, found, of_warps, thread);
  if (found.chunks == 0) return;
  const int own = wanted - found.first;
  Chunk<T> chunk;
  const std::int64_t size = chunk_of_longer<T>(found.count);
  chunk.begin = own * size;
  chunk.count = min(size, found.count - chunk.begin);
  const T* begin = data + found.begin + chunk.begin;
  chunk.first = to_value(*begin);
  const Packs<T> packs(begin, chunk.count, extent_of(data, segments.elements));
  const MailedSequence of = {found.segment, found.count, min(found.chunks, last - found.first),
                             box + found.first * letters_of<typename A::Total>};
  reduce_mailed_chunk<kind, T, 2>(of, own, packs, chunk, 0, memory, sink, thread);
}

}  // namespace KW_TARGET
