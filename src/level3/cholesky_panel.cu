// The kernel of cholesky_panel.hpp.
//
// Prediction  16 times: 8 pivots in a row of 62 cycles each, substitution beside them, the tiles of
//             the next 8 columns and three barriers, 1100 cycles; what is right of those beside
//             them: 10 us, with 6 us to launch, load and store 16 us. 128 rows below the triangle
//             take 1.4 M FMAs a multiprocessor, whose operands come from shared memory in 24 000
//             cycles: 20 us in all.
#include "level3/cholesky_panel.hpp"

#include <algorithm>
#include <cmath>

#include "device/async_copy.hpp"
#include "device/overlap.hpp"
#include "device/ticket.hpp"
#include "device/warp.hpp"
#include "sgemm/shape.hpp"

namespace KW_TARGET {
namespace {

constexpr int at_once = panel_at_once;
constexpr int panel_threads = 512;
using level3::CholeskyPanel;

struct PanelCall {
  CholeskyPanel panel;
  int rows;    // below the triangle, of a block
  bool by_16;  // a line's elements lie at multiples of 16 bytes
  unsigned* ticket;
};

struct PanelRoom {
  float* columns;  // [column][row]
  int pitch;
  int* failed;   // the first pivot that is not positive, or -1
  int* is_last;  // whether the block stores the triangle

  __device__ __forceinline__ PanelRoom(float* shared, int rows)
      : columns(shared),
        pitch(panel_pitch(rows)),
        failed(reinterpret_cast<int*>(shared + panel_columns * pitch)),
        is_last(failed + 1) {}
  __device__ __forceinline__ float* column(int col) const { return columns + col * pitch; }
  __device__ __forceinline__ float4& four(int col, int row) const {
    return *reinterpret_cast<float4*>(columns + col * pitch + row);
  }
};

// A block's rows in memory: in shared memory the triangle's come first.
struct PanelRows {
  const CholeskyPanel& p;
  std::int64_t first;  // of the rows below the triangle
  std::int64_t count;  // that there are from there on

  __device__ __forceinline__ PanelRows(const PanelCall& call)
      : p(call.panel),
        first(std::int64_t{blockIdx.x} * call.rows),
        count(call.panel.below - first) {}
  __device__ __forceinline__ float* at(int row, int col) const {
    const std::int64_t in_panel = row < panel_columns ? row : p.size + first + row - panel_columns;
    return p.a + in_panel * p.row_step + col * p.col_step;
  }
  __device__ __forceinline__ bool has(int row) const {
    return row < panel_columns ? row < p.size : row - panel_columns < count;
  }
};

// Starts the copy of an element; where there is none, of the identity.
__device__ __forceinline__ void copy_element(const PanelRoom& room, const PanelRows& rows, int row,
                                             int col) {
  float* const to = room.column(col) + row;
  if (rows.has(row) && col < rows.p.size)
    async_copy<4>(to, rows.at(row, col), 4);
  else
    *to = row == col ? 1.0f : 0.0f;
}

// Starts the copies of all on the diagonal and below it, where lines are rows or lie anyhow: 8
// columns of 4 rows a warp.
__device__ __forceinline__ void copy_by_4(const PanelRoom& room, const PanelRows& rows, int height,
                                          int tid) {
  for (int row = tid / 8; row < height; row += panel_threads / 8) {
    const int col = tid % 8;
    if (rows.has(row) && rows.p.size == panel_columns) {
      const float* from = rows.at(row, col);
      float* to = room.column(col) + row;
      const std::int64_t step = 8 * rows.p.col_step;
      const int to_step = 8 * room.pitch;
#pragma unroll 4
      for (int i = col; i < panel_columns; i += 8, from += step, to += to_step) {
        if (i <= row) async_copy<4>(to, from, 4);
      }
    } else {
      for (int i = col; i < panel_columns && i <= row; i += 8) copy_element(room, rows, row, i);
    }
  }
}
// The same where columns lie together: 4 rows a thread. Of a column's first four those above the
// diagonal come along, and nobody reads them here.
__device__ __forceinline__ void copy_by_16(const PanelRoom& room, const PanelRows& rows, int height,
                                           int tid) {
  constexpr int fours = 8, step = panel_threads / fours;  // a warp has 4 columns
  for (int row = tid % fours * 4; row < height; row += 4 * fours) {
    int col = tid / fours;
    const float* from = rows.at(row, col);
    float* to = room.column(col) + row;
    const std::int64_t from_step = step * rows.p.col_step;
    const int to_step = step * room.pitch;
    if (rows.has(row + 3)) {
#pragma unroll
      for (; col < panel_columns; col += step, from += from_step, to += to_step) {
        if (col <= row + 3) async_copy<16>(to, from, 16);
      }
    } else {
      for (; col < panel_columns; col += step) {
        for (int i = 0; i < 4; ++i) copy_element(room, rows, row + i, col);
      }
    }
  }
}
__device__ __forceinline__ void copy_panel(const PanelRoom& room, const PanelCall& call, int tid) {
  const PanelRows rows(call);
  const int height = panel_columns + call.rows;
  if (call.by_16 && call.panel.row_step == 1 && call.panel.size == panel_columns)
    copy_by_16(room, rows, height, tid);
  else
    copy_by_4(room, rows, height, tid);
}

// The square root of a pivot and its reciprocal, both within an ulp. `usual`: of 2^-100 to 2^100,
// by the hardware's estimate and a step of Newton's method.
struct Root {
  float root, reciprocal;
};
__device__ __forceinline__ bool is_usual(float pivot) {
  return pivot > 0x1p-100f && pivot < 0x1p100f;
}
template <bool usual>
__device__ __forceinline__ Root root_of(float pivot) {
#if defined(__CUDA_ARCH__)
  if constexpr (usual) {
    float estimate;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(estimate) : "f"(pivot));
    const float by_half = 0.5f * estimate, near = pivot * estimate;
    return {fmaf(fmaf(-near, near, pivot), by_half, near),
            fmaf(fmaf(-near, estimate, 1.0f), by_half, estimate)};
  }
#endif
  const float root = sqrtf(pivot);
  return {root, 1.0f / root};
}

// The square on the diagonal is factored in registers, and a row of it, or below it, solved along
// with it: x, its 8 columns. Returns the first pivot that is not positive, or -1; where `usual`, 0
// where any is not usual.
template <bool usual>
__device__ __forceinline__ int factor_and_solve(const PanelRoom& room, int first, int row,
                                                float (&x)[at_once]) {
  float square[at_once][at_once];  // [column][row]
#pragma unroll
  for (int j = 0; j < at_once; ++j) {
#pragma unroll
    for (int i = j / 4 * 4; i < at_once; i += 4) {
      const float4 v = room.four(first + j, first + i);
      square[j][i] = v.x, square[j][i + 1] = v.y, square[j][i + 2] = v.z, square[j][i + 3] = v.w;
    }
    x[j] = room.column(first + j)[row];
  }
  float roots[at_once];
  int failed = -1;
  bool all_usual = true;
#pragma unroll
  for (int j = 0; j < at_once; ++j) {
    float(&l)[at_once] = square[j];
    if constexpr (usual)
      all_usual = all_usual && is_usual(l[j]);
    else if (failed < 0 && !(l[j] > 0))
      failed = j;
    const Root of = root_of<usual>(l[j]);
    roots[j] = of.root;
    x[j] *= of.reciprocal;
#pragma unroll
    for (int i = j + 1; i < at_once; ++i) l[i] *= of.reciprocal;
#pragma unroll
    for (int q = j + 1; q < at_once; ++q) {
#pragma unroll
      for (int i = q; i < at_once; ++i) square[q][i] = fmaf(-l[i], l[q], square[q][i]);
      x[q] = fmaf(-l[q], x[j], x[q]);
    }
  }
#pragma unroll
  for (int j = 0; j < at_once; ++j) {
    if (row == first + j) x[j] = roots[j];
  }
  return usual && !all_usual ? 0 : failed;
}
__device__ __forceinline__ int factor(const PanelRoom& room, int first, int row,
                                      float (&x)[at_once]) {
#if defined(__CUDA_ARCH__)
  if (factor_and_solve<true>(room, first, row, x) < 0) return -1;
#endif
  return factor_and_solve<false>(room, first, row, x);
}

// 8 columns of a row in memory, which lie together or not.
__device__ __forceinline__ void store_row(const float (&x)[at_once], const PanelCall& call,
                                          float* to) {
  if (call.by_16 && call.panel.col_step == 1) {
#pragma unroll
    for (int j = 0; j < at_once; j += 4)
      *reinterpret_cast<float4*>(to + j) = make_float4(x[j], x[j + 1], x[j + 2], x[j + 3]);
  } else {
#pragma unroll
    for (int j = 0; j < at_once; ++j) to[j * call.panel.col_step] = x[j];
  }
}

// What the columns from `first` on take from a square of 4 x 4 elements.
__device__ __forceinline__ void update_tile(const PanelRoom& room, int first, int row, int col) {
  float4 sums[4] = {}, left[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) left[i] = room.four(col + i, row);
#pragma unroll
  for (int j = 0; j < at_once; ++j) {
    const float4 x = room.four(first + j, row), y = room.four(first + j, col);
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
    left[i].x -= sums[i].x, left[i].y -= sums[i].y;
    left[i].z -= sums[i].z, left[i].w -= sums[i].w;
    room.four(col + i, row) = left[i];
  }
}

// The tiles of a thread, 4 x 4 elements each, of the columns beyond the next 8. Those of the
// triangle come first, counted from its last rows and columns on, so that what is left of it are
// the first of them, whatever has been factored: a thread has one of them at most. Then come those
// of the rows below, column after column. The last threads have the first tiles, since they have no
// row to solve.
class PanelTiles {
 public:
  __device__ __forceinline__ PanelTiles(int rows, int tid)
      : index_(panel_threads - 1 - tid),
        fours_(rows / 4),
        inverse_(rows == 0 ? 0.0f : 4.0f / static_cast<float>(rows)) {
    const int u = triangle_row(index_), v = index_ - triangle_tiles(u);
    constexpr int last = panel_columns - 4;
    row_ = last - 4 * v;
    col_ = last - 4 * u;
  }
  // What they take from the 8 columns from `first` on.
  __device__ __forceinline__ void update(const PanelRoom& room, int first) const {
    const int begin = first + 2 * at_once, groups = (panel_columns - begin) / 4;
    const int in_triangle = triangle_tiles(groups), all = in_triangle + groups * fours_;
#pragma unroll 1
    for (int at = index_; at < all; at += panel_threads) {
      const int below = at - in_triangle;
      // Exact, for numbers of a few thousand.
      const int group = static_cast<int>((static_cast<float>(below) + 0.5f) * inverse_);
      const int row = below < 0 ? row_ : panel_columns + 4 * (below - group * fours_);
      update_tile(room, first, row, below < 0 ? col_ : begin + 4 * group);
    }
  }

 private:
  int index_, row_, col_, fours_;
  float inverse_;
};
static_assert(triangle_tiles(panel_columns / 4 - 4) <= panel_threads);

// What the 8 columns that are factored next take from the 8 from `first` on: a tile a thread.
__device__ __forceinline__ void update_next(const PanelRoom& room, int first, int height, int tid) {
  static_assert(2 * (panel_columns + panel_most_rows) / 4 <= panel_threads);
  const int next = first + at_once, row = next + tid / 2 * 4, col = next + tid % 2 * 4;
  if (next < panel_columns && row >= col && row < height) update_tile(room, first, row, col);
}

// By 16 bytes but for those on the diagonal, where lines allow it.
__device__ __forceinline__ void store_triangle(const PanelRoom& room, const PanelCall& call,
                                               int tid) {
  const CholeskyPanel& p = call.panel;
  const bool by_rows = p.row_step != 1;
  constexpr int fours = panel_columns / 4, step = panel_threads / fours;
  const int inner = tid % fours * 4;
  for (int outer = tid / fours; outer < p.size; outer += step) {
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      v[i] = by_rows ? room.column(inner + i)[outer] : room.column(outer)[inner + i];
    float* const to = p.a + outer * (by_rows ? p.row_step : p.col_step) + inner;
    const int begin = by_rows ? 0 : outer, end = by_rows ? outer + 1 : p.size;
    if (call.by_16 && inner >= begin && inner + 4 <= end) {
      *reinterpret_cast<float4*>(to) = make_float4(v[0], v[1], v[2], v[3]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (inner + i >= begin && inner + i < end) to[i] = v[i];
      }
    }
  }
}

__global__ void __launch_bounds__(panel_threads) cholesky_panel_kernel(const PanelCall call) {
  const CholeskyPanel& p = call.panel;
  const PanelRoom room(gpu::dynamic_shared<float>(), call.rows);
  const int tid = static_cast<int>(threadIdx.x), height = panel_columns + call.rows;
  wait_for_previous_kernel();
  if (p.first != 0 && *p.info != 0) return;
  copy_panel(room, call, tid);
  async_commit();
  const PanelRows rows(call);
  const PanelTiles tiles(call.rows, tid);
  if (tid == 0) *room.failed = -1;
  async_wait<0>();
  __syncthreads();
  unsigned taken = 0;
  if (tid == panel_threads - 1 && gridDim.x > 1)
    taken = take_ticket(call.ticket);  // the block has read the triangle
  int failed = -1;
#pragma unroll 1
  for (int first = 0; first < p.size && failed < 0; first += at_once) {
    const int row = first + tid;
    const bool is_there = row < height;
    float x[at_once];
    int unfit = -1;
    if (row - tid % warp_lanes < height) unfit = factor(room, first, is_there ? row : first, x);
    if (first > 0) tiles.update(room, first - at_once);
    __syncthreads();  // all have read the square
    if (is_there && unfit < 0) {
#pragma unroll
      for (int j = 0; j < at_once; ++j) room.column(first + j)[row] = x[j];
      if (row >= panel_columns && rows.has(row)) store_row(x, call, rows.at(row, first));
    }
    if (tid == 0 && unfit >= 0) *room.failed = first + unfit;
    __syncthreads();
    failed = *room.failed;
    update_next(room, first, height, tid);
    __syncthreads();
  }
  let_next_kernel_start();
  if (tid == panel_threads - 1) {
    const bool is_last = taken + 1 == gridDim.x;
    if (is_last && gridDim.x > 1) *call.ticket = 0;
    *room.is_last = is_last ? 1 : 0;
  }
  __syncthreads();
  if (*room.is_last == 0) return;
  if (tid == 0 && (failed >= 0 || p.first == 0))
    *p.info = failed < 0 ? 0 : static_cast<int>(p.first) + failed + 1;
  if (failed < 0) store_triangle(room, call, tid);
}

}  // namespace

// As measured on an H200: 17 us without a row below, 24 with 32 rows, 35 with 128, 50 with 256.
double cholesky_panel_us(const CholeskyPanel& panel, const Device& device) {
  const double rows = panel_rows_for(panel.below, device);
  const double rounds = std::max(
      1.0, std::ceil(static_cast<double>(panel.below) / (std::max(rows, 1.0) * device.sm_count)));
  const double squares = ceil_div(panel.size, at_once);
  return 6 + rounds * squares * (rows == 0 ? 0.72 : 1.0 + rows / 160);
}

Status launch_cholesky_panel(const CholeskyPanel& panel, unsigned* ticket, const Device& device,
                             Stream stream) {
  const int rows = panel_rows_for(panel.below, device);
  const std::int64_t blocks = rows == 0 ? 1 : ceil_div(panel.below, std::int64_t{rows});
  const std::int64_t line_step = panel.row_step == 1 ? panel.col_step : panel.row_step;
  const bool by_16 = line_step % 4 == 0 && reinterpret_cast<std::uintptr_t>(panel.a) % 16 == 0;
  return gpu::launch(cholesky_panel_kernel,
                     {.grid = dim3(static_cast<unsigned>(blocks)),
                      .block = dim3(panel_threads),
                      .shared_bytes = panel_shared_bytes(rows),
                      .stream = stream,
                      .overlap = true},
                     PanelCall{panel, rows, by_16, ticket});
}

}  // namespace KW_TARGET
