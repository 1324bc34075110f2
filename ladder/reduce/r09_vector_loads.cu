// r09: loads of 16 bytes.
//
// Idea        r08 with float4 in place of float: four loads of 16 bytes under way a thread. They
//             must begin on a 16-byte boundary, so the first threads of the first block take the at
//             most three elements before it and the at most three that are left at the end.
// Prediction  A quarter of the load instructions, and 128 KiB in flight an SM where r07 had 32 and
//             28 were needed: the memory itself is the limit. 97 % of the measured bandwidth and 5
//             us for start, end and the second launch: 35 us at 2^25, 242 us at 2^28.
// Limits      The memory. What is left is at the edges: the start, the end at which SMs run out of
//             work one by one, and the second launch.
// Original    None in the five articles.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr unsigned whole_warp = 0xFFFFFFFF;
constexpr unsigned lanes = 32;
constexpr int in_flight = 4;  // 16-byte loads a thread

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

__device__ __forceinline__ float sum_of(float4 x) { return (x.x + x.y) + (x.z + x.w); }

// The sum of this thread's elements: whole vectors from the first 16-byte boundary on, and for the
// first threads of the first block one of the at most three elements before and after them.
template <unsigned BlockSize>
__device__ __forceinline__ float thread_sum(const float* data, std::int64_t n) {
  const unsigned tid = threadIdx.x;
  const std::int64_t past_boundary = reinterpret_cast<std::uintptr_t>(data) / sizeof(float) % 4;
  const std::int64_t head = min((4 - past_boundary) % 4, n);
  const std::int64_t vectors = (n - head) / 4;
  const std::int64_t tail = head + vectors * 4;  // where it begins

  float sum = 0;
  if (blockIdx.x == 0 && tid < head) sum += data[tid];
  if (blockIdx.x == 0 && tail + tid < n) sum += data[tail + tid];

  const float4* vector = reinterpret_cast<const float4*>(data + head);
  const std::int64_t step = std::int64_t{gridDim.x} * (in_flight * BlockSize);
  std::int64_t v = std::int64_t{blockIdx.x} * (in_flight * BlockSize) + tid;
  for (; v + (in_flight - 1) * BlockSize < vectors; v += step) {
    float4 loaded[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) loaded[k] = vector[v + k * BlockSize];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) sum += sum_of(loaded[k]);
  }
#pragma unroll 1
  for (; v < vectors; v += BlockSize) sum += sum_of(vector[v]);  // fewer than in_flight are left
  return sum;
}

template <unsigned BlockSize>
__global__ void __launch_bounds__(BlockSize)
    vector_loads(const float* data, std::int64_t n, float* sums) {
  const float sum = block_sum<BlockSize>(thread_sum<BlockSize>(data, n));
  if (threadIdx.x == 0) sums[blockIdx.x] = positive_zero(sum);
}

}  // namespace

Status r09_vector_loads(const Reduce& problem, const Device& device, Workspace workspace,
                        Stream stream) {
  return sum_in_launches(vector_loads<block_size>, many_vectors, problem, device, workspace,
                         stream);
}

}  // namespace KW_TARGET
