// r10: the next tile travels while this one is computed.
//
// Idea        r09 with the halves of the copy apart: global loads into registers before the
//             compute, stores from registers into the other buffer after it. The 512 FMAs between
//             them hide the latency within each warp.
// Prediction  A tile's FMAs keep an SM sub-partition busy for 512 cycles a warp, 2 warps of each of
//             2 blocks there: about 2000 cycles, far more than the 600 to 800 of a global load. The
//             wait in front of the store should vanish: +5 to +10 % over r09. It costs 8 more
//             live registers.
// Limits      The transposing stores of A now stand alone between the compute and the barrier.
// Original    S1, 3370 / 19854 / 31643 GFLOP/s on an RTX 4090; its last tile was always read from
//             buffer 1. README.md compares it with the fake one.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
constexpr int threads = (BM / TM) * (BN / TN);  // 256
constexpr int half_m = BM / 2, half_n = BN / 2;

template <bool Edges>
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) double_buffer(PlainSgemm p) {
  __shared__ __align__(16) float as[2][BK][BM];
  __shared__ __align__(16) float bs[2][BK][BN];
  const int tid = static_cast<int>(threadIdx.x);
  const int tx = tid % (BN / TN), ty = tid / (BN / TN);
  const int a_row = tid / (BK / 4), a_col = tid % (BK / 4) * 4;
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;
  const TileOrigin tile = tile_origin<BM, BN>(p);

  float4 a_next = {}, b_next = {};
  const auto load_tile = [&](std::int64_t k0) {
    a_next = load4<Edges>(p.a, p.lda, p.m, p.k, tile.row + a_row, k0 + a_col);
    b_next = load4<Edges>(p.b, p.ldb, p.k, p.n, k0 + b_row, tile.col + b_col);
  };
  const auto store_tile = [&](int buffer) {
    as[buffer][a_col + 0][a_row] = a_next.x;
    as[buffer][a_col + 1][a_row] = a_next.y;
    as[buffer][a_col + 2][a_row] = a_next.z;
    as[buffer][a_col + 3][a_row] = a_next.w;
    *reinterpret_cast<float4*>(&bs[buffer][b_row][b_col]) = b_next;
  };

  float acc[TM][TN] = {};
  if (p.k > 0) load_tile(0);
  store_tile(0);
  __syncthreads();
  int buffer = 0;
  for (std::int64_t k0 = 0; k0 < p.k; k0 += BK) {
    const bool more = k0 + BK < p.k;
    if (more) load_tile(k0 + BK);  // in flight during the compute
#pragma unroll
    for (int kk = 0; kk < BK; ++kk) {
      __align__(16) float a_frag[TM], b_frag[TN];
      *reinterpret_cast<float4*>(&a_frag[0]) = *reinterpret_cast<float4*>(&as[buffer][kk][ty * 4]);
      *reinterpret_cast<float4*>(&a_frag[4]) =
          *reinterpret_cast<float4*>(&as[buffer][kk][half_m + ty * 4]);
      *reinterpret_cast<float4*>(&b_frag[0]) = *reinterpret_cast<float4*>(&bs[buffer][kk][tx * 4]);
      *reinterpret_cast<float4*>(&b_frag[4]) =
          *reinterpret_cast<float4*>(&bs[buffer][kk][half_n + tx * 4]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] = fmaf(a_frag[i], b_frag[j], acc[i][j]);
    }
    if (more) store_tile(buffer ^ 1);  // nobody reads that buffer since the last barrier
    __syncthreads();
    buffer ^= 1;
  }

#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      store_row<Edges, 4>(p, tile.row + i / 4 * half_m + ty * 4 + i % 4,
                          tile.col + j / 4 * half_n + tx * 4, &acc[i][j]);
}

}  // namespace

Status r10_double_buffer(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<BM, BN, BK>(double_buffer<false>, double_buffer<true>, threads, problem,
                                  stream);
}

}  // namespace KW_TARGET
