// r05: every copy moves 16 bytes.
//
// Idea        A tile of A is 128x8 = 256 x 4 floats and so is one of B: with 16-byte accesses each
//             of the 256 threads loads and stores exactly one vector of each. C goes out in 16-byte
//             pieces too.
// Prediction  A thread issues 4 copy instructions a tile instead of 16, beside 512 FMAs and about
//             100 shared reads: 12 of 630 issue slots, 2 %. C's stores touch 16 full sectors
//             instead of 32 half-used ones, once a tile of C. Expect +2 to +5 %.
// Limits      The shared reads keep their two-way conflicts; the waits are the same.
// Original    S1, 3265 / 16721 / 29685 GFLOP/s on an RTX 4090; faults as in r04.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
constexpr int threads = (BM / TM) * (BN / TN);  // 256

template <bool Edges>
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) float4_tile(PlainSgemm p) {
  __shared__ __align__(16) float as[BM][BK];
  __shared__ __align__(16) float bs[BK][BN];
  const int tid = static_cast<int>(threadIdx.x);
  const int tx = tid % (BN / TN), ty = tid / (BN / TN);
  const int a_row = tid / (BK / 4), a_col = tid % (BK / 4) * 4;  // this thread's vector of A
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;  // and of B
  const TileOrigin tile = tile_origin<BM, BN>(p);

  float acc[TM][TN] = {};
  for (std::int64_t k0 = 0; k0 < p.k; k0 += BK) {
    *reinterpret_cast<float4*>(&as[a_row][a_col]) =
        load4<Edges>(p.a, p.lda, p.m, p.k, tile.row + a_row, k0 + a_col);
    *reinterpret_cast<float4*>(&bs[b_row][b_col]) =
        load4<Edges>(p.b, p.ldb, p.k, p.n, k0 + b_row, tile.col + b_col);
    __syncthreads();
#pragma unroll 2  // all 8 would take more than 128 registers: one block an SM instead of two
    for (int kk = 0; kk < BK; ++kk)
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j)
          acc[i][j] = fmaf(as[ty * TM + i][kk], bs[kk][tx * TN + j], acc[i][j]);
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      store_row<Edges, 4>(p, tile.row + ty * TM + i, tile.col + tx * TN + j, &acc[i][j]);
}

}  // namespace

Status r05_float4(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<BM, BN, BK>(float4_tile<false>, float4_tile<true>, threads, problem, stream);
}

}  // namespace KW_TARGET
