// What fp16x3 does with the sums of a tile: undo the powers of two by which rows and columns were
// scaled, and add the products of the outliers, which the pieces could not hold.
#pragma once

#include <bit>
#include <cstdint>

#include "device/async_copy.hpp"
#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/outlier_products.hpp"
#include "sgemm/hopper/output_fragment.hpp"
#include "sgemm/hopper/params.hpp"
#include "sgemm/split_arithmetic.hpp"

namespace KW_TARGET::hopper {

// The powers of two by which a warp's rows and columns of a tile were scaled. They come into shared
// memory while the products are computed: read from memory between the stores of C, each load would
// wait behind them.
template <int blocks, int bn>
struct WarpScales {
  static constexpr int rows_per_block = 16;
  int rows[blocks * rows_per_block];
  alignas(16) int columns[bn];

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
  // The scales of row + i, and of four columns from column + j on, of a lane's OutputFragment.
  __device__ __forceinline__ int of_row(int lane, int i) const {
    return rows[i / 64 * 16 + i % 64 + lane / 4];
  }
  __device__ __forceinline__ int4 of_four_columns(int lane, int j) const {
    return *reinterpret_cast<const int4*>(&columns[lane % 4 * 4 + j]);
  }
  // For bn floats, once the columns' scales have been used.
  __device__ __forceinline__ float* room() { return reinterpret_cast<float*>(columns); }
};

// Turns the sums of scaled pieces into those of the elements. Where pieces_hold (control.hpp), the
// scales of a row and a column add up to the exponent of a float: products of their elements lie
// between 2^-100 and 2^125. A factor's bits take one instruction: a tile's end is fetched cold, and
// tensor cores wait for it.
template <bool triangular, int blocks, int bn>
__device__ __forceinline__ void unscale(const ProductParams& params, OutputFragment<blocks, bn> own,
                                        WarpScales<blocks, bn>& scales, bool has_outliers) {
  constexpr std::uint32_t bias = 127, one = 1u << 23;  // of an exponent in a float's bits
  const auto bits = [](int exponent) { return static_cast<std::uint32_t>(exponent) * one; };
  own.each_four([&](int i, int j, float& x, float& y, float& z, float& w) {
    const std::uint32_t of_row = bias * one - bits(scales.of_row(own.lane, i));
    const int4 of_columns = scales.of_four_columns(own.lane, j);
    x *= std::bit_cast<float>(of_row - bits(of_columns.x));
    y *= std::bit_cast<float>(of_row - bits(of_columns.y));
    z *= std::bit_cast<float>(of_row - bits(of_columns.z));
    w *= std::bit_cast<float>(of_row - bits(of_columns.w));
  });
  if (has_outliers) add_outliers<triangular>(params, own, scales);
}

}  // namespace KW_TARGET::hopper
