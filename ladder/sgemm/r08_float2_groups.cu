// r08: 8-byte fragments, the outputs of a thread as 2x2 groups 32 apart.
//
// Idea        Another way to the same end as r07: A transposed in shared memory, and a thread's 8x8
//             outputs spread as sixteen 2x2 groups at distances of 32, so that the 16 threads along
//             n read 128 contiguous bytes for each pair of their fragment.
// Prediction  The same bytes in twice as many instructions: 8 reads of 8 bytes a k-step instead of
//             4 of 16, for 64 FMAs: the FMA share of the issue slots falls from 64/68 to 64/72,
//             6 %. The wavefronts are those of r07 (4 for B, 4 for A, where an 8-byte read takes at
//             least one). Expect a little under r07 and over r06.
// Limits      As r07; C is written in 8-byte pieces.
// Original    S5's last kernel: 14.37 ms at 4096 on an RTX 2080 Ti against cuBLAS's 18.00 with the
//             handle's creation timed. It took square multiples of the tile only.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
constexpr int threads = (BM / TM) * (BN / TN);  // 256
constexpr int step = 32;                        // 16 threads x 2 outputs

template <bool Edges>
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) float2_groups(PlainSgemm p) {
  __shared__ __align__(16) float as[BK][BM];  // transposed
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
    if (k0 > 0) __syncthreads();
    as[a_col + 0][a_row] = a.x;
    as[a_col + 1][a_row] = a.y;
    as[a_col + 2][a_row] = a.z;
    as[a_col + 3][a_row] = a.w;
    *reinterpret_cast<float4*>(&bs[b_row][b_col]) = b;
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < BK; ++kk) {
      float2 a_frag[TM / 2], b_frag[TN / 2];
#pragma unroll
      for (int g = 0; g < TM / 2; ++g)
        a_frag[g] = *reinterpret_cast<float2*>(&as[kk][g * step + ty * 2]);
#pragma unroll
      for (int g = 0; g < TN / 2; ++g)
        b_frag[g] = *reinterpret_cast<float2*>(&bs[kk][g * step + tx * 2]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j)
          acc[i][j] = fmaf(i % 2 ? a_frag[i / 2].y : a_frag[i / 2].x,
                           j % 2 ? b_frag[j / 2].y : b_frag[j / 2].x, acc[i][j]);
    }
  }

#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 2)  // group (i / 2, j / 2)
      store_row<Edges, 2>(p, tile.row + i / 2 * step + ty * 2 + i % 2,
                          tile.col + j / 2 * step + tx * 2, &acc[i][j]);
}

}  // namespace

Status r08_float2_groups(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<BM, BN, BK>(float2_groups<false>, float2_groups<true>, threads, problem,
                                  stream);
}

}  // namespace KW_TARGET
