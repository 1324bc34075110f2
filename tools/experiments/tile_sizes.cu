// Why 128 x 128 x 8 and 8 x 8? S1 takes it on authority, S5 asks. The kernel of r10 (two buffers,
// loads before the FMAs, A transposed, pieces of four outputs) over sizes of the tile:
//
//   nvcc -O3 -std=c++17 -arch=native tools/experiments/tile_sizes.cu -o tile_sizes && ./tile_sizes
//
// Whole tiles of 4096 cubed only; every size's result is compared with the first one's.
#include <cmath>

#include "harness.hpp"

constexpr int n = 4096;

template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
    tile(const float* a, const float* b, float* c) {
  constexpr int threads = (BM / TM) * (BN / TN), cols = BN / TN, rows = BM / TM;
  constexpr int a_vectors = BM * BK / 4 / threads, b_vectors = BK * BN / 4 / threads;
  static_assert(a_vectors >= 1 && b_vectors >= 1);
  __shared__ __align__(16) float as[2][BK][BM + 4];
  __shared__ __align__(16) float bs[2][BK][BN];
  const int tid = threadIdx.x, tx = tid % cols * 4, ty = tid / cols * 4;
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
  float4 a_next[a_vectors], b_next[b_vectors];
  float acc[TM][TN] = {};

  const auto load = [&](int k0) {
    for (int i = 0; i < a_vectors; ++i) {
      const int x = tid + i * threads;
      a_next[i] =
          *reinterpret_cast<const float4*>(&a[(row0 + x / (BK / 4)) * n + k0 + x % (BK / 4) * 4]);
    }
    for (int i = 0; i < b_vectors; ++i) {
      const int x = tid + i * threads;
      b_next[i] =
          *reinterpret_cast<const float4*>(&b[(k0 + x / (BN / 4)) * n + col0 + x % (BN / 4) * 4]);
    }
  };
  const auto store = [&](int to) {
    for (int i = 0; i < a_vectors; ++i) {
      const int x = tid + i * threads, row = x / (BK / 4), k = x % (BK / 4) * 4;
      as[to][k + 0][row] = a_next[i].x;
      as[to][k + 1][row] = a_next[i].y;
      as[to][k + 2][row] = a_next[i].z;
      as[to][k + 3][row] = a_next[i].w;
    }
    for (int i = 0; i < b_vectors; ++i) {
      const int x = tid + i * threads;
      *reinterpret_cast<float4*>(&bs[to][x / (BN / 4)][x % (BN / 4) * 4]) = b_next[i];
    }
  };
  const auto multiply = [&](int from) {
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float x[TM], y[TN];
#pragma unroll
      for (int i = 0; i < TM; i += 4)
        *reinterpret_cast<float4*>(&x[i]) =
            *reinterpret_cast<const float4*>(&as[from][k][ty + i / 4 * rows * 4]);
#pragma unroll
      for (int j = 0; j < TN; j += 4)
        *reinterpret_cast<float4*>(&y[j]) =
            *reinterpret_cast<const float4*>(&bs[from][k][tx + j / 4 * cols * 4]);
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] = fmaf(x[i], y[j], acc[i][j]);
    }
  };

  load(0);
  store(0);
  __syncthreads();
  int buffer = 0;
  for (int k0 = BK; k0 < n; k0 += BK) {
    load(k0);
    multiply(buffer);
    buffer ^= 1;
    store(buffer);
    __syncthreads();
  }
  multiply(buffer);
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      *reinterpret_cast<float4*>(
          &c[(row0 + ty + i / 4 * rows * 4 + i % 4) * n + col0 + tx + j / 4 * cols * 4]) =
          *reinterpret_cast<const float4*>(&acc[i][j]);
}

struct Data {
  float *a, *b, *c;
  std::vector<float> first;
};

template <int BM, int BN, int BK, int TM, int TN>
void measure(Data& data) {
  constexpr int threads = (BM / TM) * (BN / TN);
  const auto kernel = tile<BM, BN, BK, TM, TN>;
  cudaFuncAttributes facts;
  require(cudaFuncGetAttributes(&facts, kernel), "attributes");
  int blocks = 0;
  require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0), "occupancy");
  require(cudaMemset(data.c, 0xff, sizeof(float) * n * n), "memset");
  const double us =
      median_us([&] { kernel<<<dim3(n / BN, n / BM), threads>>>(data.a, data.b, data.c); }, 9);
  std::vector<float> c(1 << 16);
  require(cudaMemcpy(c.data(), data.c + n * 777, c.size() * sizeof(float), cudaMemcpyDeviceToHost),
          "copy");
  if (data.first.empty()) data.first = c;
  for (std::size_t i = 0; i < c.size(); ++i)
    if (!(std::fabs(c[i] - data.first[i]) < 1e-2)) std::exit((std::fprintf(stderr, "wrong\n"), 1));
  std::printf("%d,%d,%d,%d,%d,%d,%d,%d,%d,%.1f,%.2f\n", BM, BN, BK, TM, TN, threads, facts.numRegs,
              static_cast<int>(facts.sharedSizeBytes), blocks, us, 2e-6 * n * n * n / us);
}

int main() {
  const std::vector<float> a = random_floats(std::size_t{n} * n, 1), b = random_floats(a.size(), 2);
  Data data{on_device(a), on_device(b), on_device(a), {}};
  std::printf("bm,bn,bk,tm,tn,threads,registers,shared,blocks,us,tflops\n");
  measure<128, 128, 8, 8, 8>(data);
  measure<32, 32, 16, 4, 4>(data);
  measure<32, 32, 32, 4, 4>(data);
  measure<64, 64, 16, 4, 4>(data);
  measure<64, 64, 32, 4, 4>(data);
  measure<64, 64, 8, 8, 8>(data);
  measure<64, 64, 16, 8, 8>(data);
  measure<64, 64, 32, 8, 8>(data);
  measure<64, 128, 8, 8, 8>(data);
  measure<64, 128, 16, 8, 8>(data);
  measure<128, 64, 8, 8, 8>(data);
  measure<128, 64, 16, 8, 8>(data);
  measure<128, 128, 16, 8, 8>(data);
  measure<128, 128, 16, 8, 4>(data);
  measure<128, 128, 16, 4, 8>(data);
  measure<128, 128, 8, 8, 16>(data);
  measure<128, 128, 8, 16, 8>(data);
  measure<128, 128, 16, 8, 16>(data);
  measure<128, 256, 8, 8, 16>(data);
  measure<256, 128, 8, 16, 8>(data);
  measure<256, 64, 16, 8, 8>(data);
  measure<64, 256, 16, 8, 8>(data);
}
