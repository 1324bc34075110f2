// r02: one thread computes one element of C; the threads of a warp walk along a row.
//
// Idea        Two words of r01 change places: threadIdx.x is the column. A warp now reads one
//             element of A, broadcast, and 128 contiguous bytes of B, and writes 128 contiguous
//             bytes of C.
// Prediction  Two load instructions of one wavefront each for 32 FMAs, where r01 had 33: the L1
//             bound is 132 SMs x 1.98 GHz x 64 flop / 2 = 8.4 TFLOP/s, 16 times r01's.
// Limits      Still two loads per FMA. Nothing is reused but what the caches happen to hold.
// Original    S1's naive kernel, 2008 / 4216 / 4058 GFLOP/s (its own unit, 2^30) on an RTX 4090 at
//             1024 / 4096 / 16384; it had no guard at the edges.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

__global__ void __launch_bounds__(1024) naive_coalesced(PlainSgemm p) {
  const TileOrigin tile = tile_origin<32, 32>(p);
  const std::int64_t row = tile.row + threadIdx.y;  // the same for the whole warp
  const std::int64_t col = tile.col + threadIdx.x;  // differs within the warp
  if (row >= p.m || col >= p.n) return;

  float sum = 0;
  for (std::int64_t i = 0; i < p.k; ++i)
    sum = fmaf(p.a[row * p.lda + i], p.b[i * p.ldb + col], sum);

  float* c = p.c + row * p.ldc + col;
  *c = blend(p.alpha, sum, p.beta, c);
}

}  // namespace

Status r02_naive_coalesced(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  PlainSgemm p = problem;
  p.k = p.loop_k();
  return gpu::launch(naive_coalesced, {tile_grid<32, 32>(p), dim3(32, 32), 0, stream}, p);
}

}  // namespace KW_TARGET
