// amd_02: tiles of A and B in shared memory, their sizes known when the kernel runs.
//
// Idea        A block computes bm x bn elements, a thread one. It copies bm x bk of A and bk x bn
//             of B into dynamic shared memory, fills what lies beyond the edges with zeros, and
//             uses each value bn or bm times.
// Prediction  With 32x32x32 it took 43 ms on an H200 at 4096, bound by the 10.5 instructions of an
//             FMA: addresses are computed all over again. With 16x16x16, S2's sizes, a tile is a
//             quarter of the work between two barriers, and twice as much comes from L2: 45 to 65
//             ms.
// Limits      Two reads of shared memory an FMA; divisions by a size known only at run time.
// Original    S2, 50.12 ms on an MI100 at 4096. Its guard tested the flat index, so an overrun
//             wrapped into the next row: wrong at the edges. Here row and column are tested.
#include "../sgemm/rung.hpp"
#include "rungs.hpp"

namespace KW_TARGET::amd {
namespace {

struct Sizes {
  int bm, bn, bk;
};

__global__ void __launch_bounds__(1024) runtime_tile(PlainSgemm p, Sizes t) {
  float* as = gpu::dynamic_shared<float>();  // [bm][bk]
  float* bs = as + t.bm * t.bk;              // [bk][bn]
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const int tid = ty * t.bn + tx, block_size = t.bm * t.bn;
  const auto tiles_n = static_cast<unsigned>(ceil_div(p.n, t.bn));
  const std::int64_t row0 = std::int64_t{blockIdx.x / tiles_n} * t.bm;
  const std::int64_t col0 = std::int64_t{blockIdx.x % tiles_n} * t.bn;

  float sum = 0;
  for (std::int64_t k0 = 0; k0 < p.k; k0 += t.bk) {
    for (int i = tid; i < t.bm * t.bk; i += block_size)
      as[i] = load1<true>(p.a, p.lda, p.m, p.k, row0 + i / t.bk, k0 + i % t.bk);
    for (int i = tid; i < t.bk * t.bn; i += block_size)
      bs[i] = load1<true>(p.b, p.ldb, p.k, p.n, k0 + i / t.bn, col0 + i % t.bn);
    __syncthreads();
    for (int kk = 0; kk < t.bk; ++kk) sum = fmaf(as[ty * t.bk + kk], bs[kk * t.bn + tx], sum);
    __syncthreads();
  }
  store1<true>(p, row0 + ty, col0 + tx, sum);
}

}  // namespace

Status shared_tile(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  constexpr Sizes t{.bm = 16, .bn = 16, .bk = 16};
  PlainSgemm p = problem;
  p.k = p.loop_k();
  const auto shared_bytes = static_cast<std::size_t>(t.bm * t.bk + t.bk * t.bn) * sizeof(float);
  return gpu::launch(runtime_tile,
                     {tile_grid<t.bm, t.bn>(p), dim3(t.bn, t.bm), shared_bytes, stream}, p, t);
}

}  // namespace KW_TARGET::amd
