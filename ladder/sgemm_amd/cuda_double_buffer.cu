// amd_10: another author's CUDA kernel with two double buffers, as S2 moved it over.
//
// Idea        128x128x8, 8x8 outputs a thread, a warp of 32 over 64x32 outputs. Two buffers in
//             shared memory: the next tile's loads before the FMAs, its stores after them. Two sets
//             of operands in registers: a k-step's are read before the FMAs of the one before it.
//             One operand lies along its rows and comes in 16-byte reads, the other is transposed
//             and comes float by float.
// Prediction  H200, 4096: r10 with operands ahead, 2.8 to 3.2 ms.
//             AMD: 64 sums, two sets of 16 operands and 8 floats on their way in 64 registers. The
//             CUDA original counts on 255.
// Limits      On AMD registers; the warp of 32 is not this machine's.
// Original    S2, 186.3 ms on an MI100 at 4096; compiled with hipcc 5.2 it keeps 272 bytes a lane
// in
//             scratch memory. It works on column-major matrices and always reads C. Here rows and
//             columns change places, which is the same kernel for row-major ones, and C is read
//             where beta is not 0.
#include "device/repeat.hpp"
#include "tile.hpp"

namespace KW_TARGET::amd {
namespace {

constexpr Tile t = tile_128;

template <bool Edges>
__global__ void __launch_bounds__((block_bound<AsPublished>), (blocks_wanted<AsPublished, Edges>))
    operands_ahead(PlainSgemm p) {
  __shared__ __align__(16) float as[2][t.bk * t.bm];  // transposed, [k][m]
  __shared__ __align__(16) float bs[2][t.bk * t.bn];
  const int tid = static_cast<int>(threadIdx.x), warp = tid / 32, lane = tid % 32;
  const int row = warp / 4 * 64 + lane / 4 * 8, col = warp % 4 * 32 + lane % 4 * 8;
  const TileOrigin tile = tile_origin<t.bm, t.bn>(p);
  TileCopy<t, Edges> copy(tid);

  float acc[t.tm][t.tn] = {};
  float a[2][t.tm], b[2][t.tn];
  int buffer = 0;
  const auto read = [&](auto set, int kk) {
    constexpr int to = decltype(set)::value;
    read_vector<8>(b[to], bs[buffer] + kk * t.bn + col);
#pragma unroll
    for (int i = 0; i < t.tm; ++i) a[to][i] = as[buffer][kk * t.bm + row + i];
  };
  const auto multiply_tile = [&] {
    repeat<t.bk>([&](auto step) {
      constexpr int kk = decltype(step)::value;
      if constexpr (kk + 1 < t.bk) read(std::integral_constant<int, (kk + 1) % 2>(), kk + 1);
      outer_product(acc, a[kk % 2], b[kk % 2]);
    });
  };

  if (p.k > 0) {
    copy.load(p, tile, 0);
    copy.store_transposed(as[0], t.bm, bs[0], t.bn);
    __syncthreads();
    read(std::integral_constant<int, 0>(), 0);
    for (std::int64_t k0 = t.bk; k0 < p.k; k0 += t.bk) {
      copy.load(p, tile, k0);  // in flight during the FMAs
      multiply_tile();
      buffer ^= 1;
      copy.store_transposed(as[buffer], t.bm, bs[buffer], t.bn);
      __syncthreads();
      read(std::integral_constant<int, 0>(), 0);
    }
    multiply_tile();
  }
#pragma unroll
  for (int i = 0; i < t.tm; ++i)
#pragma unroll
    for (int j = 0; j < t.tn; j += 4)
      store_row<Edges, 4>(p, tile.row + row + i, tile.col + col + j, &acc[i][j]);
}

}  // namespace

Status cuda_double_buffer(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<t.bm, t.bn, t.bk>(operands_ahead<false>, operands_ahead<true>, threads,
                                        problem, stream);
}

}  // namespace KW_TARGET::amd
