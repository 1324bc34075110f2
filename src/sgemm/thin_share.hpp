// Which part of the product a block of `thin` computes.
#pragma once

#include "device/overlap.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/thin_plan.hpp"

namespace KW_TARGET::thin {

// `row_stride`: that of the plan, as the compiler knows it.
template <int row_stride>
struct BlockShare {
  unsigned entry = 0, row_block, part = 0;

  // That of a block by its number. Neighbouring blocks read neighbouring memory.
  __device__ BlockShare(const ThinPlan& plan, bool along_k, unsigned block) : row_block(block) {
    const auto parts = static_cast<unsigned>(plan.parts);
    const auto row_blocks = static_cast<unsigned>(plan.row_blocks);
    if (parts > 1 || block >= row_blocks) {
      const unsigned in_entry = block % (parts * row_blocks);
      entry = block / (parts * row_blocks);
      row_block = along_k ? in_entry / parts : in_entry % row_blocks;
      part = along_k ? in_entry % parts : in_entry / row_blocks;
    }
    compute_now(part), compute_now(row_block);
  }
  // The block's rows begin here, row_stride apart.
  __device__ std::int64_t first_row(const ThinPlan& plan) const {
    return plan.first_row(row_block, row_stride);
  }
  __device__ int rows(const ThinPlan& plan) const {
    return least((plan.rows - first_row(plan) + row_stride - 1) / row_stride, plan.block_rows);
  }
  __device__ std::int64_t first_k(const ThinPlan& plan) const { return part * plan.k_per_part; }
  __device__ int k(const ThinPlan& plan, std::int64_t all_k) const {
    return least(all_k - first_k(plan), plan.k_per_part);
  }

 private:
  __device__ static int least(std::int64_t a, std::int64_t b) {
    return static_cast<int>(a < b ? a : b);
  }
};

}  // namespace KW_TARGET::thin
