// The epilogue of a tile on the diagonal, of which C has a triangle. No other element is read or
// written. There are few of these tiles, and a block that has one is waited for: their code is
// fetched cold, so there is little of it.
#pragma once

#include "sgemm/stream/epilogue.hpp"

namespace KW_TARGET::stream_tile {

// Which of a tile's elements are wanted: of a row, columns from the first to before the last.
template <StreamTileConfig config>
class WantedElements {
  using S = Shape<config>;

 public:
  __device__ __forceinline__ WantedElements(const Sgemm& p, const StreamTileIndex& tile)
      : rows_(within(p.m - tile.row * std::int64_t{S::BM}, S::BM)),
        cols_(within(p.n - tile.col * std::int64_t{S::BN}, S::BN)),
        offset_((tile.row << p.column_shift) * S::BM - tile.col * S::BN),
        shift_(p.column_shift),
        lower_(p.triangle == Triangle::lower) {}

  __device__ __forceinline__ int first(int row) const {
    return lower_ ? 0 : (row << shift_) + offset_;
  }
  __device__ __forceinline__ int last(int row) const {
    const int after = lower_ ? ((row + 1) << shift_) + offset_ : cols_;
    return row >= rows_ ? 0 : after < cols_ ? after : cols_;
  }

 private:
  __device__ __forceinline__ static int within(std::int64_t left, int size) {
    return left < size ? static_cast<int>(left) : size;
  }

  int rows_, cols_, offset_, shift_;
  bool lower_;
};

// Warps that each have their own tile put some rows of it into shared memory, and lanes store
// neighbours of one row, as store_rows does. Where C is read, some rows at a time.
template <StreamTileConfig config, bool has_c>
__device__ __forceinline__ void store_triangle_by_rows(Shared<config>& shared, const Sgemm& p,
                                                       const StreamTileIndex& tile,
                                                       const float (&out)[Shape<config>::outputs]) {
  using S = Shape<config>;
  constexpr int at_once = has_c && S::lanes_m % 4 == 0 ? 4 : 1, across = S::WN / 32;
  const OwnOutputs<config> own;
  const int lane = own.tid % 32, lane_row = S::Lanes::row(lane), lane_col = S::Lanes::col(lane) * 4;
  auto& rows = shared.rows[own.tid / 32];
  const int row0 = own.row - 4 * lane_row, col = own.col - lane_col + lane;  // in the tile
  const WantedElements<config> wanted(p, tile);
  float* const c0 =
      p.c + tile.row * std::int64_t{S::BM} * p.ldc + tile.col * std::int64_t{S::BN} + col;
#pragma unroll
  for (int i = 0; i < S::TM; ++i) {
    put_rows<config>(rows, lane_row, lane_col, i, out);
    const int first_row = row0 + i / 4 * (4 * S::lanes_m) + i % 4;
    float* c = c0 + first_row * p.ldc;
#pragma unroll 1
    for (int r = 0; r < S::lanes_m; r += at_once, c += 4 * at_once * p.ldc) {
      const auto each = [&](const auto& body) {
#pragma unroll
        for (int q = 0; q < at_once; ++q) {
          const int row = first_row + 4 * (r + q);
          const int first = wanted.first(row), last = wanted.last(row);
#pragma unroll
          for (int j = 0; j < across; ++j)
            if (first <= col + 32 * j && col + 32 * j < last)
              body(q * across + j, c + 4 * q * p.ldc + 32 * j);
        }
      };
      float before[at_once * across] = {};
      if constexpr (has_c) each([&](int e, const float* from) { before[e] = *from; });
      each([&](int e, float* to) {
        const float sum = rows[r + e / across][(lane ^ 1) + 32 * (e % across)];
        *to = has_c ? add_scaled(p.alpha, sum, p.beta, before[e]) : p.alpha * sum;
      });
    }
  }
}

// Warps that share a tile along k: each thread stores its outputs, in fours.
template <StreamTileConfig config, bool has_c>
__device__ __forceinline__ void store_triangle_in_fours(
    const Sgemm& p, const StreamTileIndex& tile, const float (&out)[Shape<config>::outputs]) {
  using S = Shape<config>;
  constexpr int vectors = S::outputs / 4, at_once = has_c && vectors % 4 == 0 ? 4 : 1;
  const OwnOutputs<config> own;
  const WantedElements<config> wanted(p, tile);
  float* const c0 = p.c + tile.row * std::int64_t{S::BM} * p.ldc + tile.col * std::int64_t{S::BN};
#pragma unroll
  for (int v0 = 0; v0 < vectors; v0 += at_once) {
    const auto each = [&](const auto& body) {
#pragma unroll
      for (int v = v0; v < v0 + at_once; ++v) {
        const int row = own.row_of(v), col = own.col_of(v);
        const int first = wanted.first(row), last = wanted.last(row);
        float* const c = c0 + row * p.ldc + col;
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (first <= col + j && col + j < last) body(4 * v + j, c + j);
      }
    };
    float before[4 * at_once] = {};
    if constexpr (has_c) each([&](int e, const float* from) { before[e - 4 * v0] = *from; });
    each([&](int e, float* to) {
      *to = has_c ? add_scaled(p.alpha, out[e], p.beta, before[e - 4 * v0]) : p.alpha * out[e];
    });
  }
}

template <StreamTileConfig config>
__device__ __forceinline__ void store_triangle(Shared<config>& shared, const Sgemm& p,
                                               const StreamTileIndex& tile,
                                               const float (&out)[Shape<config>::outputs]) {
  if constexpr (Shape<config>::warps_k == 1)
    p.beta == 0 ? store_triangle_by_rows<config, false>(shared, p, tile, out)
                : store_triangle_by_rows<config, true>(shared, p, tile, out);
  else
    p.beta == 0 ? store_triangle_in_fours<config, false>(p, tile, out)
                : store_triangle_in_fours<config, true>(p, tile, out);
}

}  // namespace KW_TARGET::stream_tile
