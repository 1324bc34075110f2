// amd_08_1 to 08_4, 09: how the 64 lanes of a wavefront stand over the outputs.
//
// Idea        The block's outputs are cut into rectangles of one wavefront each; the nearer to a
//             square, the fewer different elements of A and B a wavefront reads.
//   08_1      8x8 lanes, 32x32 outputs: 32 + 32 elements a k-step; also with 128x128x8
//   08_2      4x16 lanes, 16x64 outputs: 16 + 64; what consecutive threads form without a plan
//   08_3      8x8 without padding, unrolling and vector reads in the text
//   08_4      8x8, lanes along a Z of Zs: 4 consecutive lanes form a square
//   09        8x8, a thread's 4x4 outputs as four 2x2 pieces, 16 apart
// Prediction  H200, where a wavefront is two warps: 16-byte reads are served a quarter-warp at a
//             time, and quarters merge only where neighbours read the same address (r11). So 08_1
//             and 08_2 take 6 passes a k-step like 05, within 2 % of it; in 08_4 neighbours along
//             both directions share, 4 passes, and shared memory no longer holds it back: 8 to 15 %
//             faster. 09 as r08 against r07, -3 to +4 %. 08_3 takes 1.2 to 1.5 times 08_1's time.
//             128x128x8: as 05's. MI100: 8 lanes a cycle whatever their addresses, so no shape
//             should matter.
// Limits      As in padded.cu: one buffer, copy and compute take turns.
// Original    S2: 14.25, 13.47, 22.22, 13.08 and 14.30 ms on an MI100 at 4096: there 4x16 won
//             against 8x8, and the Z against both.
#include "tile.hpp"

namespace KW_TARGET::amd {
namespace {

template <class Form, bool Edges>
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) lanes_over_tile(PlainSgemm p) {
  constexpr Tile t = Form::tile;
  constexpr int pad = Form::optimised ? 4 : 0, pitch_a = t.bm + pad, pitch_b = t.bn + pad;
  __shared__ __align__(16) float as[t.bk * pitch_a];
  __shared__ __align__(16) float bs[t.bk * pitch_b];
  const int tid = static_cast<int>(threadIdx.x);
  const Place<t, Form::lanes> own(tid);
  const TileOrigin tile = tile_origin<t.bm, t.bn>(p);
  TileCopy<t, Edges> copy(tid);

  float acc[t.tm][t.tn] = {};
  for (std::int64_t k0 = 0; k0 < p.k; k0 += t.bk) {
    copy.load(p, tile, k0);
    copy.store(as, pitch_a, bs, pitch_b);
    __syncthreads();
#pragma unroll Form::optimised ? t.bk : 1
    for (int kk = 0; kk < t.bk; ++kk) {
      const float* a_row = as + kk * pitch_a + own.row;
      const float* b_row = bs + kk * pitch_b + own.col;
      Operand<t, Form::lanes> operand;
      if constexpr (Form::optimised) {
        operand.read(a_row, b_row);
      } else {
#pragma unroll
        for (int i = 0; i < t.tm; ++i) operand.a[i] = a_row[own.row_of(i)];
#pragma unroll
        for (int j = 0; j < t.tn; ++j) operand.b[j] = b_row[own.col_of(j)];
      }
      outer_product(acc, operand.a, operand.b);
    }
    __syncthreads();
  }
  store_outputs<Edges>(p, tile, own, acc);
}

}  // namespace

template <class Form>
Status wave_tile(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  constexpr Tile t = Form::tile;
  return launch_tiles<t.bm, t.bn, t.bk>(lanes_over_tile<Form, false>, lanes_over_tile<Form, true>,
                                        threads, problem, stream);
}
template KernelLaunch<Sgemm> wave_tile<Square>;
template KernelLaunch<Sgemm> wave_tile<Square128>;
template KernelLaunch<Sgemm> wave_tile<Flat>;
template KernelLaunch<Sgemm> wave_tile<Unoptimised>;
template KernelLaunch<Sgemm> wave_tile<ZOrder>;
template KernelLaunch<Sgemm> wave_tile<Quarters>;

}  // namespace KW_TARGET::amd
