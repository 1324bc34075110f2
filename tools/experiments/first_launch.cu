// Why are S1's maxima a hundred times its minima at small sizes? Managed or device memory, first or
// later launch, eager or lazy loading, each alone:
//
//   nvcc -O3 -std=c++17 -arch=native tools/experiments/first_launch.cu -o first_launch
//   CUDA_MODULE_LOADING=EAGER ./first_launch eager; CUDA_MODULE_LOADING=LAZY ./first_launch lazy
//
// S1's harness: ten times over, matrices are allocated and filled anew and the kernel is launched
// ten times, each launch between two events. Each cell has a kernel of its own, the naive one,
// so that each has a first launch. Managed memory is filled on the CPU, so the first launch after
// an allocation fetches its pages.
#include <string>

#include "harness.hpp"

template <int cell>
__global__ void naive(const float* a, const float* b, float* c, int n) {
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  if (row >= n || col >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum = fmaf(a[row * n + k], b[k * n + col], sum);
  c[row * n + col] = sum + cell * 0.f;
}

template <int cell>
void measure(const std::string& loading, bool managed, int n) {
  const std::size_t bytes = sizeof(float) * n * n;
  for (int outer = 0; outer < 10; ++outer) {
    float* x[3];
    for (float*& matrix : x) {
      require(managed ? cudaMallocManaged(&matrix, bytes) : cudaMalloc(&matrix, bytes), "malloc");
      if (managed)
        std::fill_n(matrix, n * n, 1.5f);
      else
        require(cudaMemset(matrix, 0, bytes), "memset");
    }
    require(cudaDeviceSynchronize(), "synchronize");
    for (int inner = 0; inner < 10; ++inner) {
      const unsigned blocks = (n + 31) / 32;
      const double us = time_us(
          [&] { naive<cell><<<dim3(blocks, blocks), dim3(32, 32)>>>(x[0], x[1], x[2], n); });
      std::printf("%s,%s,%d,%d,%d,%.2f\n", loading.c_str(), managed ? "managed" : "device", n,
                  outer, inner, us);
    }
    for (float* matrix : x) require(cudaFree(matrix), "free");
  }
}

int main(int count, char** words) {
  const std::string loading = count > 1 ? words[1] : "default";
  require(cudaFree(nullptr), "context");
  time_us([] {});  // the events exist
  std::printf("loading,memory,n,outer,inner,us\n");
  measure<0>(loading, false, 128);
  measure<1>(loading, true, 128);
  measure<2>(loading, false, 512);
  measure<3>(loading, true, 512);
  measure<4>(loading, false, 2048);
  measure<5>(loading, true, 2048);
}
