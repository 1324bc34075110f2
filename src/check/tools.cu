// The check's work on a GPU: one kernel that applies a function object to every element, one that
// also merges what the objects find, and the float64 product.
#include "check/tools.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET::check {
namespace {

using kw::check::Oracle;
using kw::check::Partial;
using kw::check::partial_count;

constexpr int threads = 256;

template <class Each>
__global__ void for_each(Each each) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
       i < each.size(); i += step) {
    each(i);
  }
}

// One finding a block, merged in a fixed order.
template <class Judge>
__global__ void judge_all(Judge judge, Partial* partials) {
  __shared__ Partial shared[threads];
  Partial found = kw::check::empty_partial();
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
       i < judge.size(); i += step) {
    judge(i, found);
  }
  shared[threadIdx.x] = found;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) {
      merge(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = shared[0];
}

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

gpu::LaunchConfig grid_of(std::int64_t blocks, Stream stream) {
  return {dim3(static_cast<unsigned>(blocks)), dim3(threads), 0, stream};
}

Status fill_matrix(const kw::check::FillMatrix& fill, Stream stream) {
  const std::int64_t blocks = gpu::ceil_div(fill.size(), threads);
  return gpu::launch(for_each<kw::check::FillMatrix>,
                     grid_of(blocks < 8192 ? blocks : 8192, stream), fill);
}

template <class Judge>
Status judge(const Judge& judge, Partial* partials, Stream stream) {
  return gpu::launch(judge_all<Judge>, grid_of(partial_count, stream), judge, partials);
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
    const dim3 grid(static_cast<unsigned>(gpu::ceil_div(slice.n, tile)),
                    static_cast<unsigned>(gpu::ceil_div(slice.m, tile)));
    Status status = gpu::launch(oracle_kernel, {grid, dim3(side * side), 0, stream}, slice);
    if (!status.ok()) return status;
  }
  return Status::success();
}

}  // namespace

const kw::check::Tools& tools() {
  static const kw::check::Tools table = {fill_matrix, oracle, judge<kw::check::JudgeUnchanged>,
                                         judge<kw::check::JudgeSgemm>,
                                         judge<kw::check::JudgeScaleAdd>};
  return table;
}

}  // namespace KW_TARGET::check
