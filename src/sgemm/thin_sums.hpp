// How the sums of `thin` come together: over the threads of a block that share rows, through shared
// memory, and over the blocks that share rows, through the workspace.
#pragma once

#include "sgemm/thin_operand.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET::thin {

// sums[o][k_thread] = acc. An output has an odd number of floats, so that no two threads of a warp
// meet one bank.
template <bool along_k, bool aligned, int W>
__device__ __forceinline__ void leave_sums(float* sums, const float (&acc)[4][W],
                                           const ThinPlan& plan,
                                           const ThreadPosition<along_k, aligned>& own) {
#pragma unroll
  for (int j = 0; j < W; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums[((4 * j + i) * plan.row_threads + own.row_thread) * (plan.k_threads + 1) +
           own.k_thread] = acc[i][j];
}
__device__ __forceinline__ float add_sums(const float* sums, const ThinPlan& plan, int o) {
  const float* from = sums + o * (plan.k_threads + 1);
  float sum = 0;
#pragma unroll 8
  for (int t = 0; t < plan.k_threads; ++t) sum += from[t];
  return sum;
}

// C's element for output o of a block: outputs go over the row threads first, then over a thread's
// rows, then over j.
template <bool along_k, bool aligned>
__device__ __forceinline__ void store_output(const Sgemm& p, const ThinPlan& plan,
                                             const ThreadPosition<along_k, aligned>& own,
                                             std::int64_t row0, int o, float sum) {
  const std::int64_t row = row0 + own.row(o % plan.row_threads, o / plan.row_threads % 4);
  if (row >= plan.rows) return;
  float* c = p.c + row * plan.c_row + o / plan.block_rows() * plan.c_j;
  *c = blend(p.alpha, sum, p.beta, c);
}

// Which part of the product a block computes.
struct BlockShare {
  unsigned entry, row_block, part;

  // Neighbouring blocks read neighbouring memory.
  __device__ BlockShare(const ThinPlan& plan, bool along_k) {
    const auto parts = static_cast<unsigned>(plan.parts);
    const auto row_blocks = static_cast<unsigned>(plan.row_blocks);
    const unsigned in_entry = blockIdx.x % (parts * row_blocks);
    entry = blockIdx.x / (parts * row_blocks);
    row_block = along_k ? in_entry / parts : in_entry % row_blocks;
    part = along_k ? in_entry % parts : in_entry / row_blocks;
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
