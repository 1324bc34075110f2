// The end of a tile of the split kernels: undo the scaling, add what the pieces could not hold,
// then C = alpha * sums + beta * C.
#pragma once

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

// The part of a tile that one thread holds, as wgmma hands it out: rows `row` + 64 * h + 8 * r,
// columns `column` + 8 * i + c, in sums[h][4 * i + 2 * r + c].
template <int halves, int bn>
struct Fragment {
  float (&sums)[halves][bn / 2];
  std::int64_t entry, row, column;

  // Calls body(sum, i, j) for every element, row + i and column + j of the product.
  template <class Body>
  __device__ __forceinline__ void each(Body body) {
#pragma unroll
    for (int h = 0; h < halves; ++h)
#pragma unroll
      for (int i = 0; i < bn / 2; ++i)
        body(sums[h][i], 64 * h + 8 * (i / 2 % 2), 8 * (i / 4) + i % 2);
  }
};

template <int halves, int bn>
__device__ __forceinline__ void unscale(const Work& work, Fragment<halves, bn> own) {
  const Sgemm& p = work.problem;
  const int* const rows = work.scales_a + own.entry * p.m + own.row;
  const int* const columns = work.scales_b + own.entry * p.n + own.column;
  const std::int64_t rows_left = p.m - own.row, columns_left = p.n - own.column;
  own.each([&](float& sum, int i, int j) {
    if (i < rows_left && j < columns_left) sum = split::scale(sum, -(rows[i] + columns[j]));
  });
}

// A's residuals meet all of B, B's those elements of A that are none.
template <int halves, int bn>
__device__ __forceinline__ void add_residuals(const Work& work, Fragment<halves, bn> own,
                                              const Residual* residuals) {
  const Sgemm& p = work.problem;
  const std::int64_t rows_left = p.m - own.row, columns_left = p.n - own.column;
  const std::int64_t a_step = p.op_a == Op::none ? p.lda : 1;
  const std::int64_t b_step = p.op_b == Op::none ? 1 : p.ldb;
  const float* const a = a_of(p, own.entry) + own.row * a_step;
  const float* const b = b_of(p, own.entry) + own.column * b_step;
  const int* const scales = work.scales_a + own.entry * p.m + own.row;
  const unsigned count = work.control->residual_count;
  for (unsigned n = 0; n < count; ++n) {
    const Residual residual = residuals[n];
    if (residual.entry != own.entry) continue;
    if (residual.operand == 0) {
      const std::int64_t row = residual.row - own.row;
      const float* const partners = b + residual.k * (p.op_b == Op::none ? p.ldb : 1);
      own.each([&](float& sum, int i, int j) {
        if (i == row && j < columns_left) sum = fmaf(residual.x, partners[j * b_step], sum);
      });
    } else {
      const std::int64_t column = residual.row - own.column;
      const float* const partners = a + residual.k * (p.op_a == Op::none ? 1 : p.lda);
      own.each([&](float& sum, int i, int j) {
        if (j != column || i >= rows_left) return;
        const float partner = partners[i * a_step];
        if (split::fp16_holds(partner, scales[i])) sum = fmaf(partner, residual.x, sum);
      });
    }
  }
}

// c[0], c[1] = alpha * (x, y) + beta * c, of which `columns` are within C.
__device__ __forceinline__ void store_pair(float* c, float x, float y, float alpha, float beta,
                                           bool in_twos, std::int64_t columns) {
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

// With `scaled` the sums' scales are undone on the way: the columns' are read as they come, since
// all at once would not fit beside the sums.
template <bool scaled, int halves, int bn>
__device__ __forceinline__ void store(const Work& work, Fragment<halves, bn> own) {
  const Sgemm& p = work.problem;
  const float alpha = p.alpha_at != nullptr ? *p.alpha_at : p.alpha;
  const float beta = p.beta_at != nullptr ? *p.beta_at : p.beta;
  float* const c = c_of(p, own.entry) + own.row * p.ldc + own.column;
  const bool in_twos = p.ldc % 2 == 0 && reinterpret_cast<std::uintptr_t>(c) % 8 == 0;
  const auto row_at = [](int r) { return r / 2 * 64 + r % 2 * 8; };
  int rows[2 * halves] = {};
  if constexpr (scaled) {
#pragma unroll
    for (int r = 0; r < 2 * halves; ++r) {
      const std::int64_t i = own.row + row_at(r);
      if (i < p.m) rows[r] = work.scales_a[own.entry * p.m + i];
    }
  }
  const int* const scales = work.scales_b + own.entry * p.n + own.column;
#pragma unroll
  for (int group = 0; group < bn / 8; ++group) {
    const std::int64_t left = p.n - own.column - 8 * group;
    if (left <= 0) break;
    int columns[2] = {};
    if constexpr (scaled) {
      columns[0] = scales[8 * group];
      if (left > 1) columns[1] = scales[8 * group + 1];
    }
#pragma unroll
    for (int r = 0; r < 2 * halves; ++r) {
      if (own.row + row_at(r) >= p.m) break;
      float x = own.sums[r / 2][4 * group + r % 2 * 2];
      float y = own.sums[r / 2][4 * group + r % 2 * 2 + 1];
      if constexpr (scaled) {
        x = split::scale(x, -(rows[r] + columns[0]));
        y = split::scale(y, -(rows[r] + columns[1]));
      }
      store_pair(c + row_at(r) * p.ldc + 8 * group, x, y, alpha, beta, in_twos, left);
    }
  }
}

// `row`: where in the tile this warpgroup's rows begin.
template <bool scaled, int halves, int bn>
__device__ __forceinline__ void store_tile(const Work& work, const Place& place, int row,
                                           int thread, float (&sums)[halves][bn / 2],
                                           const Residual* residuals) {
  const Fragment<halves, bn> own{sums, place.entry,
                                 place.i0 + row + thread / 32 * 16 + thread % 32 / 4,
                                 place.j0 + thread % 4 * 2};
  if (scaled && work.control->residual_count > 0) {
    unscale(work, own);
    add_residuals(work, own, residuals);
    store<false>(work, own);
  } else {
    store<scaled>(work, own);
  }
}

}  // namespace KW_TARGET::hopper
