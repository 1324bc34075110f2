// s5: r03's tiles, copied and used with a warp down the columns.
//
// Idea        The step between r01 and r03 that S5 took its "tens of times" from: tiles in shared
//             memory, but consecutive threads along the rows of C, so every copy of a tile touches
//             32 lines. r03 differs by which index is threadIdx.x.
// Prediction  A copy of a tile costs 32 sectors a request instead of 4, and the column that lanes
//             read or write in as and bs lies in one bank: 32 wavefronts for each store, and for
//             each read of A of a k-step. 32 + 1 wavefronts an FMA where r03 has 1.25: at most 0.5
//             TFLOP/s at any size, r01's speed, a sixteenth of r03's. So S5's "tens of times" is
//             this factor, that of banks, and not of coalesced loads alone.
// Limits      Bank conflicts of 32.
// Original    S5, on an RTX 2080 Ti. It took multiples of 32 only and indexed B as if transposed.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int tile_size = 32;

__global__ void __launch_bounds__(tile_size* tile_size) s5_shared_rows(PlainSgemm p) {
  __shared__ float as[tile_size][tile_size];  // [m][k]
  __shared__ float bs[tile_size][tile_size];  // [k][n]
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const TileOrigin tile = tile_origin<tile_size, tile_size>(p);
  const std::int64_t row = tile.row + tx, col = tile.col + ty;  // the lanes of a warp: rows

  float sum = 0;
  for (std::int64_t k0 = 0; k0 < p.k; k0 += tile_size) {
    as[tx][ty] = load1<true>(p.a, p.lda, p.m, p.k, row, k0 + ty);
    bs[tx][ty] = load1<true>(p.b, p.ldb, p.k, p.n, k0 + tx, col);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < tile_size; ++i) sum = fmaf(as[tx][i], bs[i][ty], sum);
    __syncthreads();
  }
  store1<true>(p, row, col, sum);
}

}  // namespace

Status s5_shared_uncoalesced(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  PlainSgemm p = problem;
  p.k = p.loop_k();
  return gpu::launch(s5_shared_rows,
                     {tile_grid<tile_size, tile_size>(p), dim3(tile_size, tile_size), 0, stream},
                     p);
}

}  // namespace KW_TARGET
