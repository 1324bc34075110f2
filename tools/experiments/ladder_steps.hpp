// The kernels of ladder_steps.cu: r06 to r12 of ladder/sgemm with what each edit changed as
// template parameters, one for each variable. Whole tiles only. Parameters are int, for their names
// in ncu.
#pragma once

#include "device/async_copy.hpp"
#include "sgemm/rung.hpp"

namespace KW_TARGET {

constexpr int BM = 128, BN = 128, TM = 8, TN = 8, threads = 256;

__device__ __forceinline__ void write4(float* at, const float4& x) {
  *reinterpret_cast<float4*>(at) = x;
}

// A step of k as the rungs have it: acc += the outer product of eight values of A and of B, which
// lie in two fours `m_step` and `n_step` apart. A macro, since ptxas gives an inlined function's
// loops other registers than the rungs'.
#define MULTIPLY(as, row, m_step, bs, col, n_step)                                                \
  {                                                                                               \
    __align__(16) float a_frag[TM], b_frag[TN];                                                   \
    *reinterpret_cast<float4*>(&a_frag[0]) = *reinterpret_cast<const float4*>(&as[row]);          \
    *reinterpret_cast<float4*>(&a_frag[4]) = *reinterpret_cast<const float4*>(&as[m_step + row]); \
    *reinterpret_cast<float4*>(&b_frag[0]) = *reinterpret_cast<const float4*>(&bs[col]);          \
    *reinterpret_cast<float4*>(&b_frag[4]) = *reinterpret_cast<const float4*>(&bs[n_step + col]); \
    _Pragma("unroll") for (int i = 0; i < TM; ++i) _Pragma("unroll") for (int j = 0; j < TN; ++j) \
        acc[i][j] = fmaf(a_frag[i], b_frag[j], acc[i][j]);                                        \
  }

// Stores quarters of 4x4 that lie m_step and n_step apart.
__device__ __forceinline__ void store_quarters(const PlainSgemm& p, std::int64_t row,
                                               std::int64_t col, int m_step, int n_step,
                                               const float (&acc)[TM][TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      store_row<false, 4>(p, row + i / 4 * m_step + i % 4, col + j / 4 * n_step, &acc[i][j]);
}

// r06 to r07. transposed: A lies as [k][m] in shared memory. quarters: a thread's 8x8 outputs are
// four 4x4 that lie 64 apart, in place of one square. <0, 0> is r06, <1, 1> is r07.
template <int transposed, int quarters>
__global__ void __launch_bounds__(threads, 2) fragments(PlainSgemm p) {
  constexpr int BK = 8, unit = quarters ? 4 : 8, step = quarters ? 64 : 4;
  __shared__ __align__(16) float as[transposed ? BK : BM][transposed ? BM : BK];
  __shared__ __align__(16) float bs[BK][BN];
  const int tid = static_cast<int>(threadIdx.x);
  const int tx = tid % (BN / TN), ty = tid / (BN / TN);
  const int a_row = tid / (BK / 4), a_col = tid % (BK / 4) * 4;
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;
  const TileOrigin tile = tile_origin<BM, BN>(p);

  float acc[TM][TN] = {};
  for (std::int64_t k0 = 0; k0 < p.k; k0 += BK) {
    const float4 a = load4<false>(p.a, p.lda, p.m, p.k, tile.row + a_row, k0 + a_col);
    const float4 b = load4<false>(p.b, p.ldb, p.k, p.n, k0 + b_row, tile.col + b_col);
    if (k0 > 0) __syncthreads();
    if constexpr (transposed) {
      as[a_col + 0][a_row] = a.x;
      as[a_col + 1][a_row] = a.y;
      as[a_col + 2][a_row] = a.z;
      as[a_col + 3][a_row] = a.w;
    } else {
      write4(&as[a_row][a_col], a);
    }
    write4(&bs[b_row][b_col], b);
    __syncthreads();
    const auto step_of_k = [&](int kk) {
      if constexpr (transposed) {
        MULTIPLY(as[kk], ty * unit, step, bs[kk], tx * unit, step)
      } else {
#pragma unroll
        for (int i = 0; i < TM; ++i)
#pragma unroll
          for (int j = 0; j < TN; ++j)
            acc[i][j] = fmaf(as[ty * unit + i / 4 * step + i % 4][kk],
                             bs[kk][tx * unit + j / 4 * step + j % 4], acc[i][j]);
      }
    };
    if constexpr (transposed) {
#pragma unroll
      for (int kk = 0; kk < BK; ++kk) step_of_k(kk);
    } else {
#pragma unroll 2  // as r06: by 8 the registers would be those of one block an SM
      for (int kk = 0; kk < BK; ++kk) step_of_k(kk);
    }
  }
  store_quarters(p, tile.row + ty * unit, tile.col + tx * unit, step, step, acc);
}

// r07 to r10. buffers: of a tile in shared memory. late: the next tile is loaded before the FMAs
// and stored behind them, in place of loaded and stored before them. barriers: a tile.
// <1, 0, 2> is r07, <2, 0, 1> is r09, <2, 1, 1> is r10. One buffer needs two barriers.
template <int buffers, int late, int barriers>
__global__ void __launch_bounds__(threads, 2) buffering(PlainSgemm p) {
  static_assert(buffers == 2 || barriers == 2);
  constexpr int BK = 8, half = 64;
  __shared__ __align__(16) float as[buffers][BK][BM];
  __shared__ __align__(16) float bs[buffers][BK][BN];
  const int tid = static_cast<int>(threadIdx.x);
  const int tx = tid % (BN / TN), ty = tid / (BN / TN);
  const int a_row = tid / (BK / 4), a_col = tid % (BK / 4) * 4;
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;
  const TileOrigin tile = tile_origin<BM, BN>(p);

  float4 a_next = {}, b_next = {};
  const auto load_tile = [&](std::int64_t k0) {
    a_next = load4<false>(p.a, p.lda, p.m, p.k, tile.row + a_row, k0 + a_col);
    b_next = load4<false>(p.b, p.ldb, p.k, p.n, k0 + b_row, tile.col + b_col);
  };
  const auto store_tile = [&](int to) {
    as[to][a_col + 0][a_row] = a_next.x;
    as[to][a_col + 1][a_row] = a_next.y;
    as[to][a_col + 2][a_row] = a_next.z;
    as[to][a_col + 3][a_row] = a_next.w;
    write4(&bs[to][b_row][b_col], b_next);
  };

  // One buffer, not late: r07's loop loads and stores the tile that it then multiplies. All others
  // have the next tile under way.
  constexpr bool ahead = buffers == 2 || late == 1;
  float acc[TM][TN] = {};
  if (ahead) {
    if (p.k > 0) load_tile(0);
    store_tile(0);
    __syncthreads();
  }
  int buffer = 0;
  for (std::int64_t k0 = 0; k0 < p.k; k0 += BK) {
    const bool more = k0 + BK < p.k;
    if (!ahead) {
      load_tile(k0);
      if (k0 > 0) __syncthreads();
      store_tile(0);
      __syncthreads();
    } else if (more) {
      load_tile(k0 + BK);
      if (!late) {
        if (barriers == 2) __syncthreads();
        store_tile(buffer ^ 1);
      }
    }
#pragma unroll
    for (int kk = 0; kk < BK; ++kk)
      MULTIPLY(as[buffer][kk], ty * 4, half, bs[buffer][kk], tx * 4, half)
    if (ahead) {
      if (late && barriers == 2) __syncthreads();
      if (late && more) store_tile(buffers == 2 ? buffer ^ 1 : 0);
      __syncthreads();
      if (buffers == 2) buffer ^= 1;
    }
  }
  store_quarters(p, tile.row + ty * 4, tile.col + tx * 4, half, half, acc);
}

// r11 and r12: a warp covers 64x32, its lanes stand as 8x4.
constexpr int WM = 64, WN = 32, lanes_n = 4, half_m = WM / 2, half_n = WN / 2;

template <int BK, int pad>
struct Stage {
  float as[BK][BM + pad];  // transposed
  float bs[BK][BN];
};

// One thread's part of a tile by cp.async, as r12's TileCopy.
template <int BK, int pad>
struct AsyncCopy {
  int a_k, a_row, b_k, b_col;
  const float *a, *b;
  std::int64_t lda, ldb;

  __device__ __forceinline__ AsyncCopy(const PlainSgemm& p, TileOrigin tile)
      : lda(p.lda), ldb(p.ldb) {
    const int tid = static_cast<int>(threadIdx.x);
    a_k = tid % 8;
    a_row = tid / 8;
    b_k = tid / (BN / 4);
    b_col = tid % (BN / 4) * 4;
    a = p.a + (tile.row + a_row) * lda + a_k;
    b = p.b + b_k * ldb + tile.col + b_col;
  }
  __device__ __forceinline__ void next(Stage<BK, pad>& to) {
#pragma unroll
    for (int kk = 0; kk < BK; kk += 8)
#pragma unroll
      for (int row = 0; row < BM; row += threads / 8)
        async_copy<4>(&to.as[a_k + kk][a_row + row], a + row * lda + kk, 4);
#pragma unroll
    for (int kk = 0; kk < BK; kk += threads / (BN / 4))
      async_copy<16>(&to.bs[b_k + kk][b_col], b + kk * ldb, 16);
    a += BK;
    b += BK * ldb;
  }
};

// r11 to r12, in two kernels. pad: floats behind a row of A in shared memory. BK: k of a tile.
// Tiles copied by registers, two of them in shared memory; <0, 8> is r11.
template <int pad, int BK>
__global__ void __launch_bounds__(threads, 2) by_registers(PlainSgemm p) {
  constexpr int a_step = threads / (BK / 4), b_step = threads / (BN / 4), vectors = BK / 8;
  __shared__ __align__(16) float as[2][BK][BM + pad];
  __shared__ __align__(16) float bs[2][BK][BN];
  const int tid = static_cast<int>(threadIdx.x);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int row = warp / (BN / WN) * WM + lane / lanes_n * 4;
  const int col = warp % (BN / WN) * WN + lane % lanes_n * 4;
  const int a_row = tid / (BK / 4), a_col = tid % (BK / 4) * 4;
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;
  const TileOrigin tile = tile_origin<BM, BN>(p);

  float4 a_next[vectors] = {}, b_next[vectors] = {};
  const auto load_tile = [&](std::int64_t k0) {
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      a_next[i] = load4<false>(p.a, p.lda, p.m, p.k, tile.row + a_row + i * a_step, k0 + a_col);
      b_next[i] = load4<false>(p.b, p.ldb, p.k, p.n, k0 + b_row + i * b_step, tile.col + b_col);
    }
  };
  const auto store_tile = [&](int buffer) {
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      as[buffer][a_col + 0][a_row + i * a_step] = a_next[i].x;
      as[buffer][a_col + 1][a_row + i * a_step] = a_next[i].y;
      as[buffer][a_col + 2][a_row + i * a_step] = a_next[i].z;
      as[buffer][a_col + 3][a_row + i * a_step] = a_next[i].w;
      write4(&bs[buffer][b_row + i * b_step][b_col], b_next[i]);
    }
  };

  float acc[TM][TN] = {};
  if (p.k > 0) load_tile(0);
  store_tile(0);
  __syncthreads();
  int buffer = 0;
  for (std::int64_t k0 = 0; k0 < p.k; k0 += BK) {
    const bool more = k0 + BK < p.k;
    if (more) load_tile(k0 + BK);
#pragma unroll
    for (int kk = 0; kk < BK; ++kk)
      MULTIPLY(as[buffer][kk], row, half_m, bs[buffer][kk], col, half_n)
    if (more) store_tile(buffer ^ 1);
    __syncthreads();
    buffer ^= 1;
  }
  store_quarters(p, tile.row + row, tile.col + col, half_m, half_n, acc);
}

// Tiles copied by cp.async, `stages` of them in shared memory; <4, 16, 3> is r12.
template <int pad, int BK, int stages>
__global__ void __launch_bounds__(threads, 2) by_async(PlainSgemm p) {
  Stage<BK, pad>* const stage = gpu::dynamic_shared<Stage<BK, pad>>();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int row = warp / (BN / WN) * WM + lane / lanes_n * 4;
  const int col = warp % (BN / WN) * WN + lane % lanes_n * 4;
  const TileOrigin tile = tile_origin<BM, BN>(p);
  AsyncCopy<BK, pad> copy(p, tile);
  for (int s = 0; s < stages - 1; ++s) {
    if (s * BK < p.k) copy.next(stage[s]);
    async_commit();
  }
  float acc[TM][TN] = {};
  int now = 0, ahead = stages - 1;
  for (std::int64_t k0 = 0; k0 < p.k; k0 += BK) {
    async_wait<stages - 2>();
    __syncthreads();
    if (k0 + (stages - 1) * BK < p.k) copy.next(stage[ahead]);
    async_commit();
    const Stage<BK, pad>& s = stage[now];
#pragma unroll
    for (int kk = 0; kk < BK; ++kk) MULTIPLY(s.as[kk], row, half_m, s.bs[kk], col, half_n)
    now = now + 1 < stages ? now + 1 : 0;
    ahead = ahead + 1 < stages ? ahead + 1 : 0;
  }
  store_quarters(p, tile.row + row, tile.col + col, half_m, half_n, acc);
}

}  // namespace KW_TARGET
