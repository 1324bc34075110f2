// The end of a tile of the split kernels: undo the scaling, add what the pieces could not hold,
// then C = alpha * sums + beta * C.
#pragma once

#include "device/async_copy.hpp"
#include "device/cache_hint.hpp"
#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/control.hpp"
#include "sgemm/hopper/scheduler.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/split_arithmetic.hpp"

namespace KW_TARGET::hopper {

__device__ __forceinline__ bool comes_before(const Outlier& x, const Outlier& y) {
  if (x.operand != y.operand) return x.operand < y.operand;
  if (x.entry != y.entry) return x.entry < y.entry;
  if (x.row != y.row) return x.row < y.row;
  return x.k < y.k;
}

// The list was written in no particular order; added in one order it gives the same bits always.
// For `threads` threads, `tid` among them, which meet afterwards. Out of line: with its loops in
// the kernel, the compiler computes the addresses of the products in each thread, 7 % of fp16x3's
// time.
[[gnu::noinline]] __device__ inline void sort_residuals(const Control& control, Outlier* sorted,
                                                        unsigned tid, unsigned threads) {
  const unsigned count = control.outlier_count;
  for (unsigned i = tid; i < count; i += threads) {
    const Outlier own = control.outliers[i];
    unsigned rank = 0;
    for (unsigned other = 0; other < count; ++other)
      rank += comes_before(control.outliers[other], own) ? 1 : 0;
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

// The part of a tile that one thread holds, as wgmma hands it out of an image of B whose columns
// are in column_place's order: rows `row` + row_of(h, i), columns `column` + column_of(i) in
// sums[h][i].
template <int halves, int bn>
struct Fragment {
  float (&sums)[halves][bn / 2];
  int entry, row, column, lane;

  __device__ __forceinline__ static constexpr int row_of(int h, int i) {
    return 64 * h + 8 * (i / 2 % 2);
  }
  __device__ __forceinline__ static constexpr int column_of(int i) {
    return i / 8 * 16 + i / 4 % 2 * 2 + i % 2;
  }
  // Calls body(sum, i, j) for every element, row + i and column + j of the product.
  template <class Body>
  __device__ __forceinline__ void each(Body body) {
#pragma unroll
    for (int h = 0; h < halves; ++h)
#pragma unroll
      for (int i = 0; i < bn / 2; ++i) body(sums[h][i], row_of(h, i), column_of(i));
  }
  __device__ __forceinline__ int row_scale(const WarpScales<halves, bn>& scales, int i) const {
    return scales.rows[i / 64 * 16 + i % 64 + lane / 4];
  }
  __device__ __forceinline__ int column_scale(const WarpScales<halves, bn>& scales, int j) const {
    return scales.columns[lane % 4 * 4 + j];
  }
};

// A's outliers meet all of B, B's those elements of A that are none.
template <int halves, int bn>
__device__ __forceinline__ void add_residuals(const Work& work, Fragment<halves, bn> own,
                                              const WarpScales<halves, bn>& scales,
                                              const Outlier* outliers) {
  const Sgemm& p = work.problem;
  const int rows_left = static_cast<int>(p.m) - own.row;
  const int columns_left = static_cast<int>(p.n) - own.column;
  const std::int64_t a_step = p.op_a == Op::none ? p.lda : 1;
  const std::int64_t b_step = p.op_b == Op::none ? 1 : p.ldb;
  const float* const a = a_of(p, own.entry) + own.row * a_step;
  const float* const b = b_of(p, own.entry) + own.column * b_step;
  const unsigned count = work.control->outlier_count;
  for (unsigned n = 0; n < count; ++n) {
    const Outlier outlier = outliers[n];
    if (outlier.entry != own.entry) continue;
    if (outlier.operand == 0) {
      const int row = outlier.row - own.row;
      const float* const partners = b + outlier.k * (p.op_b == Op::none ? p.ldb : 1);
      own.each([&](float& sum, int i, int j) {
        if (i == row && j < columns_left) sum = fmaf(outlier.x, partners[j * b_step], sum);
      });
    } else {
      const int column = outlier.row - own.column;
      const float* const partners = a + outlier.k * (p.op_a == Op::none ? 1 : p.lda);
      own.each([&](float& sum, int i, int j) {
        if (j != column || i >= rows_left) return;
        const float partner = partners[i * a_step];
        if (split::fp16_holds(partner, own.row_scale(scales, i)))
          sum = fmaf(partner, outlier.x, sum);
      });
    }
  }
}

// C = alpha * sums + beta * C, in two forms, both without branches between the elements: a tile's
// end is fetched cold, and with a choice at every pair its 2500 instructions took 6 us.
struct Scaling {
  float alpha, beta;

  __device__ __forceinline__ explicit Scaling(const Sgemm& p)
      : alpha(p.alpha_at != nullptr ? *p.alpha_at : p.alpha),
        beta(p.beta_at != nullptr ? *p.beta_at : p.beta) {}
};

// Where C has all of the warp's rows and columns, in rows of 16 bytes.
template <bool reads_c, int halves, int bn>
__device__ __forceinline__ void store_fours(Fragment<halves, bn> own, float* c, std::int64_t ldc,
                                            const Scaling& by) {
#pragma unroll
  for (int h = 0; h < halves; ++h) {
#pragma unroll
    for (int i = 0; i < bn / 2; i += i % 4 == 0 ? 2 : 6) {
      const float* const sums = &own.sums[h][i];
      auto* const at = reinterpret_cast<float4*>(c + own.row_of(h, i) * ldc + own.column_of(i));
      float4 x = make_float4(by.alpha * sums[0], by.alpha * sums[1], by.alpha * sums[4],
                             by.alpha * sums[5]);
      if constexpr (reads_c) {
        const float4 before = *at;
        x.x = fmaf(by.beta, before.x, x.x), x.y = fmaf(by.beta, before.y, x.y);
        x.z = fmaf(by.beta, before.z, x.z), x.w = fmaf(by.beta, before.w, x.w);
      }
      store_once(at, x);
    }
  }
}

// Anywhere: of the elements `rows` x `columns` are within C.
template <int halves, int bn>
__device__ __forceinline__ void store_ones(Fragment<halves, bn> own, float* c, std::int64_t ldc,
                                           const Scaling& by, int rows, int columns) {
  own.each([&](float& sum, int i, int j) {
    if (i >= rows || j >= columns) return;
    float* const at = c + i * ldc + j;
    const float x = by.alpha * sum;
    *at = by.beta != 0 ? fmaf(by.beta, *at, x) : x;
  });
}

template <int halves, int bn>
__device__ __forceinline__ void store(const Work& work, Fragment<halves, bn> own) {
  const Sgemm& p = work.problem;
  const Scaling by(p);
  float* const c = c_of(p, own.entry) + own.row * p.ldc + own.column;
  const int rows = static_cast<int>(p.m) - own.row, columns = static_cast<int>(p.n) - own.column;
  const int lane_row = own.lane / 4, lane_column = own.lane % 4 * 4;
  const bool in_fours = p.ldc % 4 == 0 && reinterpret_cast<std::uintptr_t>(c) % 16 == 0;
  if (!in_fours || rows + lane_row < 64 * (halves - 1) + 16 || columns + lane_column < bn)
    store_ones(own, c, p.ldc, by, rows, columns);
  else if (by.beta == 0)
    store_fours<false>(own, c, p.ldc, by);
  else
    store_fours<true>(own, c, p.ldc, by);
}

// What a thread of a warpgroup holds of a tile; `row`: where in it the warpgroup's rows begin.
template <int halves, int bn>
__device__ __forceinline__ Fragment<halves, bn> fragment(const Place& place, int row, int thread,
                                                         float (&sums)[halves][bn / 2]) {
  return {sums, static_cast<int>(place.entry),
          static_cast<int>(place.i0) + row + thread / 32 * 16 + thread % 32 / 4,
          static_cast<int>(place.j0) + thread % 4 * 4, thread % 32};
}

// Sums of scaled pieces: the scaling undone, outliers added.
template <int halves, int bn>
__device__ __forceinline__ void unscale(const Work& work, Fragment<halves, bn> own,
                                        const WarpScales<halves, bn>& scales,
                                        const Outlier* outliers) {
  own.each([&](float& sum, int i, int j) {
    sum = split::scale(sum, -(own.row_scale(scales, i) + own.column_scale(scales, j)));
  });
  if (work.control->outlier_count > 0) add_residuals(work, own, scales, outliers);
}

}  // namespace KW_TARGET::hopper
