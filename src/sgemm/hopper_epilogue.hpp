// The end of a tile of the split kernels: undo the scaling, add what the pieces could not hold,
// then C = alpha * sums + beta * C.
#pragma once

#include "device/async_copy.hpp"
#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper_control.hpp"
#include "sgemm/hopper_work.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/split_arithmetic.hpp"

namespace KW_TARGET::hopper {

__device__ __forceinline__ bool comes_before(const Residual& x, const Residual& y) {
  if (x.operand != y.operand) return x.operand < y.operand;
  if (x.entry != y.entry) return x.entry < y.entry;
  if (x.row != y.row) return x.row < y.row;
  return x.k < y.k;
}

// The list was written in no particular order; added in one order it gives the same bits always.
// For the whole block, which meets afterwards.
__device__ inline void sort_residuals(const Control& control, Residual* sorted) {
  const unsigned count = control.residual_count;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
    const Residual own = control.residuals[i];
    unsigned rank = 0;
    for (unsigned other = 0; other < count; ++other)
      rank += comes_before(control.residuals[other], own) ? 1 : 0;
    sorted[rank] = own;
  }
}

// The powers of two by which a warp's rows and columns of a tile were scaled. They come into shared
// memory while the products are computed: read from memory between the stores of C, each load would
// wait behind them.
template <int halves, int bn>
struct WarpScales {
  static constexpr int rows_a_half = 16;
  int rows[halves * rows_a_half], columns[bn];

  // Of 16 rows from `row` on, those 64 below, and `bn` columns from `column` on.
  __device__ __forceinline__ void fetch(const Work& work, std::int64_t entry, std::int64_t row,
                                        std::int64_t column, int lane) {
    __syncwarp();  // those of the tile before have been used
    const auto copy = [](int* to, const int* from, bool is_there) {
      async_copy<4>(reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from),
                    is_there ? 4 : 0);
    };
    const Sgemm& p = work.problem;
    for (int i = lane; i < halves * rows_a_half; i += warp_lanes) {
      const std::int64_t at = row + i / rows_a_half * 64 + i % rows_a_half;
      copy(&rows[i], work.scales_a + entry * p.m + at, at < p.m);
    }
#pragma unroll
    for (int j = lane; j < bn; j += warp_lanes)
      copy(&columns[j], work.scales_b + entry * p.n + column + j, column + j < p.n);
    async_commit();
  }
  __device__ __forceinline__ void wait() {
    async_wait<0>();
    __syncwarp();
  }
};

// The part of a tile that one thread holds, as wgmma hands it out: rows `row` + 64 * h + 8 * r,
// columns `column` + 8 * i + c, in sums[h][4 * i + 2 * r + c].
template <int halves, int bn>
struct Fragment {
  float (&sums)[halves][bn / 2];
  int entry, row, column, lane;

  // Calls body(sum, i, j) for every element, row + i and column + j of the product.
  template <class Body>
  __device__ __forceinline__ void each(Body body) {
#pragma unroll
    for (int h = 0; h < halves; ++h)
#pragma unroll
      for (int i = 0; i < bn / 2; ++i)
        body(sums[h][i], 64 * h + 8 * (i / 2 % 2), 8 * (i / 4) + i % 2);
  }
  __device__ __forceinline__ int row_scale(const WarpScales<halves, bn>& scales, int i) const {
    return scales.rows[i / 64 * 16 + i % 64 + lane / 4];
  }
  __device__ __forceinline__ int column_scale(const WarpScales<halves, bn>& scales, int j) const {
    return scales.columns[lane % 4 * 2 + j];
  }
};

// A's residuals meet all of B, B's those elements of A that are none.
template <int halves, int bn>
__device__ __forceinline__ void add_residuals(const Work& work, Fragment<halves, bn> own,
                                              const WarpScales<halves, bn>& scales,
                                              const Residual* residuals) {
  const Sgemm& p = work.problem;
  const int rows_left = static_cast<int>(p.m) - own.row;
  const int columns_left = static_cast<int>(p.n) - own.column;
  const std::int64_t a_step = p.op_a == Op::none ? p.lda : 1;
  const std::int64_t b_step = p.op_b == Op::none ? 1 : p.ldb;
  const float* const a = a_of(p, own.entry) + own.row * a_step;
  const float* const b = b_of(p, own.entry) + own.column * b_step;
  const unsigned count = work.control->residual_count;
  for (unsigned n = 0; n < count; ++n) {
    const Residual residual = residuals[n];
    if (residual.entry != own.entry) continue;
    if (residual.operand == 0) {
      const int row = residual.row - own.row;
      const float* const partners = b + residual.k * (p.op_b == Op::none ? p.ldb : 1);
      own.each([&](float& sum, int i, int j) {
        if (i == row && j < columns_left) sum = fmaf(residual.x, partners[j * b_step], sum);
      });
    } else {
      const int column = residual.row - own.column;
      const float* const partners = a + residual.k * (p.op_a == Op::none ? 1 : p.lda);
      own.each([&](float& sum, int i, int j) {
        if (j != column || i >= rows_left) return;
        const float partner = partners[i * a_step];
        if (split::fp16_holds(partner, own.row_scale(scales, i)))
          sum = fmaf(partner, residual.x, sum);
      });
    }
  }
}

// c[0], c[1] = alpha * (x, y) + beta * c, of which `columns` are within C.
__device__ __forceinline__ void store_pair(float* c, float x, float y, float alpha, float beta,
                                           bool in_twos, int columns) {
  x *= alpha;
  y *= alpha;
  if (in_twos && columns >= 2) {
    if (beta != 0) {
      const float2 before = *reinterpret_cast<const float2*>(c);
      x = fmaf(beta, before.x, x);
      y = fmaf(beta, before.y, y);
    }
    *reinterpret_cast<float2*>(c) = make_float2(x, y);
  } else {
    if (columns >= 1) c[0] = beta != 0 ? fmaf(beta, c[0], x) : x;
    if (columns >= 2) c[1] = beta != 0 ? fmaf(beta, c[1], y) : y;
  }
}

template <int halves, int bn>
__device__ __forceinline__ void store(const Work& work, Fragment<halves, bn> own) {
  const Sgemm& p = work.problem;
  const float alpha = p.alpha_at != nullptr ? *p.alpha_at : p.alpha;
  const float beta = p.beta_at != nullptr ? *p.beta_at : p.beta;
  float* const c = c_of(p, own.entry) + own.row * p.ldc + own.column;
  const bool in_twos = p.ldc % 2 == 0 && reinterpret_cast<std::uintptr_t>(c) % 8 == 0;
  const auto row_at = [](int r) { return r / 2 * 64 + r % 2 * 8; };
#pragma unroll
  for (int group = 0; group < bn / 8; ++group) {
    const int left = static_cast<int>(p.n) - own.column - 8 * group;
    if (left <= 0) break;
#pragma unroll
    for (int r = 0; r < 2 * halves; ++r) {
      if (own.row + row_at(r) >= p.m) break;
      const float* const pair = &own.sums[r / 2][4 * group + r % 2 * 2];
      store_pair(c + row_at(r) * p.ldc + 8 * group, pair[0], pair[1], alpha, beta, in_twos, left);
    }
  }
}

// What a thread of a warpgroup holds of a tile; `row`: where in it the warpgroup's rows begin.
template <int halves, int bn>
__device__ __forceinline__ Fragment<halves, bn> fragment(const Place& place, int row, int thread,
                                                         float (&sums)[halves][bn / 2]) {
  return {sums, static_cast<int>(place.entry),
          static_cast<int>(place.i0) + row + thread / 32 * 16 + thread % 32 / 4,
          static_cast<int>(place.j0) + thread % 4 * 2, thread % 32};
}

// Sums of scaled pieces: the scaling undone, residuals added.
template <int halves, int bn>
__device__ __forceinline__ void unscale(const Work& work, Fragment<halves, bn> own,
                                        const WarpScales<halves, bn>& scales,
                                        const Residual* residuals) {
  own.each([&](float& sum, int i, int j) {
    sum = split::scale(sum, -(own.row_scale(scales, i) + own.column_scale(scales, j)));
  });
  if (work.control->residual_count > 0) add_residuals(work, own, scales, residuals);
}

}  // namespace KW_TARGET::hopper
