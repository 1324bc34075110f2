// The epilogue of a tile: C = alpha * sums, stored in one of two forms, of which one choice is made
// for all elements. Instances of their own do to the sums first what is asked beyond that
// (finish.hpp). A tile's end is fetched cold: with a choice at every pair its 2500 instructions
// take 6 us.
#pragma once

#include "device/cache_hint.hpp"
#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/finish.hpp"
#include "sgemm/hopper/output_fragment.hpp"
#include "sgemm/hopper/params.hpp"

namespace KW_TARGET::hopper {

// Where C has all of the warp's rows and columns, in rows of 16 bytes.
template <int blocks, int bn>
__device__ __forceinline__ void store_fours(OutputFragment<blocks, bn> own, float* c,
                                            std::int64_t ldc, float alpha) {
  own.each_four([&](int i, int j, float x, float y, float z, float w) {
    store_once(reinterpret_cast<float4*>(c + i * ldc + j),
               make_float4(alpha * x, alpha * y, alpha * z, alpha * w));
  });
}

// Four elements of a row, and the three before them.
struct Window {
  float x[7];

  // The four that begin `back` (0 to 3) elements before the last four.
  __device__ __forceinline__ float4 four(int back) const {
    float y[7];
#pragma unroll
    for (int i = 1; i < 7; ++i) y[i] = back % 2 != 0 ? x[i - 1] : x[i];
    const bool by_two = back / 2 != 0;
    return make_float4(by_two ? y[1] : y[3], by_two ? y[2] : y[4], by_two ? y[3] : y[5],
                       by_two ? y[4] : y[6]);
  }
};

// Stores those of a row's four elements from column j on that lie between `first` and `end`.
__device__ __forceinline__ void store_some(float* row, int j, int first, int end, float4 four) {
  if (j >= first && j < end) row[j] = four.x;
  if (j + 1 >= first && j + 1 < end) row[j + 1] = four.y;
  if (j + 2 >= first && j + 2 < end) row[j + 2] = four.z;
  if (j + 3 >= first && j + 3 < end) row[j + 3] = four.w;
}

// Anywhere. Single elements take four times the stores, of 4 bytes in each sector of 32. So each
// lane gets from its left neighbour what lies between an aligned address and its own four elements,
// and all but the ends of a row are stored in rows of 16 bytes. Columns of the tile count from the
// lane's first. All lanes of the warp call it.
template <int blocks, int bn>
__device__ __forceinline__ void store_shifted(OutputFragment<blocks, bn> own, float* c,
                                              std::int64_t ldc, float alpha, int rows,
                                              int columns) {
  const int q = own.lane % 4, first = -4 * q;
#pragma unroll
  for (int line = 0; line < 2 * blocks; ++line) {
    const int h = line / 2, i0 = line % 2 * 2;
    float* const row = c + own.row_of(h, i0) * ldc;
    const int end = own.row_of(h, i0) >= rows ? first : columns < bn + first ? columns : bn + first;
    const int back = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) / sizeof(float) % 4);
    float4 before = make_float4(0, 0, 0, 0);  // the lane's own four, 16 columns to the left
#pragma unroll
    for (int j = 0; j <= bn; j += 16) {
      float4 x = make_float4(0, 0, 0, 0);
      if (j < bn) {
        const float* const sums = &own.sums[h][j / 2 + i0];
        x = make_float4(alpha * sums[0], alpha * sums[1], alpha * sums[4], alpha * sums[5]);
      }
      const auto from_left = [&](float here, float left) {
        return from_lane(q == 3 ? left : here, own.lane - q + (q + 3) % 4);
      };
      const Window window = {from_left(x.y, before.y),
                             from_left(x.z, before.z),
                             from_left(x.w, before.w),
                             x.x,
                             x.y,
                             x.z,
                             x.w};
      const float4 four = window.four(back);
      const int at = j - back;
      if (at >= first && at + 4 <= end)
        store_once(reinterpret_cast<float4*>(row + at), four);
      else if (at < end)
        store_some(row, at, first, end, four);
      before = x;
    }
  }
}

// Where in C a lane's part of a tile lies.
struct TilePlace {
  float* c;
  int rows, columns;  // of C from there on
  bool stores_fours;  // C has all rows and columns of the part, in rows of 16 bytes

  template <int blocks, int bn>
  __device__ __forceinline__ TilePlace(const Sgemm& p, const OutputFragment<blocks, bn>& own)
      : c(c_of(p, own.entry) + own.row * p.ldc + own.column),
        rows(static_cast<int>(p.m) - own.row),
        columns(static_cast<int>(p.n) - own.column) {
    const int lane_row = own.lane / 4, lane_column = own.lane % 4 * 4;
    const bool in_fours = p.ldc % 4 == 0 && reinterpret_cast<std::uintptr_t>(c) % 16 == 0;
    const bool is_whole = rows + lane_row >= 64 * (blocks - 1) + 16 && columns + lane_column >= bn;
    stores_fours = in_fours && is_whole;
  }
};

// `finishes`: C or a source is read, or the call has an epilogue.
template <bool finishes, int blocks, int bn>
__device__ __forceinline__ void store(const ProductParams& params, OutputFragment<blocks, bn> own) {
  const Sgemm& p = params.problem;
  float alpha = p.alpha_at != nullptr ? *p.alpha_at : p.alpha;
  if constexpr (finishes) {
    const float beta = p.beta_at != nullptr ? *p.beta_at : p.beta;
    const Finish finish(p, own.entry, own.row, own.column, alpha, beta);
    finish.apply<4>([&](const auto& body) { own.each_four(body); });
    alpha = 1;
  }
  const TilePlace at(p, own);
  if (any_of_warp(at.stores_fours))  // the same for all of a warp
    store_fours(own, at.c, p.ldc, alpha);
  else
    store_shifted(own, at.c, p.ldc, alpha, at.rows, at.columns);
}

}  // namespace KW_TARGET::hopper
