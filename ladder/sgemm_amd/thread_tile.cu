// amd_03, 03_1, 03_2: a thread computes 4x4 elements.
//
// Idea        64x64 outputs a block, 16 a thread: 8 values from shared memory for 16 FMAs where
//             amd_02 reads 32. The copies are scalar, a thread's elements 256 apart.
//   03        each FMA names its two elements in shared memory
//   03_1      the 4 + 4 elements of one k in one-dimensional register arrays, then the FMAs
//   03_2      a row of B in registers, one element of A at a time
// Prediction  The three are one program to a compiler that keeps what it has loaded, and with the
//             k-loop unrolled it can read A four k at a time. Then they are 03_3 but for eight
//             scalar copies a thread and tile with an address each. H200: 5.5 to 7 ms at 4096, no
//             two of them 3 % apart.
// Limits      A's rows are 16 floats apart: rows 4 apart, of lanes that read together, share a
//             bank. Copy and compute take turns.
// Original    S2: 25.23, 25.58, 17.76 ms on an MI100 at 4096; to its compiler they differed.
#include "tile.hpp"

namespace KW_TARGET::amd {
namespace {

template <Operands operands, bool Edges>
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) scalar_copies(PlainSgemm p) {
  constexpr Tile t = tile_64;
  __shared__ float as[t.bm][t.bk];  // not transposed yet
  __shared__ float bs[t.bk][t.bn];
  const int tid = static_cast<int>(threadIdx.x);
  const Place<t, whole_block> own(tid);
  const TileOrigin tile = tile_origin<t.bm, t.bn>(p);

  float acc[t.tm][t.tn] = {};
  for (std::int64_t k0 = 0; k0 < p.k; k0 += t.bk) {
#pragma unroll
    for (int first = 0; first < t.bm * t.bk; first += threads) {
      const int row = (first + tid) / t.bk, kk = (first + tid) % t.bk;
      as[row][kk] = load1<Edges>(p.a, p.lda, p.m, p.k, tile.row + row, k0 + kk);
    }
#pragma unroll
    for (int first = 0; first < t.bk * t.bn; first += threads) {
      const int kk = (first + tid) / t.bn, col = (first + tid) % t.bn;
      bs[kk][col] = load1<Edges>(p.b, p.ldb, p.k, p.n, k0 + kk, tile.col + col);
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < t.bk; ++kk) {
      if constexpr (operands == Operands::shared) {
#pragma unroll
        for (int i = 0; i < t.tm; ++i)
#pragma unroll
          for (int j = 0; j < t.tn; ++j)
            acc[i][j] = fmaf(as[own.row + i][kk], bs[kk][own.col + j], acc[i][j]);
      } else {
        float a[t.tm], b[t.tn];
#pragma unroll
        for (int j = 0; j < t.tn; ++j) b[j] = bs[kk][own.col + j];
        if constexpr (operands == Operands::registers) {
#pragma unroll
          for (int i = 0; i < t.tm; ++i) a[i] = as[own.row + i][kk];
          outer_product(acc, a, b);
        } else {
#pragma unroll
          for (int i = 0; i < t.tm; ++i) {
            const float element = as[own.row + i][kk];
#pragma unroll
            for (int j = 0; j < t.tn; ++j) acc[i][j] = fmaf(element, b[j], acc[i][j]);
          }
        }
      }
    }
    __syncthreads();
  }
  store_outputs<Edges>(p, tile, own, acc);
}

}  // namespace

template <Operands operands>
Status thread_tile(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  constexpr Tile t = tile_64;
  return launch_tiles<t.bm, t.bn, t.bk>(scalar_copies<operands, false>,
                                        scalar_copies<operands, true>, threads, problem, stream);
}
template KernelLaunch<Sgemm> thread_tile<Operands::shared>;
template KernelLaunch<Sgemm> thread_tile<Operands::registers>;
template KernelLaunch<Sgemm> thread_tile<Operands::one_of_a>;

}  // namespace KW_TARGET::amd
