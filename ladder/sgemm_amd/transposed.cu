// amd_03_3, 03_4, 03_6: A transposed in shared memory, 128x128 outputs a block.
//
// Idea        A thread's eight values of A of one k lie side by side, as B's do, and are read 16
//             bytes at a time. Rows of both tiles are 4 floats longer than the tile.
//   03_3      every thread copies 16 bytes of A and 16 of B
//   03_4      the first half of the threads copies A, 32 bytes each, the second half B
//   03_6      steps of 16 along k, 8x8 lanes a wavefront, four k-steps in registers first; copies
//             one by one. S2 calls it an unfinished double buffer of registers: it has one
//   03_3 ours with __launch_bounds__(256), which on AMD doubles what a thread may keep in registers
// Prediction  H200, 4096: a thread's eight neighbours lie 32 bytes from the next thread's, so B's
//             reads take 8 passes, as in r05: 3.7 to 4.2 ms for 03_3 and 03_4, 3.8 to 4.6 for 03_6.
//             The bounds change nothing: nvcc has them in every row.
//             AMD: 64 sums in the 64 registers that a thread gets without __launch_bounds__: they
//             spill into accumulation registers.
// Limits      Copy and compute take turns; conflicts of B's reads.
// Original    S2: 17.63, 17.98 and 22.89 ms on an MI100 at 4096.
#include "tile.hpp"

namespace KW_TARGET::amd {
namespace {

// The tiles of A and B, as far as this thread copies them.
template <class Form, bool Edges>
__device__ __forceinline__ void copy_tiles(const PlainSgemm& p, TileOrigin tile, std::int64_t k0,
                                           float* as, float* bs) {
  constexpr Tile t = Form::tile;
  constexpr bool halves = Form::copiers == Copiers::halves;
  constexpr int workers = halves ? threads / 2 : threads;
  constexpr int pitch_a = t.bm + Form::pad, pitch_b = t.bn + Form::pad;
  constexpr int run = t.bm * t.bk / workers;
  const int tid = static_cast<int>(threadIdx.x), first = tid % workers * run;
  const int row = first / t.bk, a_k = first % t.bk, b_k = first / t.bn, col = first % t.bn;
  const bool copies_a = !halves || tid < workers, copies_b = !halves || tid >= workers;
  constexpr bool vectors = Form::copiers != Copiers::runs;
  constexpr int step = vectors ? 4 : 1;
  if (copies_a) {
#pragma unroll
    for (int i = 0; i < run; i += step) {
      float a[4] = {};
      if constexpr (vectors) {
        const float4 four = load4<Edges>(p.a, p.lda, p.m, p.k, tile.row + row, k0 + a_k + i);
        a[0] = four.x, a[1] = four.y, a[2] = four.z, a[3] = four.w;
      } else {
        a[0] = load1<Edges>(p.a, p.lda, p.m, p.k, tile.row + row, k0 + a_k + i);
      }
#pragma unroll
      for (int e = 0; e < step; ++e) as[(a_k + i + e) * pitch_a + row] = a[e];
    }
  }
  if (copies_b) {
#pragma unroll
    for (int i = 0; i < run; i += step) {
      float* to = bs + b_k * pitch_b + col + i;
      if constexpr (vectors)
        *reinterpret_cast<float4*>(to) =
            load4<Edges>(p.b, p.ldb, p.k, p.n, k0 + b_k, tile.col + col + i);
      else
        *to = load1<Edges>(p.b, p.ldb, p.k, p.n, k0 + b_k, tile.col + col + i);
    }
  }
}

template <class Form, bool Edges>
__global__ void __launch_bounds__((block_bound<Form>), (blocks_wanted<Form, Edges>))
    transposed_tile(PlainSgemm p) {
  constexpr Tile t = Form::tile;
  constexpr int pitch_a = t.bm + Form::pad, pitch_b = t.bn + Form::pad;
  __shared__ __align__(16) float as[t.bk * pitch_a];
  __shared__ __align__(16) float bs[t.bk * pitch_b];
  const Place<t, Form::lanes> own(static_cast<int>(threadIdx.x));
  const TileOrigin tile = tile_origin<t.bm, t.bn>(p);

  float acc[t.tm][t.tn] = {};
  for (std::int64_t k0 = 0; k0 < p.k; k0 += t.bk) {
    copy_tiles<Form, Edges>(p, tile, k0, as, bs);
    __syncthreads();
    for (int kk = 0; kk < t.bk; kk += Form::k_steps) {
      Operand<t, Form::lanes> operand[Form::k_steps];
#pragma unroll
      for (int step = 0; step < Form::k_steps; ++step)
        operand[step].read(as + (kk + step) * pitch_a + own.row,
                           bs + (kk + step) * pitch_b + own.col);
#pragma unroll
      for (int step = 0; step < Form::k_steps; ++step)
        outer_product(acc, operand[step].a, operand[step].b);
    }
    __syncthreads();
  }
  store_outputs<Edges>(p, tile, own, acc);
}

}  // namespace

template <class Form>
Status transposed(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  constexpr Tile t = Form::tile;
  return launch_tiles<t.bm, t.bn, t.bk>(transposed_tile<Form, false>, transposed_tile<Form, true>,
                                        threads, problem, stream);
}
template KernelLaunch<Sgemm> transposed<Transposed>;
template KernelLaunch<Sgemm> transposed<TransposedHalves>;
template KernelLaunch<Sgemm> transposed<TransposedDeep>;
template KernelLaunch<Sgemm> transposed<TransposedBounds>;

}  // namespace KW_TARGET::amd
