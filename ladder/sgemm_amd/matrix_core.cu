// amd_11: FP32 matrix instructions (MFMA), the answer to S2's question 7.
//
// Idea        v_mfma_f32_32x32x2f32: the 64 lanes of a wavefront bring one float of A and one of B
//             each, and 32x32 outputs advance by two k-steps: 4096 flop in one instruction of 64
//             cycles, twice what the vector units do in that time. A block of four wavefronts
//             computes 128x128 outputs, a wavefront 64x64 as four of these products. Tiles of both
//             matrices with k along the columns, [k][m] and [k][n], so that 32 lanes read 32
//             neighbouring floats; the next tile's loads before the products.
// Prediction  MI100, 4096: reads of shared memory are two wavefronts' rows for four products, 4 x
// 64
//             cycles for 4 reads of 2 cycles: the matrix units are the bound. 60 to 75 % of their
//             46.1 TFLOP/s, 4 to 5 ms, what rocBLAS needs. Nobody has measured it.
// Limits      16 steps along k a tile between two barriers.
// Original    None: S2 asks whether rocBLAS uses these instructions ("CDNA1 Instruction Set
//             Architecture", section on matrix arithmetic). Host SIMT, and any other device with
//             wavefronts of 64, runs a model of the instruction: slow, and the same arithmetic.
//             A trace counts what the model moves through shared memory, too.
#include "device/mfma.hpp"
#include "tile.hpp"

namespace KW_TARGET::amd {
namespace {

constexpr int BM = 128, BN = 128, BK = 16, wave = 64;
constexpr int pitch_a = BM + 4, pitch_b = BN + 4;
constexpr int waves = threads / wave;

// A thread's 8 + 8 elements of a tile on their way: two vectors of a row of A, two of one of B.
template <bool Edges>
struct MatrixTileCopy {
  float4 a[2], b[2];

  __device__ __forceinline__ void load(const PlainSgemm& p, TileOrigin tile, std::int64_t k0) {
    const int tid = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int x = tid + i * threads;
      a[i] = load4<Edges>(p.a, p.lda, p.m, p.k, tile.row + x / (BK / 4), k0 + x % (BK / 4) * 4);
      b[i] = load4<Edges>(p.b, p.ldb, p.k, p.n, k0 + x / (BN / 4), tile.col + x % (BN / 4) * 4);
    }
  }
  __device__ __forceinline__ void store(float* as, float* bs) const {
    const int tid = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int x = tid + i * threads, row = x / (BK / 4), kk = x % (BK / 4) * 4;
      as[(kk + 0) * pitch_a + row] = a[i].x;
      as[(kk + 1) * pitch_a + row] = a[i].y;
      as[(kk + 2) * pitch_a + row] = a[i].z;
      as[(kk + 3) * pitch_a + row] = a[i].w;
      *reinterpret_cast<float4*>(bs + x / (BN / 4) * pitch_b + x % (BN / 4) * 4) = b[i];
    }
  }
};

template <bool Edges>
__global__ void __launch_bounds__(threads) matrix_products(PlainSgemm p) {
  __shared__ __align__(16) float as[BK * pitch_a];
  __shared__ __align__(16) float bs[BK * pitch_b];
  const int tid = static_cast<int>(threadIdx.x), lane = tid % wave;
  const int row = tid / wave / 2 * 64, col = tid / wave % 2 * 64;  // of the wavefront's outputs
  const TileOrigin tile = tile_origin<BM, BN>(p);
  MatrixTileCopy<Edges> copy;

  mfma::Sums acc[2][2] = {};
  if (p.k > 0) copy.load(p, tile, 0);
  for (std::int64_t k0 = 0; k0 < p.k; k0 += BK) {
    copy.store(as, bs);
    __syncthreads();
    if (k0 + BK < p.k) copy.load(p, tile, k0 + BK);  // in flight during the products
#pragma unroll
    for (int kk = 0; kk < BK; kk += mfma::k_steps) {
      const int step = kk + lane / mfma::size;
      float a[2], b[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        a[i] = as[step * pitch_a + row + i * mfma::size + lane % mfma::size];
        b[i] = bs[step * pitch_b + col + i * mfma::size + lane % mfma::size];
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) mfma::multiply<waves>(acc[i][j], a[i], b[j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j)
#pragma unroll
      for (int e = 0; e < mfma::sums; ++e)
        store1<Edges>(p, tile.row + row + i * mfma::size + mfma::row_of(e, lane),
                      tile.col + col + j * mfma::size + mfma::col_of(lane), acc[i][j].of(e));
}

}  // namespace

Status matrix_core(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<BM, BN, BK>(matrix_products<false>, matrix_products<true>, threads, problem,
                                  stream);
}

}  // namespace KW_TARGET::amd
