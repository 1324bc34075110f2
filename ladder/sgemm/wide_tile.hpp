// What r14 to r16 share: a tile of 128x256 outputs, 8x16 per thread, its way from global memory
// into a stage, and its inner product. Each rung then holds who does this and when.
#pragma once

#include "device/async_copy.hpp"
#include "rung.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET::wide_tile {

constexpr int BM = 128, BN = 256, BK = 16, TM = 8, TN = 16;
constexpr int threads = (BM / TM) * (BN / TN);  // 256 that multiply
constexpr int WM = 64, WN = 64;                 // 2x4 warps
constexpr int lanes_m = WM / TM, lanes_n = WN / TN;
constexpr int pitch_a = BM + 4, pitch_b = BN;

struct Stage {
  float as[BK][pitch_a];  // transposed; the padding puts a warp's copies in 32 banks
  float bs[BK][pitch_b];
};

// Of the outputs of a thread (i, j) is row + i % 4 + i / 4 * 32, col + j % 4 + j / 4 * 16.
struct Place {
  int row, col;
};
__device__ __forceinline__ Place place_of(int thread) {
  const int warp = thread / 32, lane = thread % 32;
  return {warp / (BN / WN) * WM + lane / lanes_n * 4, warp % (BN / WN) * WN + lane % lanes_n * 4};
}

// The elements of A and B that a thread needs in one step along k.
struct Fragments {
  alignas(16) float a[TM], b[TN];

  __device__ __forceinline__ void load(const float* as, const float* bs, int step) {
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      *reinterpret_cast<float4*>(&b[j]) =
          *reinterpret_cast<const float4*>(bs + step * pitch_b + j * lanes_n);
#pragma unroll
    for (int i = 0; i < TM; i += 4)
      *reinterpret_cast<float4*>(&a[i]) =
          *reinterpret_cast<const float4*>(as + step * pitch_a + i * lanes_m);
  }
};

// In r13's zigzag.
__device__ __forceinline__ void outer_product(float (&acc)[TM][TN], const Fragments& f) {
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int step = 0; step < TN; ++step) {
      const int j = i % 2 == 0 ? step : TN - 1 - step;
      acc[i][j] = fmaf(f.a[i], f.b[j], acc[i][j]);
    }
}

// One of `copiers` threads' copies, stage after stage along k from k0 on, as in r12; zeros beyond
// the edges.
template <bool Edges, int copiers>
struct TileCopy {
  static constexpr int width = Edges ? 1 : 4;                                 // floats a copy of B
  static constexpr int across = copiers * width < BN ? copiers * width : BN;  // of B, a pass
  static constexpr int down = copiers * width / across;
  static constexpr int a_rows = copiers / 8;      // of A, a pass: 8 k each
  int a_k, a_row, b_k, b_col;                     // this thread's first elements in a tile
  const float *a, *b;                             // and where they come from
  std::int64_t lda, ldb, m_left, n_left, k_left;  // of the matrices, from the tile's corner on

  __device__ __forceinline__ TileCopy(const PlainSgemm& p, TileOrigin tile, std::int64_t k0,
                                      int thread)
      : lda(p.lda), ldb(p.ldb), m_left(p.m - tile.row), n_left(p.n - tile.col), k_left(p.k - k0) {
    a_k = thread % 8;
    a_row = thread / 8;
    b_k = thread * width / across;
    b_col = thread * width % across;
    a = p.a + (tile.row + a_row) * lda + k0 + a_k;
    b = p.b + (k0 + b_k) * ldb + tile.col + b_col;
  }

  __device__ __forceinline__ void next(Stage& to) {
#pragma unroll(copiers < threads ? 4 : BM)
    for (int row = 0; row < BM; row += a_rows)
#pragma unroll
      for (int kk = 0; kk < BK; kk += 8) {
        const bool inside = !Edges || (a_row + row < m_left && a_k + kk < k_left);
        async_copy<4>(&to.as[a_k + kk][a_row + row], a + row * lda + kk, inside ? 4 : 0);
      }
#pragma unroll(copiers < threads ? 4 : BK)
    for (int kk = 0; kk < BK; kk += down)
#pragma unroll
      for (int col = 0; col < BN; col += across) {
        const bool inside = !Edges || (b_k + kk < k_left && b_col + col < n_left);
        async_copy<width * 4>(&to.bs[b_k + kk][b_col + col], b + kk * ldb + col,
                              inside ? width * 4 : 0);
      }
    a += BK;
    b += BK * ldb;
    k_left -= BK;
  }
};

template <bool Edges>
__device__ __forceinline__ void store_tile(const PlainSgemm& p, TileOrigin tile, Place own,
                                           const float (&acc)[TM][TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      store_row<Edges, 4>(p, tile.row + own.row + i / 4 * (4 * lanes_m) + i % 4,
                          tile.col + own.col + j * lanes_n, &acc[i][j]);
}

}  // namespace KW_TARGET::wide_tile
