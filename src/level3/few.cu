// level3_few: updates of a triangle by a k of a few.
//
// Idea        A block has a square of C, and all k of its rows and columns in shared memory: one
//             way to memory, one barrier, and stores of neighbours. There is next to nothing to
//             compute, and most of a small launch is the way to its first instructions and data: so
//             the code is short.
// Prediction  118 with k = 1: an empty launch and one way to memory, 1.5 us; by tile.cu 2.0.
// Limits      Sums of up to 16.
// Order       k ascending: the same bits for the same call.
#include <optional>

#include "device/overlap.hpp"
#include "level3/few_plan.hpp"
#include "level3/production.hpp"
#include "level3/tile_operand.hpp"
#include "sgemm/shape.hpp"

namespace KW_TARGET {
namespace {

constexpr int side = few_side, threads = few_threads, longest = few_longest_sum;

struct Params {
  Level3 problem;
  TileOperand rows[2], cols[2];  // one behind the other along k
  int products;
  int shift;  // of k: the power of two that is not less
};

using Line = float[side + 1];

// Starts the copies of `left` lines, all k of them, from line `first` on; neighbouring threads meet
// neighbours in memory.
__device__ __forceinline__ void copy_lines(Line* to, const TileOperand& x, std::int64_t first,
                                           std::int64_t left, int k, int shift) {
  const int tid = static_cast<int>(threadIdx.x);
  const float* const from = x.x + first * x.across;
  const int lines = left < side ? static_cast<int>(left) : side;
  if (x.along == 1) {
    const int l = tid & ((1 << shift) - 1);
    for (int i = tid >> shift; i < lines; i += threads >> shift)
      if (l < k) async_copy<4>(&to[l][i], from + i * x.across + l, 4);
  } else {
    for (int l = tid / side; l < k; l += threads / side)
      if (const int i = tid % side; i < lines) async_copy<4>(&to[l][i], from + l * x.along + i, 4);
  }
}

__global__ void __launch_bounds__(threads) level3_few_kernel(__grid_constant__ const Params q) {
  __shared__ float rows[longest][side + 1], cols[longest][side + 1];
  constexpr int down = threads / side, each = side / down;
  const Level3& p = q.problem;
  const int tile_row = triangle_row(static_cast<int>(blockIdx.x));
  const int tile_col = static_cast<int>(blockIdx.x) - triangle_tiles(tile_row);
  const bool lower = p.triangle == Triangle::lower;
  const std::int64_t row0 = (lower ? tile_row : tile_col) * std::int64_t{side};
  const std::int64_t col0 = (lower ? tile_col : tile_row) * std::int64_t{side};
  wait_for_previous_kernel();
  let_next_kernel_start();
  const float alpha = p.alpha_at != nullptr ? *p.alpha_at : p.alpha;
  const float beta = p.beta_at != nullptr ? *p.beta_at : p.beta;
  const int k = alpha != 0 ? static_cast<int>(p.k) : 0, all = q.products * k;
  for (int product = 0; product < q.products; ++product) {
    copy_lines(rows + product * k, q.rows[product], row0, p.m - row0, k, q.shift);
    copy_lines(cols + product * k, q.cols[product], col0, p.m - col0, k, q.shift);
  }
  async_commit();
  async_wait<0>();
  __syncthreads();
  const int tx = static_cast<int>(threadIdx.x) % side, ty = static_cast<int>(threadIdx.x) / side;
  float sums[each] = {};
#pragma unroll 4
  for (int l = 0; l < all; ++l) {
    const float y = cols[l][tx];
#pragma unroll
    for (int i = 0; i < each; ++i) sums[i] = fmaf(rows[l][ty + i * down], y, sums[i]);
  }
  const std::int64_t col = col0 + tx;
  float* to = p.c + (row0 + ty) * p.ldc + col;
#pragma unroll
  for (int i = 0; i < each; ++i, to += down * p.ldc) {
    const std::int64_t row = row0 + ty + i * down;
    if (row >= p.m || col >= p.m || !is_wanted(p.triangle, row, col)) continue;
    *to = beta == 0 ? alpha * sums[i] : fmaf(beta, *to, alpha * sums[i]);
  }
}

std::optional<Plan<Level3>> make_plan(const Level3& p, const Device& device) {
  if (!level3_few_supports(p)) return std::nullopt;
  Plan<Level3> plan;
  plan.time_us = plan.cost = predict_level3_few_us(p, device);
  plan.min_workspace_bytes = 0;
  return plan;
}

Status launch_plan(const Level3& p, const Device&, const Plan<Level3>&, Workspace, Stream stream) {
  if (p.m == 0) return Status::success();
  const TileOperand x = along_rows(p.a, p.lda, p.op_a);
  const TileOperand y = p.reads_b() ? along_rows(p.b, p.ldb, p.op_b) : x;
  int shift = 0;
  while ((1 << shift) < p.k) ++shift;
  return gpu::launch(level3_few_kernel,
                     {.grid = dim3(static_cast<unsigned>(few_tiles(p))),
                      .block = dim3(threads),
                      .stream = stream,
                      .overlap = true},
                     {.problem = p,
                      .rows = {x, y},
                      .cols = {y, x},  // C = X Y^T: Y's rows lie along C's columns
                      .products = p.routine == Routine::syr2k ? 2 : 1,
                      .shift = shift});
}

}  // namespace

KernelList<Level3> level3_few_rows() {
  return {{.name = "level3_few",
           .parent = nullptr,
           .idea = "all k of a square of C in shared memory, a column in 32 a thread",
           .role = Role::production,
           .math = Math::fp32,
           .make_plan = make_plan,
           .launch_plan = launch_plan}};
}

}  // namespace KW_TARGET
