// r11: a warp covers a square piece of the tile.
//
// Idea        In r10 the 32 threads of a warp stand as 2x16 and cover 16x128 outputs: they share
//             almost no B. As 8x4 they cover 64x32, and a k-step needs 64 values of A and 32 of B
//             a warp instead of 16 and 128.
// Prediction  Bytes read a warp and k-step fall from 64 + 512 to 256 + 128, wavefronts from about 6
//             to 4: shared memory is busy for 4 of 16 FMA cycles. It was not the limit in r10, so
//             the gain is what fewer bank passes leave to the transposing stores: 0 to +4 %.
// Limits      The issue slots: 64 FMAs of 68 instructions per k-step before any copy or loop
//             arithmetic, 94 %.
// Original    None in S1; S2's steps 7.7 to 8.4 lost with the same idea on an MI100.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
constexpr int threads = (BM / TM) * (BN / TN);   // 256
constexpr int WM = 64, WN = 32;                  // a warp's outputs: 2x4 warps make the tile
constexpr int lanes_n = 4;                       // 8x4 lanes
constexpr int half_m = WM / 2, half_n = WN / 2;  // the distance of a thread's quarters

template <bool Edges>
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) warp_tile(PlainSgemm p) {
  __shared__ __align__(16) float as[2][BK][BM];
  __shared__ __align__(16) float bs[2][BK][BN];
  const int tid = static_cast<int>(threadIdx.x);
  const int warp = tid / 32, lane = tid % 32;
  const int row = warp / (BN / WN) * WM + lane / lanes_n * 4;  // of this thread's first quarter
  const int col = warp % (BN / WN) * WN + lane % lanes_n * 4;
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
      *reinterpret_cast<float4*>(&a_frag[0]) = *reinterpret_cast<float4*>(&as[buffer][kk][row]);
      *reinterpret_cast<float4*>(&a_frag[4]) =
          *reinterpret_cast<float4*>(&as[buffer][kk][half_m + row]);
      *reinterpret_cast<float4*>(&b_frag[0]) = *reinterpret_cast<float4*>(&bs[buffer][kk][col]);
      *reinterpret_cast<float4*>(&b_frag[4]) =
          *reinterpret_cast<float4*>(&bs[buffer][kk][half_n + col]);
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
      store_row<Edges, 4>(p, tile.row + row + i / 4 * half_m + i % 4,
                          tile.col + col + j / 4 * half_n, &acc[i][j]);
}

}  // namespace

Status r11_warp_tile(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<BM, BN, BK>(warp_tile<false>, warp_tile<true>, threads, problem, stream);
}

}  // namespace KW_TARGET
