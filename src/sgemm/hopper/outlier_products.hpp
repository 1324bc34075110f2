// The products of outliers (outliers.hpp), which fp16x3's epilogue adds to the sums of a tile. What
// they are multiplied by is read where the caller stores it: much of it before the first is added,
// since each read is of memory or L2.
#pragma once

#include "device/async_copy.hpp"
#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/output_fragment.hpp"
#include "sgemm/hopper/params.hpp"
#include "sgemm/hopper/stored_operand.hpp"
#include "sgemm/split_arithmetic.hpp"

namespace KW_TARGET::hopper {

// A warp's part of a tile, and what outliers of it are multiplied by.
template <bool triangular, int blocks, int bn>
class OutlierProducts {
 public:
  __device__ __forceinline__ OutlierProducts(const ProductParams& params,
                                             OutputFragment<blocks, bn> own)
      : p_(params.problem),
        own_(own),
        first_row_(own.row - own.lane / 4),
        first_column_(own.column - own.lane % 4 * 4) {}

  // Of some of A's outliers, one a lane, with all of B. `row_of_b`: room for bn floats.
  __device__ __forceinline__ void add_of_a(const Outlier& held, int count, float* row_of_b) {
    const bool is_own =
        own_.lane < count && static_cast<unsigned>(held.row - first_row_) % block_rows < 16;
    auto left = static_cast<std::uint32_t>(__ballot_sync(whole_warp(), is_own ? 1 : 0));
    while (left != 0) {
      const int first = __ffs(static_cast<int>(left)) - 1;
      left &= left - 1;
      const Outlier outlier = from_lane(held, first);
      __syncwarp();  // the row before has been used
      fetch_row_of_b(outlier.k, row_of_b);
      __syncwarp();
      add_row(outlier, row_of_b + own_.lane % 4 * 4);
    }
  }

  // Of some of B's outliers with those elements of A that are none.
  template <class Scales>
  __device__ __forceinline__ void add_of_b(const Outlier& held, int count, const Scales& scales) {
    constexpr int at_once = 2, halves = 2, rows = warp_lanes / halves;
    for (int first = 0; first < count; first += at_once) {
      float partners[at_once / halves][blocks];
#pragma unroll
      for (int pair = 0; pair < at_once / halves; ++pair) {
        const int n = first + pair * halves + own_.lane / rows;
        const std::int64_t k = from_lane(held.k, n % warp_lanes);
#pragma unroll
        for (int h = 0; h < blocks; ++h) {
          const int row = first_row_ + 64 * h + own_.lane % rows;
          partners[pair][h] = n < count && row < p_.m ? element_of_a(row, k) : 0.0f;
        }
      }
#pragma unroll
      for (int n = 0; n < at_once; ++n) {
        if (first + n >= count) break;
        add_column(from_lane(held, first + n), partners[n / halves], n % halves * rows, scales);
      }
    }
  }

 private:
  // The elements in the tile's columns; zeros beyond the matrix.
  __device__ __forceinline__ void fetch_row_of_b(std::int64_t k, float* to) const {
    if constexpr (triangular) {
      const auto b = stored_operand<true>(p_, 1, own_.entry);
      for (int column = own_.lane; column < bn; column += warp_lanes)
        to[column] = first_column_ + column < p_.n ? b.element(first_column_ + column, k) : 0.0f;
      return;
    }
    const std::int64_t step = p_.op_b == Op::none ? 1 : p_.ldb;
    const float* const row =
        b_of(p_, own_.entry) + first_column_ * step + k * (p_.op_b == Op::none ? p_.ldb : 1);
    for (int column = own_.lane; column < bn; column += warp_lanes)
      async_copy<4>(&to[column], row + column * step, first_column_ + column < p_.n ? 4 : 0);
    async_commit();
    async_wait<0>();
  }

  __device__ __forceinline__ float element_of_a(std::int64_t row, std::int64_t k) const {
    if constexpr (triangular) return stored_operand<true>(p_, 0, own_.entry).element(row, k);
    return a_of(p_, own_.entry)[p_.op_a == Op::none ? row * p_.lda + k : row + k * p_.lda];
  }

  // `partners`: of the columns from this lane's first on.
  __device__ __forceinline__ void add_row(const Outlier& outlier, const float* partners) {
    const int row = outlier.row - own_.row;
    own_.each([&](float& sum, int i, int j) {
      if (i == row) sum = fmaf(outlier.x, partners[j], sum);
    });
  }

  // `partners`: of 16 rows of A, in the lanes from `from` on.
  template <class Scales>
  __device__ __forceinline__ void add_column(const Outlier& outlier,
                                             const float (&partners)[blocks], int from,
                                             const Scales& scales) {
    const int column = outlier.row - own_.column;
    if (static_cast<unsigned>(outlier.row - first_column_) >= bn) return;
#pragma unroll
    for (int h = 0; h < blocks; ++h) {
      float partner[2];
#pragma unroll
      for (int half = 0; half < 2; ++half)
        partner[half] = from_lane(partners[h], from + own_.lane / 4 + 8 * half);
      own_.each([&](float& sum, int i, int j) {
        if (i / 64 != h || j != column) return;
        const float own = partner[i % 64 / 8];
        if (split::fp16_holds(own, scales.of_row(own_.lane, i))) sum = fmaf(own, outlier.x, sum);
      });
    }
  }

  const Sgemm& p_;
  OutputFragment<blocks, bn> own_;
  int first_row_, first_column_;
};

// All of a tile, for a warp.
template <bool triangular, int blocks, int bn, class Scales>
__device__ __forceinline__ void add_outliers(const ProductParams& params,
                                             OutputFragment<blocks, bn> own, Scales& scales) {
  OutlierProducts<triangular, blocks, bn> products(params, own);
  const int row = own.row - own.lane / 4, column = own.column - own.lane % 4 * 4;
  each_outliers(
      params.outliers_a, own.entry, row / block_rows, row / block_rows + blocks, own.lane,
      [&](const Outlier& held, int count) { products.add_of_a(held, count, scales.room()); });
  each_outliers(params.outliers_b, own.entry, column / block_rows,
                (column + bn - 1) / block_rows + 1, own.lane,
                [&](const Outlier& held, int count) { products.add_of_b(held, count, scales); });
}

}  // namespace KW_TARGET::hopper
