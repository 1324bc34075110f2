// amd_03_3, 03_4: A transposed in shared memory, 16-byte loads from global memory.
//
// Idea        A thread's four values of A of one k then lie side by side, as B's do, and a tile is
//             copied in two load instructions a thread.
//   03_3      every thread copies 16 bytes of A and 16 of B
//   03_4      the first half of the threads copies A, 32 bytes each, the second half B
// Prediction  The reads are written one float at a time, but four neighbours from an aligned row
//             are one 16-byte read to the compiler: 2 reads a k-step. H200: r07's counters have 3
//             passes a read, so 6 for 16 FMAs; while the four partitions of an SM issue 16 FMAs
//             each, shared memory has 24 passes to make. It allows two thirds of the peak, 3.1 ms
//             at 4096; with the waits for global memory 4.5 to 5.5 ms. 03_4 has the same bytes in
//             as many instructions, but half of the warps wait for both loads of A and store four
//             floats twice: 0 to 3 % slower.
// Limits      The transposing stores: lanes with the same row and another k lie 4 * 64 floats
//             apart, four of them in one bank. Copy and compute take turns.
// Original    S2: 17.63 and 17.98 ms on an MI100 at 4096.
#include "tile.hpp"

namespace KW_TARGET::amd {
namespace {

template <Copiers copiers, bool Edges>
__global__ void __launch_bounds__(threads, Edges ? 1 : 2) vector_copies(PlainSgemm p) {
  constexpr Tile t = tile_64;
  constexpr int workers = copiers == Copiers::all ? threads : threads / 2;
  constexpr int a_vectors = t.bm * t.bk / 4, b_vectors = t.bk * t.bn / 4;
  __shared__ __align__(16) float as[t.bk][t.bm];
  __shared__ __align__(16) float bs[t.bk][t.bn];
  const int tid = static_cast<int>(threadIdx.x), worker = tid % workers;
  const bool copies_a = tid < workers, copies_b = tid >= threads - workers;
  const Place<t, whole_block> own(tid);
  const TileOrigin tile = tile_origin<t.bm, t.bn>(p);

  float acc[t.tm][t.tn] = {};
  for (std::int64_t k0 = 0; k0 < p.k; k0 += t.bk) {
    if (copies_a) {
#pragma unroll
      for (int first = 0; first < a_vectors; first += workers) {
        const int row = (first + worker) / (t.bk / 4), kk = (first + worker) % (t.bk / 4) * 4;
        const float4 a = load4<Edges>(p.a, p.lda, p.m, p.k, tile.row + row, k0 + kk);
        as[kk + 0][row] = a.x;
        as[kk + 1][row] = a.y;
        as[kk + 2][row] = a.z;
        as[kk + 3][row] = a.w;
      }
    }
    if (copies_b) {
#pragma unroll
      for (int first = 0; first < b_vectors; first += workers) {
        const int kk = (first + worker) / (t.bn / 4), col = (first + worker) % (t.bn / 4) * 4;
        *reinterpret_cast<float4*>(&bs[kk][col]) =
            load4<Edges>(p.b, p.ldb, p.k, p.n, k0 + kk, tile.col + col);
      }
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < t.bk; ++kk) {
      float a[t.tm], b[t.tn];
#pragma unroll
      for (int i = 0; i < t.tm; ++i) a[i] = as[kk][own.row + i];
#pragma unroll
      for (int j = 0; j < t.tn; ++j) b[j] = bs[kk][own.col + j];
      outer_product(acc, a, b);
    }
    __syncthreads();
  }
  store_outputs<Edges>(p, tile, own, acc);
}

}  // namespace

template <Copiers copiers>
Status transposed(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  constexpr Tile t = tile_64;
  return launch_tiles<t.bm, t.bn, t.bk>(vector_copies<copiers, false>, vector_copies<copiers, true>,
                                        threads, problem, stream);
}
template KernelLaunch<Sgemm> transposed<Copiers::all>;
template KernelLaunch<Sgemm> transposed<Copiers::halves>;

}  // namespace KW_TARGET::amd
