// S4's "tune BlockSize and GridSize" for its v6: a sum of 2^25 floats, many elements a thread, over
// block sizes and numbers of blocks.
//
//   nvcc -O3 -std=c++17 -arch=native tools/experiments/block_grid.cu -o block_grid && ./block_grid
//
// The kernel is r07's: four loads, then their additions, a tree in shared memory once a block. Four
// arrays in turn, so that L2 holds none of them. The launch over the blocks' sums is not timed.
#include <cmath>

#include "harness.hpp"

constexpr int length = 1 << 25;

template <int block>
__global__ void __launch_bounds__(block) many_loads(const float* x, float* sums) {
  __shared__ float shared[block];
  const int stride = block * gridDim.x, thread = threadIdx.x;
  float sum = 0;
  int i = blockIdx.x * block + thread;
  for (; i + 3 * stride < length; i += 4 * stride) {
    const float a = x[i], b = x[i + stride], c = x[i + 2 * stride], d = x[i + 3 * stride];
    sum += (a + b) + (c + d);
  }
  for (; i < length; i += stride) sum += x[i];
  shared[thread] = sum;
  for (int half = block / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) shared[thread] += shared[thread + half];
  }
  if (thread == 0) sums[blockIdx.x] = shared[0];
}

template <int block>
void measure(float* const* arrays, float* sums, double truth) {
  for (const int grid : {66, 132, 264, 396, 528, 792, 1024, 1056, 1584, 2112, 4224, 8448, 16896}) {
    if (static_cast<long>(grid) * block * 4 > length) continue;
    int turn = 0;
    const double us =
        median_us([&] { many_loads<block><<<grid, block>>>(arrays[turn++ % 4], sums); }, 12);
    many_loads<block><<<grid, block>>>(arrays[0], sums);
    std::vector<float> parts(grid);
    require(cudaMemcpy(parts.data(), sums, grid * sizeof(float), cudaMemcpyDeviceToHost), "copy");
    double sum = 0;
    for (const float part : parts) sum += part;
    if (!(std::fabs(sum - truth) < 1)) std::exit((std::fprintf(stderr, "wrong sum\n"), 1));
    std::printf("%d,%d,%.2f,%.1f\n", block, grid, us, 4e-3 * length / us);
  }
}

int main() {
  float *arrays[4], *sums = nullptr;
  double truth = 0;
  for (int i = 0; i < 4; ++i) {
    const std::vector<float> x = random_floats(length, 1 + i);
    if (i == 0)
      for (const float value : x) truth += value;
    arrays[i] = on_device(x);
  }
  require(cudaMalloc(&sums, 16896 * sizeof(float)), "malloc");
  std::printf("block,grid,us,gbs\n");
  measure<64>(arrays, sums, truth);
  measure<128>(arrays, sums, truth);
  measure<256>(arrays, sums, truth);
  measure<512>(arrays, sums, truth);
  measure<1024>(arrays, sums, truth);
}
