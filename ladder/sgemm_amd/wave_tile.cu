// Our variants of amd_05 and amd_08_4: one buffer with A transposed, lanes in rows or along a Z.
//
// Idea        A as [k][m + 4]: all operands of a k-step are two 16-byte reads. What differs is how
//             the lanes stand over the outputs.
//   05 ours   16x16 lanes row by row: a warp reads 2 different rows of A and 16 columns of B
//   08_4 ours 8x8 lanes along a Z of Zs: 4 consecutive lanes form a square
// Prediction  H200: 16-byte reads are served a quarter-warp at a time, and quarters merge only
// where
//             neighbours read the same address (r11). Row by row that is 6 passes a k-step, along
//             the Z 4, and shared memory no longer holds it back: 8 to 15 % faster.
//             MI100: 8 lanes a cycle whatever their addresses, so no shape should matter.
// Limits      One buffer: copy and compute take turns.
// Original    S2's 05 and 08_4 are in one_buffer.cu; its Z is pairs of rows.
#include "tile.hpp"

namespace KW_TARGET::amd {
namespace {

template <class Form, bool Edges>
__global__ void __launch_bounds__((block_bound<Form>), (blocks_wanted<Form, Edges>))
    lanes_over_tile(PlainSgemm p) {
  constexpr Tile t = Form::tile;
  constexpr int pitch_a = t.bm + 4, pitch_b = t.bn + 4;
  __shared__ __align__(16) float as[t.bk * pitch_a];
  __shared__ __align__(16) float bs[t.bk * pitch_b];
  const int tid = static_cast<int>(threadIdx.x);
  const Place<t, Form::lanes> own(tid);
  const TileOrigin tile = tile_origin<t.bm, t.bn>(p);
  TileCopy<t, Edges> copy(tid);

  float acc[t.tm][t.tn] = {};
  for (std::int64_t k0 = 0; k0 < p.k; k0 += t.bk) {
    copy.load(p, tile, k0);
    copy.store_transposed(as, pitch_a, bs, pitch_b);
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < t.bk; ++kk) {
      Operand<t, Form::lanes> operand;
      operand.read(as + kk * pitch_a + own.row, bs + kk * pitch_b + own.col);
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
template KernelLaunch<Sgemm> wave_tile<RowLanes>;
template KernelLaunch<Sgemm> wave_tile<ZLanes>;

}  // namespace KW_TARGET::amd
