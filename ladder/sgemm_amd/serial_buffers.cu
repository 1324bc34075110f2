// amd_06: two buffers whose copies do not overlap anything.
//
// Idea        Two buffers of each tile, one barrier a tile; two sets of registers for four k-steps'
//             operands, the next four read after the FMAs of these. But the next tile is loaded and
//             stored at once after the last FMA, so its latency stands alone (r09, too), and the
//             set is chosen by a number that is only known when the kernel runs.
// Prediction  Registers have no index that is known at run time: the sets go to scratch (AMD) or
//             local memory (NVIDIA) unless the compiler unrolls the loop and sees the number come
//             back to where it began. H200, 4096: 4.6 to 5.2 ms if it does, 20 to 60 if not.
// Limits      The latency of global memory, twice a tile.
// Original    S2: 164.5 ms on an MI100 at 4096, which its author puts down to the compiler: hipcc
//             does not overlap the loads. They stand after the FMAs in the text, and compiled with
//             hipcc 5.2 the kernel keeps its operands in 272 bytes of scratch memory a lane.
#include "tile.hpp"

namespace KW_TARGET::amd {
namespace {

constexpr Tile t = tile_64;
constexpr int steps = 4, pad = 4, pitch_a = t.bk + pad, pitch_b = t.bn + pad;

template <bool Edges>
__global__ void __launch_bounds__((block_bound<AsPublished>), (blocks_wanted<AsPublished, Edges>))
    serial_copies(PlainSgemm p) {
  __shared__ __align__(16) float as[2][t.bm * pitch_a];
  __shared__ __align__(16) float bs[2][t.bk * pitch_b];
  const int tid = static_cast<int>(threadIdx.x);
  const Place<t, whole_block> own(tid);
  const TileOrigin tile = tile_origin<t.bm, t.bn>(p);
  TileCopy<t, Edges> copy(tid);

  float acc[t.tm][t.tn] = {};
  float a[2][t.tm][steps], b[2][steps][t.tn];
  int buffer = 0, set = 0;
  const auto read = [&](int kk) {
    for (int i = 0; i < t.tm; ++i)
      for (int step = 0; step < steps; ++step)
        a[set][i][step] = as[buffer][(own.row + i) * pitch_a + kk + step];
    for (int step = 0; step < steps; ++step)
      for (int j = 0; j < t.tn; ++j)
        b[set][step][j] = bs[buffer][(kk + step) * pitch_b + own.col + j];
  };
  const auto load_tile = [&](std::int64_t k0) {
    copy.load(p, tile, k0);
    copy.store_a(as[buffer], pitch_a);
    copy.store_b(bs[buffer], pitch_b);
  };

  if (p.k > 0) load_tile(0);
  for (std::int64_t k0 = 0; k0 < p.k; k0 += t.bk) {
    __syncthreads();
    read(0);
    for (int kk = 0; kk < t.bk; kk += steps) {
      for (int i = 0; i < t.tm; ++i)
        for (int j = 0; j < t.tn; ++j)
          for (int step = 0; step < steps; ++step)
            acc[i][j] = fmaf(a[set][i][step], b[set][step][j], acc[i][j]);
      set ^= 1;
      if (kk + steps < t.bk) read(kk + steps);
    }
    buffer ^= 1;
    if (k0 + t.bk < p.k) load_tile(k0 + t.bk);
  }
  store_outputs<Edges>(p, tile, own, acc);
}

}  // namespace

Status serial_buffers(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<t.bm, t.bn, t.bk>(serial_copies<false>, serial_copies<true>, threads, problem,
                                        stream);
}

}  // namespace KW_TARGET::amd
