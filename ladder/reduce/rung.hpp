// What the rungs share, so that each file holds its own step and nothing else: a guarded load, the
// store of a block's sum, and the launches over partial sums until one is left.
#pragma once

#include <utility>

#include "gpu/gpu.hpp"
#include "reduce/problem.hpp"
#include "rungs.hpp"

namespace KW_TARGET {

// data[i], or 0 beyond the n elements, which adds nothing.
__device__ __forceinline__ float load(const float* data, std::int64_t i, std::int64_t n) {
  return i < n ? data[i] : 0.0f;
}

// Adding +0 turns a sum of negative zeros into +0 and leaves every other one as it is.
__device__ __forceinline__ float positive_zero(float sum) { return sum + 0.0f; }

// A rung's kernel: each block writes the sum of its elements of data[0 .. n) to sums[blockIdx.x].
using SumOfBlocks = void(const float* data, std::int64_t n, float* sums);

// Launches `kernel` over the elements, then over the partial sums that it left, until one launch of
// one block writes the result. The partial sums lie where two_partials<share> has room for them.
inline Status sum_in_launches(SumOfBlocks* kernel, Share share, const Reduce& p,
                              const Device& device, Workspace workspace, Stream stream) {
  const float* from = static_cast<const float*>(p.data);
  std::int64_t n = p.cols;
  float* to = static_cast<float*>(workspace.data);
  float* next = to + room_for(blocks_for(share, n, device));
  for (;;) {
    const std::int64_t blocks = blocks_for(share, n, device);
    const bool last = blocks == 1;
    Status status =
        gpu::launch(kernel, {dim3(static_cast<unsigned>(blocks)), dim3(block_size), 0, stream},
                    from, n, last ? static_cast<float*>(p.out) : to);
    if (last || !status.ok()) return status;
    from = to;
    n = blocks;
    std::swap(to, next);
  }
}

}  // namespace KW_TARGET
