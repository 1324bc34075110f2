// amd_07_7: some threads of a block only copy, the others only compute.
//
// Idea        512 threads: the second 256 copy the next tile into the other buffer while the first
//             256 multiply this one, each FMA naming its elements in shared memory. One barrier a
//             tile for all. r15 has the same division of labour, with mbarriers in place of the
//             barrier.
// Prediction  H200, 4096: two blocks of 512 threads share an SM, as many threads compute as in
//             07_3, and no thread that computes waits for global memory: 4.0 to 4.6 ms. But the
//             barrier waits for the copying threads, whose registers are a quarter of the SM's.
// Limits      A block holds twice as many threads for the same FMAs.
// Original    S2: 15.51 ms on an MI100 at 4096, where it calls it a warp tile; its lanes are 4x16,
//             which 64 consecutive threads are anyway.
#include "tile.hpp"

namespace KW_TARGET::amd {
namespace {

constexpr Tile t = tile_64;
constexpr int pad = 4, pitch_a = t.bk + pad, pitch_b = t.bn + pad;
constexpr int all_threads = 2 * threads;
constexpr int bound = gpu::has_nvidia_kernels ? all_threads : 1024;

template <bool Edges>
__global__ void __launch_bounds__(bound, gpu::has_nvidia_kernels && !Edges ? 2 : 1)
    copiers_apart(PlainSgemm p) {
  __shared__ __align__(16) float as[2][t.bm * pitch_a];
  __shared__ __align__(16) float bs[2][t.bk * pitch_b];
  const int tid = static_cast<int>(threadIdx.x) % threads;
  const bool copies = static_cast<int>(threadIdx.x) >= threads;
  const Place<t, whole_block> own(tid);
  const TileOrigin tile = tile_origin<t.bm, t.bn>(p);
  TileCopy<t, Edges> copy(tid);

  float acc[t.tm][t.tn] = {};
  int buffer = 0;
  const auto load_tile = [&](std::int64_t k0, int to) {
    copy.load(p, tile, k0);
    copy.store_a(as[to], pitch_a);
    copy.store_b(bs[to], pitch_b);
  };
  if (!copies && p.k > 0) load_tile(0, 0);
  for (std::int64_t k0 = 0; k0 < p.k; k0 += t.bk) {
    __syncthreads();
    if (copies) {
      if (k0 + t.bk < p.k) load_tile(k0 + t.bk, buffer ^ 1);
    } else {
      const float* a = as[buffer] + own.row * pitch_a;
      const float* b = bs[buffer] + own.col;
#pragma unroll 4  // all 16 take one register more than two blocks of 512 threads leave on an SM
      for (int kk = 0; kk < t.bk; ++kk)
#pragma unroll
        for (int i = 0; i < t.tm; ++i)
#pragma unroll
          for (int j = 0; j < t.tn; ++j)
            acc[i][j] = fmaf(a[i * pitch_a + kk], b[kk * pitch_b + j], acc[i][j]);
    }
    buffer ^= 1;
  }
  if (!copies) store_outputs<Edges>(p, tile, own, acc);
}

}  // namespace

Status copying_lanes(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<t.bm, t.bn, t.bk>(copiers_apart<false>, copiers_apart<true>, all_threads,
                                        problem, stream);
}

}  // namespace KW_TARGET::amd
