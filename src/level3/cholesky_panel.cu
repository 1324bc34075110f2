// The kernel of cholesky_block.hpp.
//
// Prediction  128 pivots, each a square root, a reciprocal and two exchanges in a row: 130 cycles
//             each, 10 us; beside them 0.7 M FMAs take a multiprocessor 4 us.
#include "level3/cholesky_block.hpp"

#include "device/async_copy.hpp"
#include "device/warp.hpp"
#include "sgemm/shape.hpp"

namespace KW_TARGET {
namespace {

constexpr int factor_threads = 256, factor_at_once = cholesky_at_once;
using level3::DiagonalBlock;

// A thread's elements of the triangle, so that neighbouring threads have neighbours in memory.
template <class Visit>
__device__ __forceinline__ void each_own_element(const DiagonalBlock& b, int tid,
                                                 const Visit& visit) {
  const int inner = tid % cholesky_size;
#pragma unroll 8
  for (int outer = tid / cholesky_size; outer < cholesky_size;
       outer += factor_threads / cholesky_size) {
    if (b.row_step == 1)
      visit(inner, outer);
    else
      visit(outer, inner);
  }
}

// The square root of a pivot and its reciprocal, both within an ulp: by the hardware's estimate and
// a step of Newton's method, where neither leaves the range of floats.
struct Root {
  float root, reciprocal;
};
__device__ __forceinline__ Root root_of(float pivot) {
#if defined(__CUDA_ARCH__)
  if (pivot > 0x1p-100f && pivot < 0x1p100f) {
    const float estimate = rsqrtf(pivot);
    float root = pivot * estimate;
    root = fmaf(fmaf(-root, root, pivot), 0.5f * estimate, root);
    return {root, fmaf(estimate, fmaf(-root, estimate, 1.0f), estimate)};
  }
#endif
  const float root = sqrtf(pivot);
  return {root, 1.0f / root};
}

// Factors a square on the diagonal, a lane a row. The first pivot that is not positive goes to
// shared.failed.
__device__ __forceinline__ void factor_square(CholeskyShared& shared, int first, int size,
                                              int lane) {
  const bool has_row = lane < factor_at_once;  // the others only exchange
  const int row = has_row ? lane : 0;
  float own[factor_at_once], sums[factor_at_once] = {};
#pragma unroll
  for (int j = 0; j < factor_at_once; ++j)
    own[j] = has_row && j <= row ? shared.a[first + j][first + row] : 0.0f;
  int failed = -1;
#pragma unroll
  for (int j = 0; j < factor_at_once; ++j) {
    own[j] -= sums[j];
    const float pivot = from_lane(own[j], j);
    if (failed < 0 && first + j < size && !(pivot > 0)) failed = first + j;
    const Root of = root_of(pivot);
    const float root = of.root, reciprocal = of.reciprocal;
    own[j] = row == j ? root : own[j] * reciprocal;
    if (lane == j) shared.reciprocals[j] = reciprocal;
#pragma unroll
    for (int q = j + 1; q < factor_at_once; ++q)
      sums[q] = fmaf(own[j], from_lane(own[j], q), sums[q]);
  }
  if (lane == 0) shared.failed = failed;
  if (!has_row) return;
#pragma unroll
  for (int j = 0; j < factor_at_once; ++j) {
    if (j <= row) shared.a[first + j][first + row] = own[j];
  }
}

// A row below the square.
__device__ __forceinline__ void solve_row(CholeskyShared& shared, int first, int row) {
  float x[factor_at_once], sums[factor_at_once] = {};
#pragma unroll
  for (int j = 0; j < factor_at_once; ++j) x[j] = shared.a[first + j][row];
#pragma unroll
  for (int j = 0; j < factor_at_once; ++j) {
    x[j] = (x[j] - sums[j]) * shared.reciprocals[j];
#pragma unroll
    for (int q = j + 1; q < factor_at_once; ++q)
      sums[q] = fmaf(shared.a[first + j][first + q], x[j], sums[q]);
  }
#pragma unroll
  for (int j = 0; j < factor_at_once; ++j) shared.a[first + j][row] = x[j];
}

__device__ __forceinline__ float4 four_of(const CholeskyShared& shared, int col, int row) {
  return *reinterpret_cast<const float4*>(&shared.a[col][row]);
}

// What 16 factored columns take from a square of 4 x 4 elements.
__device__ __forceinline__ void update_square(CholeskyShared& shared, int first, int row, int col) {
  float4 sums[4] = {};
#pragma unroll 8
  for (int j = 0; j < factor_at_once; ++j) {
    const float4 x = four_of(shared, first + j, row), y = four_of(shared, first + j, col);
    const float of_columns[] = {y.x, y.y, y.z, y.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sums[i].x = fmaf(x.x, of_columns[i], sums[i].x);
      sums[i].y = fmaf(x.y, of_columns[i], sums[i].y);
      sums[i].z = fmaf(x.z, of_columns[i], sums[i].z);
      sums[i].w = fmaf(x.w, of_columns[i], sums[i].w);
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float4& left = *reinterpret_cast<float4*>(&shared.a[col + i][row]);
    left.x -= sums[i].x, left.y -= sums[i].y, left.z -= sums[i].z, left.w -= sums[i].w;
  }
}

__global__ void __launch_bounds__(factor_threads) cholesky_block_kernel(const DiagonalBlock b) {
  auto& shared = *gpu::dynamic_shared<CholeskyShared>();
  const int tid = static_cast<int>(threadIdx.x);
  const bool is_first = b.first == 0;
  if (!is_first && *b.info != 0) return;
  each_own_element(b, tid, [&](int row, int col) {
    const bool is_there = row < b.size && col <= row;
    async_copy<4>(&shared.a[col][row], is_there ? b.a + row * b.row_step + col * b.col_step : b.a,
                  is_there ? 4 : 0);
  });
  async_commit();
  async_wait<0>();
  __syncthreads();
  for (int first = 0; first < b.size; first += factor_at_once) {
    if (tid < warp_lanes) factor_square(shared, first, b.size, tid);
    __syncthreads();
    if (shared.failed >= 0) {
      if (tid == 0) *b.info = static_cast<int>(b.first) + shared.failed + 1;
      return;
    }
    const int next = first + factor_at_once;
    if (next + tid < b.size) solve_row(shared, first, next + tid);
    __syncthreads();
    const int squares = triangle_tiles(ceil_div(b.size - next, 4));
    for (int index = tid; index < squares; index += factor_threads) {
      const int row = triangle_row(index), col = index - triangle_tiles(row);
      update_square(shared, first, next + 4 * row, next + 4 * col);
    }
    __syncthreads();
  }
  if (is_first && tid == 0) *b.info = 0;
  each_own_element(b, tid, [&](int row, int col) {
    if (row < b.size && col <= row) b.a[row * b.row_step + col * b.col_step] = shared.a[col][row];
  });
}

}  // namespace

Status launch_cholesky_block(const level3::DiagonalBlock& block, Stream stream) {
  return gpu::launch(cholesky_block_kernel,
                     {.grid = dim3(1),
                      .block = dim3(factor_threads),
                      .shared_bytes = sizeof(CholeskyShared),
                      .stream = stream},
                     block);
}

}  // namespace KW_TARGET
