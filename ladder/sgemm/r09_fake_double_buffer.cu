// r09: two buffers in shared memory, filled at the wrong moment.
//
// Idea        With two buffers the next tile can be stored while this one is still in use, so one
//             barrier a tile is enough. But here the next tile is loaded and stored before the
//             compute: the store needs the loaded value, so each warp waits for global memory
//             first, as before. "Fake": the buffers are there, the overlap within a warp is not.
// Prediction  One barrier of two goes, and with it the lock step: warps of a block may be half a
//             tile apart, so some compute while others wait. +3 to +8 % over r07.
// Limits      The latency of global memory in front of each tile; only other warps hide it.
// Original    S1, 4270 / 19062 / 30942 GFLOP/s on an RTX 4090: the best of its ladder at several
//             small sizes, which its author could not explain. Its last tile was always read from
//             buffer 1: wrong for an odd number of tiles.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
constexpr int threads = (BM / TM) * (BN / TN);  // 256
constexpr int half_m = BM / 2, half_n = BN / 2;

template <bool Edges>
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) fake_double_buffer(PlainSgemm p) {
  __shared__ __align__(16) float as[2][BK][BM];
  __shared__ __align__(16) float bs[2][BK][BN];
  const int tid = static_cast<int>(threadIdx.x);
  const int tx = tid % (BN / TN), ty = tid / (BN / TN);
  const int a_row = tid / (BK / 4), a_col = tid % (BK / 4) * 4;
  const int b_row = tid / (BN / 4), b_col = tid % (BN / 4) * 4;
  const TileOrigin tile = tile_origin<BM, BN>(p);

  const auto copy_tile = [&](std::int64_t k0, int buffer) {
    const float4 a = load4<Edges>(p.a, p.lda, p.m, p.k, tile.row + a_row, k0 + a_col);
    const float4 b = load4<Edges>(p.b, p.ldb, p.k, p.n, k0 + b_row, tile.col + b_col);
    as[buffer][a_col + 0][a_row] = a.x;
    as[buffer][a_col + 1][a_row] = a.y;
    as[buffer][a_col + 2][a_row] = a.z;
    as[buffer][a_col + 3][a_row] = a.w;
    *reinterpret_cast<float4*>(&bs[buffer][b_row][b_col]) = b;
  };

  float acc[TM][TN] = {};
  if (p.k > 0) copy_tile(0, 0);
  __syncthreads();
  int buffer = 0;
  for (std::int64_t k0 = 0; k0 < p.k; k0 += BK) {
    if (k0 + BK < p.k) copy_tile(k0 + BK, buffer ^ 1);  // load, wait, store: then compute
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
    __syncthreads();  // the next tile is stored, this one is used: buffers change
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

Status r09_fake_double_buffer(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<BM, BN, BK>(fake_double_buffer<false>, fake_double_buffer<true>, threads,
                                  problem, stream);
}

}  // namespace KW_TARGET
