// r01: one thread computes one element of C; the threads of a warp walk down a column.
//
// Idea        The definition of the product, a thread an element. threadIdx.x, the index that moves
//             within a warp, is the row: the mistake of a first CUDA program.
// Prediction  At each k a warp reads 32 rows of A, so 32 sectors of which it uses 4 bytes each, and
//             one element of B. The load unit works through 32 addresses in different 128-byte
//             lines for 32 FMAs, about one line a cycle: 132 SMs x 1.98 GHz x 64 flop / 33 cycles
//             = 0.5 TFLOP/s, under 1 % of the FFMA peak of 66.
// Limits      The L1 cache's address throughput. C is written in 4-byte pieces, 32 sectors a store.
// Original    S5's first kernel; it indexed B as if transposed and took only square multiples of
//             32.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

__global__ void __launch_bounds__(1024) naive_uncoalesced(PlainSgemm p) {
  const TileOrigin tile = tile_origin<32, 32>(p);
  const std::int64_t row = tile.row + threadIdx.x;  // differs within the warp
  const std::int64_t col = tile.col + threadIdx.y;  // the same for the whole warp
  if (row >= p.m || col >= p.n) return;

  float sum = 0;
  for (std::int64_t i = 0; i < p.k; ++i)
    sum = fmaf(p.a[row * p.lda + i], p.b[i * p.ldb + col], sum);

  float* c = p.c + row * p.ldc + col;
  *c = blend(p.alpha, sum, p.beta, c);
}

}  // namespace

Status r01_naive_uncoalesced(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  PlainSgemm p = problem;
  p.k = p.loop_k();
  return gpu::launch(naive_uncoalesced, {tile_grid<32, 32>(p), dim3(32, 32), 0, stream}, p);
}

}  // namespace KW_TARGET
