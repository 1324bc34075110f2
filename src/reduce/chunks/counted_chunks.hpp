// The chunks of few segments, as each block counts them for itself from the offsets: no launch that
// looks for long ones, and no lists.
#pragma once

#include "reduce/chunks/work_lists.hpp"

namespace KW_TARGET {

// In shared memory: which of all chunks is each segment's first one, and how many there are in all.
struct CountedChunks {
  std::int32_t first[most_counted_segments + 1];
  std::int32_t of_warps[order_warps];

  // All threads of a block call it; they see the counts after its last barrier.
  template <class T>
  __device__ __forceinline__ void count(const Sequences& segments, int thread) {
    const int lane = thread % warp_lanes, warp = thread / warp_lanes;
    const int begin = thread * counted_a_thread;
    std::int32_t own[counted_a_thread], of_thread = 0;
#pragma unroll
    for (int i = 0; i < counted_a_thread; ++i) {
      const int segment = begin + i;
      own[i] = of_thread;
      if (segment < segments.count)
        of_thread += static_cast<std::int32_t>(chunk_count<T>(segments.at(segment).count));
    }
    const auto up_to =
        static_cast<std::int32_t>(sum_up_to_lane(static_cast<unsigned>(of_thread), lane));
    if (lane == warp_lanes - 1) of_warps[warp] = up_to;
    __syncthreads();
    std::int32_t before = up_to - of_thread;
#pragma unroll
    for (int i = 0; i < order_warps; ++i) before += i < warp ? of_warps[i] : 0;
#pragma unroll
    for (int i = 0; i < counted_a_thread; ++i) {
      if (begin + i <= segments.count) first[begin + i] = before + own[i];
    }
    if (begin + counted_a_thread == most_counted_segments)
      first[most_counted_segments] = before + of_thread;
    __syncthreads();
  }

  // The segment that has a chunk of all.
  __device__ __forceinline__ int segment_of(std::int32_t chunk, int segments) const {
    int low = 0, high = segments;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (first[middle] <= chunk ? low : high) = middle;
    }
    return low;
  }

  __device__ __forceinline__ LongSequence at(const Sequences& segments, std::int64_t place) const {
    const auto segment = static_cast<int>(place);
    return {place, segments.at(place).count, first[segment], first[segment + 1] - first[segment]};
  }
};

}  // namespace KW_TARGET
