// How the sums of `thin` come together: over the threads of a block that share rows, through the
// lanes of a warp and shared memory, and over the blocks that share rows, through the workspace.
#pragma once

#include "device/overlap.hpp"
#include "device/warp.hpp"
#include "sgemm/thin_operand.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET::thin {

// acc = the sum over the lanes of a warp whose numbers differ in the bits from `first` to `end`.
template <int R, int W>
__device__ __forceinline__ void add_lanes(float (&acc)[R][W], int first, int end) {
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  for (int bit = first; bit < end; bit *= 2)
#pragma unroll
    for (int j = 0; j < W; ++j)
#pragma unroll
      for (int i = 0; i < R; ++i) acc[i][j] += from_lane(acc[i][j], lane ^ bit);
}

// Calls use(o, sum over p < count of value(o, p)) for each output o < outputs, 2^shift threads
// sharing an output. All threads of a block of `threads` call it.
template <class Value, class Use>
__device__ __forceinline__ void add_up(int outputs, int count, int shift, int threads,
                                       const Value& value, const Use& use) {
  const int tid = static_cast<int>(threadIdx.x), sharing = 1 << shift;
  for (int first = 0; first < outputs << shift; first += threads) {
    const int o = (first + tid) >> shift, own = tid & (sharing - 1);
    float sum = 0;
    // Eight loads at a time are under way.
    for (int p = own; o < outputs && p < count; p += 8 * sharing) {
      float some[8];
#pragma unroll
      for (int q = 0; q < 8; ++q) some[q] = p + q * sharing < count ? value(o, p + q * sharing) : 0;
#pragma unroll
      for (int q = 0; q < 8; ++q) sum += some[q];
    }
    for (int bit = 1; bit < sharing; bit *= 2) sum += from_lane(sum, (tid % warp_lanes) ^ bit);
    if (o < outputs && own == 0) use(o, sum);
  }
}

// Where sums go: C, or a part's place in the workspace.
struct Target {
  float* first;  // of the block's first row
  std::int64_t row_stride, j_stride;
  float alpha, beta;
  int rows, width;  // the others are not written

  __device__ __forceinline__ void store(int row, int j, float sum) const {
    if (row >= rows || j >= width) return;
    float* const to = first + row * row_stride + j * j_stride;
    *to = blend(alpha, sum, beta, to);
  }
};

// Which part of the product a block computes.
struct BlockShare {
  unsigned entry = 0, row_block, part = 0;

  // Neighbouring blocks read neighbouring memory.
  __device__ BlockShare(const ThinPlan& plan, bool along_k) : row_block(blockIdx.x) {
    const auto parts = static_cast<unsigned>(plan.parts);
    const auto row_blocks = static_cast<unsigned>(plan.row_blocks);
    if (parts == 1 && blockIdx.x < row_blocks) return;
    const unsigned in_entry = blockIdx.x % (parts * row_blocks);
    entry = blockIdx.x / (parts * row_blocks);
    row_block = along_k ? in_entry / parts : in_entry % row_blocks;
    part = along_k ? in_entry % parts : in_entry / row_blocks;
    compute_now(part), compute_now(row_block);
  }
  __device__ std::int64_t first_row(const ThinPlan& plan) const {
    return static_cast<std::int64_t>(row_block) * plan.block_rows();
  }
};

// The sums of the blocks that share a row block, [part][output] in the workspace, and their ticket.
struct SharedSums {
  float* first;
  unsigned* ticket;

  __device__ SharedSums(const Workspace& workspace, const ThinPlan& plan, const BlockShare& share) {
    const std::int64_t group = std::int64_t{share.entry} * plan.row_blocks + share.row_block;
    first = static_cast<float*>(workspace.data) + group * plan.parts * plan.outputs();
    ticket = workspace.tickets + group;
  }
};

}  // namespace KW_TARGET::thin
