// What fp16x3 does with the sums of a tile: undo the powers of two by which rows and columns were
// scaled, and add the products of the outliers, which the pieces could not hold.
#pragma once

#include "device/async_copy.hpp"
#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/output_fragment.hpp"
#include "sgemm/hopper/params.hpp"
#include "sgemm/split_arithmetic.hpp"

namespace KW_TARGET::hopper {

__device__ __forceinline__ bool comes_before(const Outlier& x, const Outlier& y) {
  if (x.operand != y.operand) return x.operand < y.operand;
  if (x.entry != y.entry) return x.entry < y.entry;
  if (x.row != y.row) return x.row < y.row;
  return x.k < y.k;
}

// Copies the list of outliers, which has no particular order, in one order, so that their products
// always add up to the same bits. `threads` threads, `tid` among them, call it and meet afterwards.
// Out of line: with its loops in the kernel, the compiler computes the addresses of the products in
// each thread, 7 % of fp16x3's time.
[[gnu::noinline]] __device__ inline void sort_outliers(const Control& control, unsigned count,
                                                       Outlier* sorted, unsigned tid,
                                                       unsigned threads) {
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
template <int blocks, int bn>
struct WarpScales {
  static constexpr int rows_per_block = 16;
  int rows[blocks * rows_per_block], columns[bn];

  // Of 16 rows from `row` on, those 64 below, and `bn` columns from `column` on.
  __device__ __forceinline__ void fetch(const ProductParams& params, std::int64_t entry,
                                        std::int64_t row, std::int64_t column, int lane) {
    __syncwarp();  // those of the tile before have been used
    const auto copy = [](int* to, const int* from, bool is_there) {
      async_copy<4>(reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from),
                    is_there ? 4 : 0);
    };
    const Sgemm& p = params.problem;
    for (int i = lane; i < blocks * rows_per_block; i += warp_lanes) {
      const std::int64_t at = row + i / rows_per_block * 64 + i % rows_per_block;
      copy(&rows[i], params.scales_a + entry * p.m + at, at < p.m);
    }
#pragma unroll
    for (int j = lane; j < bn; j += warp_lanes)
      copy(&columns[j], params.scales_b + entry * p.n + column + j, column + j < p.n);
    async_commit();
  }
  __device__ __forceinline__ void wait() {
    async_wait<0>();
    __syncwarp();
  }
  // The scales of row + i and column + j of a lane's OutputFragment.
  __device__ __forceinline__ int of_row(int lane, int i) const {
    return rows[i / 64 * 16 + i % 64 + lane / 4];
  }
  __device__ __forceinline__ int of_column(int lane, int j) const {
    return columns[lane % 4 * 4 + j];
  }
};

// Adds the products of A's outliers with all of B, and of B's outliers with those elements of A
// that are none.
template <int blocks, int bn>
__device__ __forceinline__ void add_outliers(const ProductParams& params,
                                             OutputFragment<blocks, bn> own,
                                             const WarpScales<blocks, bn>& scales,
                                             const Outlier* outliers, unsigned count) {
  const Sgemm& p = params.problem;
  const int rows_left = static_cast<int>(p.m) - own.row;
  const int columns_left = static_cast<int>(p.n) - own.column;
  const std::int64_t a_step = p.op_a == Op::none ? p.lda : 1;
  const std::int64_t b_step = p.op_b == Op::none ? 1 : p.ldb;
  const float* const a = a_of(p, own.entry) + own.row * a_step;
  const float* const b = b_of(p, own.entry) + own.column * b_step;
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
        if (split::fp16_holds(partner, scales.of_row(own.lane, i)))
          sum = fmaf(partner, outlier.x, sum);
      });
    }
  }
}

// Turns the sums of scaled pieces into those of the elements. `count`: of the outliers. Where
// pieces_hold (control.hpp), the scales of a row and a column add up to the exponent of a float:
// products of their elements lie between 2^-100 and 2^125.
template <int blocks, int bn>
__device__ __forceinline__ void unscale(const ProductParams& params, OutputFragment<blocks, bn> own,
                                        const WarpScales<blocks, bn>& scales,
                                        const Outlier* outliers, unsigned count) {
  own.each([&](float& sum, int i, int j) {
    sum *= split::power_of_two(-scales.of_row(own.lane, i) - scales.of_column(own.lane, j));
  });
  if (count > 0) add_outliers(params, own, scales, outliers, count);
}

}  // namespace KW_TARGET::hopper
