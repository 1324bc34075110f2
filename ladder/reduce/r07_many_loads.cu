// r07: as many blocks as fit, each of which goes through the array.
//
// Idea        A block that lives on has its tree once, not once in 512 elements. The grid is what
//             the device runs at once (on an H200 132 SMs x 8 blocks); each thread loads four
//             elements 256 apart, adds them, and moves on by the width of the grid.
// Prediction  The tree vanishes, what counts is bytes in flight: 2048 threads x 4 loads x 4 bytes
//             are 32 KiB an SM. To keep 4.65 TB/s busy an SM must receive 35 bytes a nanosecond;
//             with some 800 ns from a load to the next that takes 28 KiB. Just enough: 90 % of the
//             measured bandwidth. 134 MB at 4.2 TB/s, and 5 us for start, end and the second
//             launch: 37 us at 2^25; 262 us at 2^28.
// Limits      Bytes in flight, with nothing to spare where memory takes longer under load.
// Original    S4's v6, 105.47 us on an A100: 1024 blocks, each with one contiguous part.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int in_flight = 4;  // loads a thread

// The sum of part[0 .. 63] to part[0]; the first warp calls it.
__device__ __forceinline__ void last_warp(float* part, unsigned tid) {
#pragma unroll
  for (unsigned s = 32; s > 0; s /= 2) {
    const float other = part[tid + s];
    __syncwarp();  // every lane has read what another one is about to overwrite
    part[tid] += other;
    __syncwarp();  // every lane has written what another one is about to read
  }
}

template <unsigned BlockSize>
__global__ void __launch_bounds__(BlockSize)
    many_loads(const float* data, std::int64_t n, float* sums) {
  __shared__ float part[BlockSize];
  const unsigned tid = threadIdx.x;
  const std::int64_t step = std::int64_t{gridDim.x} * (in_flight * BlockSize);
  std::int64_t i = std::int64_t{blockIdx.x} * (in_flight * BlockSize) + tid;
  float sum = 0;
  for (; i + (in_flight - 1) * BlockSize < n; i += step) {
    float loaded[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) loaded[k] = data[i + k * BlockSize];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) sum += loaded[k];
  }
#pragma unroll 1
  for (; i < n; i += BlockSize) sum += data[i];  // fewer than in_flight are left
  part[tid] = sum;
  __syncthreads();

#pragma unroll
  for (unsigned s = BlockSize / 2; s > 32; s /= 2) {
    if (tid < s) part[tid] += part[tid + s];
    __syncthreads();
  }
  if (tid < static_cast<unsigned>(warpSize)) last_warp(part, tid);
  if (tid == 0) sums[blockIdx.x] = positive_zero(part[0]);
}

}  // namespace

Status r07_many_loads(const Reduce& problem, const Device& device, Workspace workspace,
                      Stream stream) {
  return sum_in_launches(many_loads<block_size>, many_elements, problem, device, workspace, stream);
}

}  // namespace KW_TARGET
