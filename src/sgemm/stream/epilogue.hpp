// The epilogue of a stream_tile tile: it stores the outputs to C.
#pragma once

#include "sgemm/stream/outputs.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET::stream_tile {

// A warp's lanes put their i-th rows into shared memory, in quads.
template <StreamTileConfig config, class Rows>
__device__ __forceinline__ void put_rows(Rows& rows, int lane_row, int lane_col, int i,
                                         const float (&out)[Shape<config>::outputs]) {
  using S = Shape<config>;
  __syncwarp();
#pragma unroll
  for (int j = 0; j < S::TN; j += 4)
    *reinterpret_cast<float4*>(&rows[lane_row][lane_col + j * S::lanes_n]) =
        quad_of(&out[i * S::TN + j]);
  __syncwarp();
}

// C = alpha * out + beta * C where rows of C are not aligned. Each element is then a store of its
// own, and without more ado a warp's store would touch many rows. A warp therefore puts some rows
// of its tile into shared memory, and its lanes store neighbours of one row.
template <StreamTileConfig config, bool has_c>
__device__ __forceinline__ void store_rows(Shared<config>& shared, const Sgemm& p,
                                           const StreamTileIndex& tile,
                                           const float (&out)[Shape<config>::outputs]) {
  using S = Shape<config>;
  constexpr int across = S::WN / 32;
  const OwnOutputs<config> own;
  const int warp = own.tid / 32, lane = own.tid % 32;
  const int lane_row = S::Lanes::row(lane), lane_col = S::Lanes::col(lane) * 4;
  auto& rows = shared.rows[warp];
  const std::int64_t row0 = tile.row * std::int64_t{S::BM} + own.row - 4 * lane_row;
  const std::int64_t col0 = tile.col * std::int64_t{S::BN} + own.col - lane_col + lane;
  float* const c0 = p.c + row0 * p.ldc + col0;
  const int rows_left = static_cast<int>(p.m - row0 < S::WM ? p.m - row0 : S::WM);
  const int cols_left = static_cast<int>(p.n - col0 < S::WN ? p.n - col0 : S::WN);
#pragma unroll
  for (int i = 0; i < S::TM; ++i) {
    put_rows<config>(rows, lane_row, lane_col, i, out);
    const int first = i / 4 * (4 * S::lanes_m) + i % 4;
    const auto each = [&](const auto& body) {
#pragma unroll
      for (int r = 0; r < S::lanes_m; ++r)
#pragma unroll
        for (int c = 0; c < across; ++c)
          if (first + 4 * r < rows_left && 32 * c < cols_left)
            body(r * across + c, c0 + (first + 4 * r) * p.ldc + 32 * c);
    };
    float before[has_c ? S::lanes_m * across : 1] = {};
    if constexpr (has_c) each([&](int e, const float* c) { before[e] = *c; });
    each([&](int e, float* c) {
      const float sum = rows[e / across][(lane ^ 1) + 32 * (e % across)];
      *c = has_c ? add_scaled(p.alpha, sum, p.beta, before[has_c ? e : 0]) : p.alpha * sum;
    });
  }
}

// C = alpha * out + beta * C for this thread's outputs of a tile. The code multiplies by alpha even
// where alpha is 1: otherwise ptxas binds accumulators to the quads of these stores, in which they
// share register banks with b. Each case is straight code of its own. It is fetched cold, and jumps
// across the other cases would cost microseconds; so would a guard per element where n is a
// multiple of four.
template <StreamTileConfig config>
__device__ __forceinline__ void store_tile(Shared<config>& shared, const Sgemm& p,
                                           const StreamTileIndex& tile, bool c16,
                                           const float (&out)[Shape<config>::outputs]) {
  using S = Shape<config>;
  const OwnOutputs<config> own;
  const std::int64_t row0 = tile.row * std::int64_t{S::BM}, col0 = tile.col * std::int64_t{S::BN};
  const auto each_vector = [&](const auto& store) {
#pragma unroll
    for (int v = 0; v < S::outputs / 4; ++v)
      store(row0 + own.row_of(v), col0 + own.col_of(v), &out[4 * v]);
  };
  const bool inside = row0 + S::BM <= p.m && col0 + S::BN <= p.n;
  const bool in_fours = c16 && (inside || p.n % 4 == 0);
  if constexpr (S::warps_k == 1) {
    if (!in_fours) {
      return p.beta == 0 ? store_rows<config, false>(shared, p, tile, out)
                         : store_rows<config, true>(shared, p, tile, out);
    }
  }
  Sgemm without_c = p;
  without_c.beta = 0;  // a constant for the compiler
  if (p.beta == 0 && inside && c16) {
    each_vector([&](std::int64_t row, std::int64_t col, const float* x) {
      store_row<false, 4, true>(without_c, row, col, x);
    });
  } else if (p.beta == 0 && in_fours) {
    each_vector([&](std::int64_t row, std::int64_t col, const float* x) {
      if (row < p.m && col < p.n) store_row<false, 4, true>(without_c, row, col, x);
    });
  } else if (p.beta == 0) {  // one by one, from warps that share a tile
    each_vector([&](std::int64_t row, std::int64_t col, const float* x) {
      if (row >= p.m) return;
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (col + j < p.n) store1<false>(without_c, row, col + j, x[j]);
    });
  } else if (in_fours) {
    each_vector([&](std::int64_t row, std::int64_t col, const float* x) {
      if (row < p.m && col < p.n) store_row<false, 4, true>(p, row, col, x);
    });
  } else {
    each_vector([&](std::int64_t row, std::int64_t col, const float* x) {
      store_row<true, 4, true>(p, row, col, x);
    });
  }
}

}  // namespace KW_TARGET::stream_tile
