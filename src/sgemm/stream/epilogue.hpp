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

// C = alpha * out + beta * C of some elements that are loaded before any of them is stored: after
// each other the loads would wait for what comes before them to be stored. `in_fours`: rows of C
// are aligned.
template <StreamTileConfig config, bool in_fours>
__device__ __forceinline__ void store_with_c(const Sgemm& p, std::int64_t row0, std::int64_t col0,
                                             const float (&out)[Shape<config>::outputs]) {
  using S = Shape<config>;
  constexpr int vectors = S::outputs / 4;
  constexpr int most = !in_fours ? 2 : config.blocks_per_sm == 1 ? 8 : 4;  // more would spill
  constexpr int at_once = vectors % most == 0 ? most : vectors % 2 == 0 ? 2 : 1;
  static_assert(vectors % at_once == 0);
  const OwnOutputs<config> own;
#pragma unroll
  for (int first = 0; first < vectors; first += at_once) {
    const auto each = [&](const auto& body) {
#pragma unroll
      for (int v = 0; v < at_once; ++v) {
        const std::int64_t row = row0 + own.row_of(first + v), col = col0 + own.col_of(first + v);
        if (row < p.m && col < p.n) body(v, p.c + row * p.ldc + col, p.n - col);
      }
    };
    const auto sum = [&](int v, int j, float c) {
      return add_scaled(p.alpha, out[4 * (first + v) + j], p.beta, c);
    };
    if constexpr (in_fours) {
      union {
        float4 vector;
        float element[4];
      } before[at_once];
      each([&](int v, const float* c, std::int64_t) {
        before[v].vector = *reinterpret_cast<const float4*>(c);
      });
      each([&](int v, float* c, std::int64_t) {
#pragma unroll
        for (int j = 0; j < 4; ++j) before[v].element[j] = sum(v, j, before[v].element[j]);
        *reinterpret_cast<float4*>(c) = before[v].vector;
      });
    } else {
      float before[at_once][4];
      each([&](int v, const float* c, std::int64_t left) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (j < left) before[v][j] = c[j];
      });
      each([&](int v, float* c, std::int64_t left) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (j < left) c[j] = sum(v, j, before[v][j]);
      });
    }
  }
}

// Four neighbours of C = alpha * sums. By an instruction of its own: nvcc makes four stores of one
// to memory that it has seen loaded elsewhere in the kernel.
__device__ __forceinline__ void store_scaled(const Sgemm& p, std::int64_t row, std::int64_t col,
                                             const float* sums) {
  float* const c = p.c + row * p.ldc + col;
  const float4 x =
      make_float4(p.alpha * sums[0], p.alpha * sums[1], p.alpha * sums[2], p.alpha * sums[3]);
#if defined(__CUDA_ARCH__)
  asm volatile("st.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(c), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w)
               : "memory");
#else
  *reinterpret_cast<float4*>(c) = x;
#endif
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
    each_vector(
        [&](std::int64_t row, std::int64_t col, const float* x) { store_scaled(p, row, col, x); });
  } else if (p.beta == 0 && in_fours) {
    each_vector([&](std::int64_t row, std::int64_t col, const float* x) {
      if (row < p.m && col < p.n) store_scaled(p, row, col, x);
    });
  } else if (p.beta == 0) {  // one by one, from warps that share a tile
    each_vector([&](std::int64_t row, std::int64_t col, const float* x) {
      if (row >= p.m) return;
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (col + j < p.n) store1<false>(without_c, row, col + j, x[j]);
    });
  } else if (in_fours) {
    store_with_c<config, true>(p, row0, col0, out);
  } else if constexpr (S::warps_k > 1) {
    store_with_c<config, false>(p, row0, col0, out);
  }
}

}  // namespace KW_TARGET::stream_tile
