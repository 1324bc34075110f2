// The epilogue of a tile on the diagonal, of which C has a triangle. There are few of them, so each
// element asks whether it is wanted. No other is read or written.
#pragma once

#include "sgemm/shape.hpp"
#include "sgemm/stream/outputs.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET::stream_tile {

template <StreamTileConfig config>
__device__ __forceinline__ void store_triangle(const Sgemm& p, const StreamTileIndex& tile,
                                               const float (&out)[Shape<config>::outputs]) {
  using S = Shape<config>;
  const OwnOutputs<config> own;
  const std::int64_t row0 = tile.row * std::int64_t{S::BM}, col0 = tile.col * std::int64_t{S::BN};
#pragma unroll
  for (int v = 0; v < S::outputs / 4; ++v) {
    const std::int64_t row = row0 + own.row_of(v), col = col0 + own.col_of(v);
    const auto is_inside = [&](int j) {
      return row < p.m && col + j < p.n && is_wanted(p.triangle, row, (col + j) >> p.column_shift);
    };
    float* const c = p.c + row * p.ldc + col;
    float before[4] = {};
    if (p.beta != 0) {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (is_inside(j)) before[j] = c[j];
    }
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (is_inside(j))
        c[j] = p.beta == 0 ? p.alpha * out[4 * v + j]
                           : add_scaled(p.alpha, out[4 * v + j], p.beta, before[j]);
  }
}

}  // namespace KW_TARGET::stream_tile
