// r06: the barrier behind the compute moves in front of the next copy.
//
// Idea        "Everybody is done with the tiles" matters only to the next copy. At the head of the
//             loop, and not before the first tile, the barrier lets a fast warp run on into the
//             next iteration's address arithmetic and its global loads.
// Prediction  The loads of the next tile do not depend on the barrier, but the stores to shared
//             memory do; the compiler may now issue loads, then wait, then store. Nothing else
//             moves: 0 to +2 %.
// Limits      As r05.
// Original    S1, 3302 / 16816 / 29875 GFLOP/s on an RTX 4090, 0.6 % over the step before; faults
//             as in r04.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
constexpr int threads = (BM / TM) * (BN / TN);  // 256

template <bool Edges>
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) barrier_moved(PlainSgemm p) {
  __shared__ __align__(16) float as[BM][BK];
  __shared__ __align__(16) float bs[BK][BN];
  const int tid = static_cast<int>(threadIdx.x);
  const int tx = tid % (BN / TN), ty = tid / (BN / TN);
  const int a_row = tid / (BK / 4), a_col = tid % (BK / 4) * 4;
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;
  const TileOrigin tile = tile_origin<BM, BN>(p);

  float acc[TM][TN] = {};
  for (std::int64_t k0 = 0; k0 < p.k; k0 += BK) {
    const float4 a = load4<Edges>(p.a, p.lda, p.m, p.k, tile.row + a_row, k0 + a_col);
    const float4 b = load4<Edges>(p.b, p.ldb, p.k, p.n, k0 + b_row, tile.col + b_col);
    if (k0 > 0) __syncthreads();  // the tile before has been used; k0 is the same for all threads
    *reinterpret_cast<float4*>(&as[a_row][a_col]) = a;
    *reinterpret_cast<float4*>(&bs[b_row][b_col]) = b;
    __syncthreads();
#pragma unroll 2  // all 8 would take more than 128 registers: one block an SM instead of two
    for (int kk = 0; kk < BK; ++kk)
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j)
          acc[i][j] = fmaf(as[ty * TM + i][kk], bs[kk][tx * TN + j], acc[i][j]);
  }

#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      store_row<Edges, 4>(p, tile.row + ty * TM + i, tile.col + tx * TN + j, &acc[i][j]);
}

}  // namespace

Status r06_barrier_moved(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<BM, BN, BK>(barrier_moved<false>, barrier_moved<true>, threads, problem,
                                  stream);
}

}  // namespace KW_TARGET
