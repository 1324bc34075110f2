// r07: fragments are read from shared memory without bank conflicts.
//
// Idea        A is stored transposed, [k][m], so that a thread's eight values of one k lie side
//             by side. Its 8x8 outputs are four 4x4 quarters 64 apart: the 16 threads along n then
//             read 256 contiguous bytes for each half of their B fragment, where a stride of 32
//             bytes made two-way conflicts.
// Prediction  Wavefronts a warp and k-step: B 4 instead of 8, A 2 instead of 4: 6 where 16 cycles
//             of FMAs stand. What it costs: four scalar, two-way conflicting stores of A a tile
//             instead of one vector, 8 wavefronts more a warp for 8 x 6 saved. The waits for
//             global memory stay, so no more than +10 to +20 %.
// Limits      Copy and compute still take turns. The transposing stores conflict: lanes that hold
//             the same row of A and different k hit the same bank.
// Original    S1, 3183 / 18664 / 30244 GFLOP/s on an RTX 4090; faults as in r04. Its author left
//             the cost of the transposed stores open: README.md counts it.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
constexpr int threads = (BM / TM) * (BN / TN);   // 256
constexpr int half_m = BM / 2, half_n = BN / 2;  // the distance of the quarters: 64

template <bool Edges>
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) conflict_free(PlainSgemm p) {
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
      __align__(16) float a_frag[TM], b_frag[TN];
      *reinterpret_cast<float4*>(&a_frag[0]) = *reinterpret_cast<float4*>(&as[kk][ty * 4]);
      *reinterpret_cast<float4*>(&a_frag[4]) = *reinterpret_cast<float4*>(&as[kk][half_m + ty * 4]);
      *reinterpret_cast<float4*>(&b_frag[0]) = *reinterpret_cast<float4*>(&bs[kk][tx * 4]);
      *reinterpret_cast<float4*>(&b_frag[4]) = *reinterpret_cast<float4*>(&bs[kk][half_n + tx * 4]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] = fmaf(a_frag[i], b_frag[j], acc[i][j]);
    }
  }

#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)  // quarter (i / 4, j / 4)
      store_row<Edges, 4>(p, tile.row + i / 4 * half_m + ty * 4 + i % 4,
                          tile.col + j / 4 * half_n + tx * 4, &acc[i][j]);
}

}  // namespace

Status r07_conflict_free(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<BM, BN, BK>(conflict_free<false>, conflict_free<true>, threads, problem,
                                  stream);
}

}  // namespace KW_TARGET
