// r13: the same FMAs in another order.
//
// Idea        The 64 FMAs of a k-step may run in any order. Row by row from left to right, as the
//             loops say, changes both operands at the end of each row; in a zigzag, left to right
//             and back, the last B of one row is the first of the next. Each FMA then shares an
//             operand with the one before, which the operand cache in front of the FMA units can
//             hold.
// Prediction  None: the effect was found while variants of r12 were measured, and explained after.
//             Registers lie in two banks (by parity) of one 32-bit read a cycle, and an FMA reads
//             three. Where all three lie in one bank and none is cached it takes an extra cycle:
//             the "dispatch stall" of r10 to r12. ptxas keeps the source's order roughly and
//             chooses registers for it; a zigzag turns the pairs of neighbours at the rows' ends
//             from "both operands differ" into "one is shared".
// Limits      What ptxas makes of it: the same change gains 0.4 % in r10 and loses 2 % in r11.
// Lost        Pairs of rows together -2 %, pairs in zigzag -1 %; by columns in zigzag: the same
//             (results/h200/explored-r13.txt).
// Original    None in S1 to S5. maxas (Scott Gray) described the operand cache for Maxwell.
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
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) fma_order_tile(PlainSgemm p) {
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
        for (int j = 0; j < TN; ++j) {
          const int zigzag = i % 2 == 0 ? j : TN - 1 - j;
          acc[i][zigzag] = fmaf(a_frag[i], b_frag[zigzag], acc[i][zigzag]);
        }
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

Status r13_fma_order(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<BM, BN, BK>(fma_order_tile<false>, fma_order_tile<true>, threads, problem,
                                  stream, stages * sizeof(Stage));
}

}  // namespace KW_TARGET
