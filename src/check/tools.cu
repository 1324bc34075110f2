// The check's work on a GPU: function objects for every element, and the float64 product.
#include "check/each_kernels.hpp"

namespace KW_TARGET::check {
namespace {

using kw::check::Oracle;

constexpr int tile = 64;    // of the product, a block
constexpr int depth = 16;   // of k, a step
constexpr int outputs = 4;  // rows and columns a thread
constexpr int side = tile / outputs;

// Every 64 x 64 tile by 16 x 16 threads, 4 x 4 outputs a thread, both sums in one pass. Tiles go to
// shared memory as doubles: each element is converted once and used 64 times.
__global__ void __launch_bounds__(side* side) oracle_kernel(Oracle o) {
  __shared__ double as[depth][tile + 1];
  __shared__ double bs[depth][tile + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const int ty = thread / side;
  const int tx = thread % side;
  const std::int64_t row0 = static_cast<std::int64_t>(blockIdx.y) * tile;
  const std::int64_t col0 = static_cast<std::int64_t>(blockIdx.x) * tile;
  double sum[outputs][outputs] = {};
  double magnitude[outputs][outputs] = {};

  for (std::int64_t k0 = 0; k0 < o.k; k0 += depth) {
    for (int i = thread; i < tile * depth; i += side * side) {
      // Neighbouring threads read neighbouring memory where op(A) and op(B) are not transposed.
      const std::int64_t a_row = row0 + i / depth;
      const std::int64_t a_col = k0 + i % depth;
      as[i % depth][i / depth] =
          a_row < o.m && a_col < o.k ? o.a[a_row * o.a_row_step + a_col * o.a_col_step] : 0.0f;
      const std::int64_t b_row = k0 + i / tile;
      const std::int64_t b_col = col0 + i % tile;
      bs[i / tile][i % tile] =
          b_row < o.k && b_col < o.n ? o.b[b_row * o.b_row_step + b_col * o.b_col_step] : 0.0f;
    }
    __syncthreads();
    for (int p = 0; p < depth; ++p) {
      double a[outputs];
      double b[outputs];
#pragma unroll
      for (int i = 0; i < outputs; ++i) a[i] = as[p][ty + i * side];
#pragma unroll
      for (int j = 0; j < outputs; ++j) b[j] = bs[p][tx + j * side];
#pragma unroll
      for (int i = 0; i < outputs; ++i) {
#pragma unroll
        for (int j = 0; j < outputs; ++j) {
          sum[i][j] = fma(a[i], b[j], sum[i][j]);
          magnitude[i][j] = fma(fabs(a[i]), fabs(b[j]), magnitude[i][j]);
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < outputs; ++i) {
    for (int j = 0; j < outputs; ++j) {
      const std::int64_t row = row0 + ty + i * side;
      const std::int64_t col = col0 + tx + j * side;
      if (row >= o.m || col >= o.n) continue;
      o.product[row * o.n + col] = sum[i][j];
      o.magnitude[row * o.n + col] = magnitude[i][j];
    }
  }
}

// A grid's second dimension ends at 65535 blocks, four million rows: taller products go in slices.
Status oracle(const Oracle& whole, Stream stream) {
  constexpr std::int64_t rows_a_launch = 65535 * static_cast<std::int64_t>(tile);
  for (std::int64_t row = 0; row < whole.m; row += rows_a_launch) {
    Oracle slice = whole;
    slice.m = whole.m - row < rows_a_launch ? whole.m - row : rows_a_launch;
    slice.a += row * whole.a_row_step;
    slice.product += row * whole.n;
    slice.magnitude += row * whole.n;
    const dim3 grid(static_cast<unsigned>(ceil_div(slice.n, tile)),
                    static_cast<unsigned>(ceil_div(slice.m, tile)));
    Status status = gpu::launch(oracle_kernel, {grid, dim3(side * side), 0, stream}, slice);
    if (!status.ok()) return status;
  }
  return Status::success();
}

}  // namespace

const kw::check::Tools& tools() {
  static const kw::check::Tools table = {run_each<kw::check::FillMatrix>,
                                         oracle,
                                         run_judge<kw::check::JudgeUnchanged>,
                                         run_judge<kw::check::JudgeSgemm>,
                                         run_judge<kw::check::JudgeScaleAdd>,
                                         run_each<kw::check::FillDrawn>,
                                         run_each<kw::check::OneSum>,
                                         run_judge<kw::check::JudgeDrawn>,
                                         run_each<kw::check::CopyWhole>,
                                         run_judge<kw::check::JudgeSolve>,
                                         run_judge<kw::check::JudgeFactor>,
                                         run_judge<kw::check::JudgeCgemm>,
                                         run_judge<kw::check::JudgeComplexSolve>,
                                         run_each<kw::check::FillHeads>,
                                         run_judge<kw::check::LargestOfHeads>,
                                         run_each<kw::check::AttentionScores>,
                                         run_each<kw::check::AttentionWeights>,
                                         run_each<kw::check::AttentionSums>,
                                         run_judge<kw::check::JudgeAttention>};
  return table;
}

}  // namespace KW_TARGET::check
