// r03: 32x32 tiles of A and B are staged in shared memory.
//
// Idea        A block of 32x32 threads copies a 32x32 tile of A and of B once and uses each value
//             32 times, so global traffic falls by 32.
// Prediction  r02 was not limited by global traffic but by load instructions an FMA, and there are
//             still two, now from shared memory. Where the compiler reads A four k at a time with
//             one 16-byte load it is 1.25 wavefronts an FMA instead of 2: at most
//             8.4 x 2 / 1.25 = 13 TFLOP/s, and the barriers take their part of that.
// Limits      Shared-memory instructions ("MIO throttle" in the profiler, as S5 saw).
// Original    S3 and S5. Both took multiples of 32 only; S5 indexed B as if transposed.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int tile_size = 32;

__global__ void __launch_bounds__(tile_size* tile_size) shared_tile(PlainSgemm p) {
  __shared__ float as[tile_size][tile_size];  // [m][k]
  __shared__ float bs[tile_size][tile_size];  // [k][n]
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const TileOrigin tile = tile_origin<tile_size, tile_size>(p);
  const std::int64_t row = tile.row + ty, col = tile.col + tx;

  float sum = 0;
  for (std::int64_t k0 = 0; k0 < p.k; k0 += tile_size) {
    as[ty][tx] = load1<true>(p.a, p.lda, p.m, p.k, row, k0 + tx);  // zeros beyond the edges add
    bs[ty][tx] = load1<true>(p.b, p.ldb, p.k, p.n, k0 + ty, col);  // nothing to the sum
    __syncthreads();                                               // the tiles are complete
#pragma unroll
    for (int i = 0; i < tile_size; ++i) sum = fmaf(as[ty][i], bs[i][tx], sum);
    __syncthreads();  // everybody is done with them
  }
  store1<true>(p, row, col, sum);
}

}  // namespace

Status r03_shared_tile(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  PlainSgemm p = problem;
  p.k = p.loop_k();
  return gpu::launch(
      shared_tile, {tile_grid<tile_size, tile_size>(p), dim3(tile_size, tile_size), 0, stream}, p);
}

}  // namespace KW_TARGET
