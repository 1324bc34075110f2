// r04: a block computes a 128x128 tile of C, a thread 8x8 of it in registers.
//
// Idea        For 8 values of A and 8 of B a thread does 64 FMAs. 256 threads (16x16) share tiles
//             128x8 of A and 8x128 of B; scalar copies bring them in.
// Prediction  Shared reads an FMA fall from 2 to 16/64. Counted in wavefronts a warp and k-step:
//             B 8 (16 lanes read 16 bytes at a stride of 32, two-way conflicts) and A 4 (one
//             16-byte read for four k, two rows in the same bank) against 64 FMA instructions =
//             16 cycles of the SM: 12 of 16 cycles busy. So neither unit is at its limit, the
//             latency of the copies in front of each barrier is: half of the peak, 25-35 TFLOP/s.
// Limits      Each tile is copied, waited for, computed, waited for. At 192 and 256 there are 4
//             blocks for 132 SMs.
// Original    S1, 3047 / 15601 / 26881 GFLOP/s on an RTX 4090. It took k for B's row stride (right
//             only for n = k), had no guards (192 ran out of bounds) and needed k % 8 == 0.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
constexpr int threads = (BM / TM) * (BN / TN);  // 256

template <bool Edges>
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) block_tile(PlainSgemm p) {
  __shared__ float as[BM][BK];
  __shared__ float bs[BK][BN];
  const int tid = static_cast<int>(threadIdx.x);
  const int tx = tid % (BN / TN), ty = tid / (BN / TN);  // 16x16 threads
  const TileOrigin tile = tile_origin<BM, BN>(p);

  float acc[TM][TN] = {};
  for (std::int64_t k0 = 0; k0 < p.k; k0 += BK) {
    // Element by element: neighbouring threads copy neighbours of a row.
    for (int i = tid; i < BM * BK; i += threads)
      as[i / BK][i % BK] = load1<Edges>(p.a, p.lda, p.m, p.k, tile.row + i / BK, k0 + i % BK);
    for (int i = tid; i < BK * BN; i += threads)
      bs[i / BN][i % BN] = load1<Edges>(p.b, p.ldb, p.k, p.n, k0 + i / BN, tile.col + i % BN);
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
    for (int j = 0; j < TN; ++j)
      store1<Edges>(p, tile.row + ty * TM + i, tile.col + tx * TN + j, acc[i][j]);
}

}  // namespace

Status r04_block_tile(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<BM, BN, BK>(block_tile<false>, block_tile<true>, threads, problem, stream);
}

}  // namespace KW_TARGET
