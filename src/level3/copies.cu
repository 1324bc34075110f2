// The kernels of copies.hpp.
#include "level3/copies.hpp"

#include <algorithm>

#include "device/overlap.hpp"

namespace KW_TARGET {
namespace {

constexpr int side = 64, rows_at_once = 4;
constexpr unsigned threads = side * rows_at_once;

__device__ __forceinline__ bool is_of_triangle(const TriangleCopy& c, std::int64_t row,
                                               std::int64_t col) {
  if (row == col) return !c.unit_diagonal;
  return c.triangle == Triangle::lower ? col < row : row < col;
}

// A square of the copy a block: the stored one, or the stored one on the other side of the diagonal
// turned over in shared memory. Nothing beside the triangle is read.
__global__ void __launch_bounds__(threads) triangle_copy_kernel(const TriangleCopy c) {
  __shared__ float square[side][side + 1];
  const int squares = static_cast<int>(ceil_div(c.size, std::int64_t{side}));
  const int i = static_cast<int>(blockIdx.x) / squares, j = static_cast<int>(blockIdx.x) % squares;
  const bool is_stored = c.triangle == Triangle::lower ? j <= i : i <= j;
  wait_for_previous_kernel();
  if (c.only_if != nullptr && *c.only_if == 0) return;
  if (!is_stored && (i < j ? j - i : i - j) >= c.reach / side) return;
  const bool reads = is_stored || c.beside == BesideTriangle::mirrored;
  const int tx = static_cast<int>(threadIdx.x) % side, ty = static_cast<int>(threadIdx.x) / side;
  const std::int64_t from_row = (is_stored ? i : j) * std::int64_t{side};
  const std::int64_t from_col = (is_stored ? j : i) * std::int64_t{side};
#pragma unroll
  for (int r = ty; r < side; r += rows_at_once) {
    const std::int64_t row = from_row + r, col = from_col + tx;
    const bool is_there = reads && row < c.size && col < c.size && is_of_triangle(c, row, col);
    square[r][tx] = is_there ? c.from[row * c.ld_from + col] : 0.0f;
  }
  __syncthreads();
#pragma unroll
  for (int r = ty; r < side; r += rows_at_once) {
    const std::int64_t row = i * std::int64_t{side} + r, col = j * std::int64_t{side} + tx;
    if (row >= c.size || col >= c.size) continue;
    float x = c.unit_diagonal && row == col ? 1.0f : 0.0f;
    if (is_of_triangle(c, row, col))
      x = square[r][tx];
    else if (c.beside == BesideTriangle::mirrored)
      x = square[tx][r];
    c.to[row * c.ld_to + col] = x;
  }
}

// Some lines of a square on the diagonal a block.
__global__ void __launch_bounds__(threads) diagonal_copy_kernel(const TriangleCopy c) {
  constexpr int lines = side / 4, at_once = threads / diagonal_side;
  const std::int64_t first = blockIdx.x * std::int64_t{lines};
  const int j = static_cast<int>(threadIdx.x) % diagonal_side;
  const std::int64_t col = first / diagonal_side * diagonal_side + j;
  wait_for_previous_kernel();
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x) / diagonal_side; i < lines; i += at_once) {
    const std::int64_t row = first + i;
    if (row >= c.size || col >= c.size) continue;
    float x = c.unit_diagonal && row == col ? 1.0f : 0.0f;
    if (is_of_triangle(c, row, col))
      x = c.from[row * c.ld_from + col];
    else if (c.beside == BesideTriangle::mirrored)
      x = c.from[col * c.ld_from + row];
    c.to[row * diagonal_side + j] = x;
  }
}

struct MatrixCopy {
  const float* from;
  std::int64_t ld_from;
  float* to;
  std::int64_t ld_to, rows, cols;
};
__global__ void __launch_bounds__(threads) matrix_copy_kernel(const MatrixCopy c) {
  wait_for_previous_kernel();
  const std::int64_t count = c.rows * c.cols, step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; at < count;
       at += step) {
    const std::int64_t row = at / c.cols, col = at - row * c.cols;
    c.to[row * c.ld_to + col] = c.from[row * c.ld_from + col];
  }
}

// A square a block, turned over in shared memory.
__global__ void __launch_bounds__(threads) turned_copy_kernel(const MatrixCopy c) {
  __shared__ float square[side][side + 1];
  const std::int64_t across = ceil_div(c.cols, std::int64_t{side}), down = blockIdx.x / across;
  const std::int64_t first_row = down * side, first_col = (blockIdx.x - down * across) * side;
  const int tx = static_cast<int>(threadIdx.x) % side, ty = static_cast<int>(threadIdx.x) / side;
  wait_for_previous_kernel();
#pragma unroll
  for (int r = ty; r < side; r += rows_at_once) {
    const std::int64_t row = first_row + r, col = first_col + tx;
    square[r][tx] = row < c.rows && col < c.cols ? c.from[row * c.ld_from + col] : 0.0f;
  }
  __syncthreads();
#pragma unroll
  for (int r = ty; r < side; r += rows_at_once) {
    const std::int64_t row = first_row + tx, col = first_col + r;
    if (row < c.rows && col < c.cols) c.to[col * c.ld_to + row] = square[tx][r];
  }
}

// Where a thread's first element lies, in 2^shift columns and so many rows that all threads have
// one; it has one of each of the next joined_rows - 1 such groups of rows, too.
constexpr int joined_rows = 4;
struct JoinedPlace {
  int shift;
  std::int64_t across;  // blocks side by side
};

__global__ void __launch_bounds__(threads)
    joined_copy_kernel(const JoinedCopy c, const JoinedPlace place) {
  wait_for_previous_kernel();
  const int tid = static_cast<int>(threadIdx.x), height = static_cast<int>(threads) >> place.shift;
  const std::int64_t down = blockIdx.x / place.across, at_col = blockIdx.x - down * place.across;
  const std::int64_t col = (at_col << place.shift) + (tid & ((1 << place.shift) - 1));
  const std::int64_t first = down * joined_rows * height + (tid >> place.shift);
  float a[joined_rows], b[joined_rows];
#pragma unroll
  for (int r = 0; r < joined_rows; ++r) {
    const std::int64_t row = first + r * height;
    const bool is_there = row < c.rows && col < c.cols;
    a[r] = is_there ? c.a[row * c.lda + col] : 0.0f;
    b[r] = is_there ? c.b[row * c.ldb + col] : 0.0f;
  }
#pragma unroll
  for (int r = 0; r < joined_rows; ++r) {
    const std::int64_t row = first + r * height, at = row * c.ld + col;
    if (row >= c.rows || col >= c.cols) continue;
    c.ab[at] = a[r], c.ab[at + c.second] = b[r];
    c.ba[at] = b[r], c.ba[at + c.second] = a[r];
  }
}

__global__ void __launch_bounds__(threads) clear_kernel(const Level3 p) {
  wait_for_previous_kernel();
  if (p.alpha_at != nullptr && *p.alpha_at != 0) return;
  const std::int64_t of_entry = p.m * p.n, count = p.batch * of_entry;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; at < count;
       at += step) {
    const std::int64_t entry = at / of_entry, row = (at - entry * of_entry) / p.n;
    p.c[entry * p.stride_c + row * p.ldc + at % p.n] = 0;
  }
}

unsigned blocks_for(std::int64_t elements) {
  constexpr std::int64_t most = 1 << 16;
  return static_cast<unsigned>(std::min(ceil_div(elements, std::int64_t{threads}), most));
}

}  // namespace

Status copy_triangle(const TriangleCopy& copy, Stream stream) {
  const std::int64_t squares = ceil_div(copy.size, std::int64_t{side});
  return gpu::launch(triangle_copy_kernel,
                     {.grid = dim3(static_cast<unsigned>(squares * squares)),
                      .block = dim3(threads),
                      .stream = stream,
                      .overlap = true},
                     copy);
}

Status copy_diagonal(const TriangleCopy& copy, Stream stream) {
  return gpu::launch(
      diagonal_copy_kernel,
      {.grid = dim3(static_cast<unsigned>(ceil_div(copy.size, std::int64_t{side / 4}))),
       .block = dim3(threads),
       .stream = stream,
       .overlap = true},
      copy);
}

Status copy_matrix(const float* from, std::int64_t ld_from, float* to, std::int64_t ld_to,
                   std::int64_t rows, std::int64_t cols, Stream stream) {
  const MatrixCopy copy = {from, ld_from, to, ld_to, rows, cols};
  return gpu::launch(matrix_copy_kernel,
                     {.grid = dim3(blocks_for(rows * cols)),
                      .block = dim3(threads),
                      .stream = stream,
                      .overlap = true},
                     copy);
}

Status copy_turned(const float* from, std::int64_t ld_from, float* to, std::int64_t ld_to,
                   std::int64_t rows, std::int64_t cols, Stream stream) {
  const MatrixCopy copy = {from, ld_from, to, ld_to, rows, cols};
  const std::int64_t squares =
      ceil_div(rows, std::int64_t{side}) * ceil_div(cols, std::int64_t{side});
  return gpu::launch(turned_copy_kernel,
                     {.grid = dim3(static_cast<unsigned>(squares)),
                      .block = dim3(threads),
                      .stream = stream,
                      .overlap = true},
                     copy);
}

Status copy_joined(const JoinedCopy& copy, Stream stream) {
  JoinedPlace place{.shift = 5, .across = 1};
  while ((1U << place.shift) < threads && (1 << place.shift) < copy.cols) ++place.shift;
  place.across = ceil_div(copy.cols, std::int64_t{1} << place.shift);
  const std::int64_t rows_of_block = joined_rows * (std::int64_t{threads} >> place.shift);
  const std::int64_t blocks = place.across * ceil_div(copy.rows, rows_of_block);
  return gpu::launch(joined_copy_kernel,
                     {.grid = dim3(static_cast<unsigned>(blocks)),
                      .block = dim3(threads),
                      .stream = stream,
                      .overlap = true},
                     copy, place);
}

Status clear_where_zero(const Level3& p, Stream stream) {
  return gpu::launch(clear_kernel,
                     {.grid = dim3(blocks_for(p.batch * p.m * p.n)),
                      .block = dim3(threads),
                      .stream = stream,
                      .overlap = true},
                     p);
}

}  // namespace KW_TARGET
