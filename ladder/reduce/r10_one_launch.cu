// r10: the last block to finish adds up the sums of all.
//
// Idea        One launch. Each block leaves its sum in the workspace and takes a ticket, a counter
//             that it raises by one. Who draws the highest number knows that all other sums are
//             there, and adds them up in the order of the blocks, so that the result does not
//             depend on who it was: the same bits in every run. It puts the ticket back to zero for
//             the next launch.
//             The ticket is taken with acquire and release semantics: the sum is visible before the
//             ticket counts, and whoever draws a later number sees it (device/ticket.hpp).
// Prediction  The second launch, 2.5 us, goes. What comes is one round trip to the L2 cache for the
//             ticket and one for the sums, together about 1 us: 33.5 us at 2^25, 240 us at 2^28. At
//             2^20 and below, where two launches are most of the time, nearly half of it.
// Limits      The memory, and at short arrays the latency of one launch.
// Original    None in the five articles: S4 left the sums of its blocks where they were.
#include "device/ticket.hpp"
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

// Each block leaves its sum in partials[blockIdx.x]; the last one to do so adds them up, always in
// the same order, and puts the ticket back to zero.
template <unsigned BlockSize>
__global__ void __launch_bounds__(BlockSize)
    one_launch(const float* data, std::int64_t n, float* partials, unsigned* ticket, float* out) {
  __shared__ bool last;
  float sum = block_sum<BlockSize>(thread_sum<BlockSize>(data, n));
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = sum;
    last = take_ticket(ticket) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;

  sum = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += BlockSize) sum += partials[i];
  sum = block_sum<BlockSize>(sum);
  if (threadIdx.x == 0) {
    *out = positive_zero(sum);
    *ticket = 0;
  }
}

}  // namespace

Status r10_one_launch(const Reduce& p, const Device& device, Workspace workspace, Stream stream) {
  const auto blocks = static_cast<unsigned>(blocks_for(many_vectors, p.cols, device));
  return gpu::launch(one_launch<block_size>, {dim3(blocks), dim3(block_size), 0, stream},
                     static_cast<const float*>(p.data), p.cols, static_cast<float*>(workspace.data),
                     workspace.tickets, static_cast<float*>(p.out));
}

}  // namespace KW_TARGET
