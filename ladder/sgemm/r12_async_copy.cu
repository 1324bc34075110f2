// r12: tiles are copied by cp.async, two of them ahead.
//
// Idea        cp.async moves data from global to shared memory without a register in between and
//             completes later. Three stages of 16 along k: while one is computed, two are under
//             way, so a wait in front of a tile is a wait for something asked for two tiles ago.
//             B goes 16 bytes at a time; A, which must be transposed, 4 bytes at a time, since the
//             target of each copy is free. 132 floats between two k of A (128 + 4) put the 8x4
//             elements that a warp copies in 32 different banks.
// Prediction  Made for the first form, with A as [m][k] (see Lost): the registers of the tile in
//             flight, the wait in front of the store and the store's two-way conflicts go, and half
//             of the barriers: +3 to +8 % over r11. It lost 9 % instead. The form in this file was
//             written after that measurement and has no prediction of its own.
// Limits      Issue slots: 64 FMAs and 4 shared reads per k-step, 94 % before copies and loop.
//             Blocks of 128x128: 1024 has 64 of them for 132 SMs.
// Lost        A as [m][k] by 16-byte copies, read four k at a time: 9 % slower than r11 (32
//             registers of fragments leave none to read ahead). Addresses from scratch for each
//             tile instead of advancing pointers: -2 %. Stages of 8 along k: -8 %; a fourth stage,
//             a second set of fragments, another numbering of the lanes: nothing
//             (results/h200/explored-r12.txt, explored-r13.txt).
// Original    None in S1 to S5; the instruction is sm_80's.
#include "device/async_copy.hpp"
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int BM = 128, BN = 128, BK = 16, TM = 8, TN = 8;
constexpr int stages = 3;
constexpr int threads = (BM / TM) * (BN / TN);  // 256
constexpr int WM = 64, WN = 32, lanes_n = 4;    // as r11: 2x4 warps of 8x4 lanes
constexpr int half_m = WM / 2, half_n = WN / 2;

struct Stage {
  float as[BK][BM + 4];  // transposed
  float bs[BK][BN];
};

// This thread's copies, tile after tile along k; zeros beyond the edges.
template <bool Edges>
struct TileCopy {
  static constexpr int width = Edges ? 1 : 4;          // floats a copy of B
  static constexpr int b_step = threads * width / BN;  // rows of B a pass
  int a_k, a_row, b_k, b_col;                          // this thread's first elements in a tile
  const float *a, *b;                                  // and where they come from
  std::int64_t lda, ldb, m_left, n_left, k_left;       // of the matrices, from the tile's corner on

  __device__ __forceinline__ TileCopy(const PlainSgemm& p, TileOrigin tile)
      : lda(p.lda), ldb(p.ldb), m_left(p.m - tile.row), n_left(p.n - tile.col), k_left(p.k) {
    const int tid = static_cast<int>(threadIdx.x);
    a_k = tid % 8;  // a pass over A: 8 k x 32 rows, a 32-byte sector a row
    a_row = tid / 8;
    b_k = tid / (BN / width);
    b_col = tid % (BN / width) * width;
    a = p.a + (tile.row + a_row) * lda + a_k;
    b = p.b + b_k * ldb + tile.col + b_col;
  }
  __device__ __forceinline__ void next(Stage& to) {
#pragma unroll
    for (int kk = 0; kk < BK; kk += 8)
#pragma unroll
      for (int row = 0; row < BM; row += threads / 8) {
        const bool inside = !Edges || (a_row + row < m_left && a_k + kk < k_left);
        async_copy<4>(&to.as[a_k + kk][a_row + row], a + row * lda + kk, inside ? 4 : 0);
      }
#pragma unroll
    for (int kk = 0; kk < BK; kk += b_step) {
      const bool inside = !Edges || (b_k + kk < k_left && b_col < n_left);
      async_copy<width * 4>(&to.bs[b_k + kk][b_col], b + kk * ldb, inside ? width * 4 : 0);
    }
    a += BK;
    b += BK * ldb;
    k_left -= BK;
  }
};

template <bool Edges>
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) async_copy_tile(PlainSgemm p) {
  Stage* const stage = gpu::dynamic_shared<Stage>();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int row = warp / (BN / WN) * WM + lane / lanes_n * 4;
  const int col = warp % (BN / WN) * WN + lane % lanes_n * 4;
  const TileOrigin tile = tile_origin<BM, BN>(p);

  TileCopy<Edges> copy(p, tile);

  // A group of copies a tile, empty ones at the end too, so that the count in async_wait stays
  // true.
  for (int s = 0; s < stages - 1; ++s) {
    if (s * BK < p.k) copy.next(stage[s]);
    async_commit();
  }

  float acc[TM][TN] = {};
  int now = 0, ahead = stages - 1;  // stages being computed and being filled
  for (std::int64_t k0 = 0; k0 < p.k; k0 += BK) {
    async_wait<stages - 2>();  // this thread's copies for k0 have landed
    __syncthreads();           // everybody's have; and nobody reads the stage before any more
    if (k0 + (stages - 1) * BK < p.k) copy.next(stage[ahead]);
    async_commit();

    const Stage& s = stage[now];
#pragma unroll
    for (int kk = 0; kk < BK; ++kk) {
      __align__(16) float a_frag[TM], b_frag[TN];
      *reinterpret_cast<float4*>(&a_frag[0]) = *reinterpret_cast<const float4*>(&s.as[kk][row]);
      *reinterpret_cast<float4*>(&a_frag[4]) =
          *reinterpret_cast<const float4*>(&s.as[kk][half_m + row]);
      *reinterpret_cast<float4*>(&b_frag[0]) = *reinterpret_cast<const float4*>(&s.bs[kk][col]);
      *reinterpret_cast<float4*>(&b_frag[4]) =
          *reinterpret_cast<const float4*>(&s.bs[kk][half_n + col]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] = fmaf(a_frag[i], b_frag[j], acc[i][j]);
    }
    now = now + 1 < stages ? now + 1 : 0;
    ahead = ahead + 1 < stages ? ahead + 1 : 0;
  }

#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      store_row<Edges, 4>(p, tile.row + row + i / 4 * half_m + i % 4,
                          tile.col + col + j / 4 * half_n, &acc[i][j]);
}

}  // namespace

Status r12_async_copy(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<BM, BN, BK>(async_copy_tile<false>, async_copy_tile<true>, threads, problem,
                                  stream, stages * sizeof(Stage));
}

}  // namespace KW_TARGET
