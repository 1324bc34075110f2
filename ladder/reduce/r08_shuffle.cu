// r08: lanes hand each other their sums through registers.
//
// Idea        A warp adds up its 32 sums by five shuffles, without shared memory; eight warps leave
//             one sum each, and the first warp adds those. One barrier is left of r07's three, and
//             shared memory shrinks from 1024 bytes a block to 32.
// Prediction  Nothing that the clock shows on a large array: r07 has its tree once a block, some
//             0.3 us of 37. Within 1 % of r07 at 2^25 and at 2^28. It counts where arrays are
//             short.
// Limits      As r07's.
// Original    None in the five articles; it is the usual cure for v4's race.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr unsigned whole_warp = 0xFFFFFFFF;
constexpr unsigned lanes = 32;
constexpr int in_flight = 4;  // loads a thread

// The sum over 32 lanes, in the first of them. All lanes of the warp call it.
__device__ __forceinline__ float warp_sum(float sum) {
#pragma unroll
  for (unsigned s = lanes / 2; s > 0; s /= 2) sum += __shfl_down_sync(whole_warp, sum, s, lanes);
  return sum;
}

// The sum over the block, in thread 0. All threads call it.
template <unsigned BlockSize>
__device__ __forceinline__ float block_sum(float sum) {
  __shared__ float part[BlockSize / lanes];
  const unsigned tid = threadIdx.x;
  sum = warp_sum(sum);
  if (tid % lanes == 0) part[tid / lanes] = sum;
  __syncthreads();
  if (tid < static_cast<unsigned>(warpSize))
    sum = warp_sum(tid < BlockSize / lanes ? part[tid] : 0.0f);
  return sum;
}

template <unsigned BlockSize>
__global__ void __launch_bounds__(BlockSize)
    shuffle(const float* data, std::int64_t n, float* sums) {
  const std::int64_t step = std::int64_t{gridDim.x} * (in_flight * BlockSize);
  std::int64_t i = std::int64_t{blockIdx.x} * (in_flight * BlockSize) + threadIdx.x;
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
  sum = block_sum<BlockSize>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = positive_zero(sum);
}

}  // namespace

Status r08_shuffle(const Reduce& problem, const Device& device, Workspace workspace,
                   Stream stream) {
  return sum_in_launches(shuffle<block_size>, many_elements, problem, device, workspace, stream);
}

}  // namespace KW_TARGET
