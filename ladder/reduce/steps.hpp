// What a rung brought and the ones after it keep as it is, so that each file holds what changes.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// ---- r05_unrolled_warp

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

// ---- r06_unrolled

// The sum over the block, one value a thread, in thread 0. All threads call it.
template <unsigned BlockSize>
__device__ __forceinline__ float block_sum_by_tree(float sum) {
  __shared__ float part[BlockSize];
  const unsigned tid = threadIdx.x;
  part[tid] = sum;
  __syncthreads();

#pragma unroll
  for (unsigned s = BlockSize / 2; s > 32; s /= 2) {
    if (tid < s) part[tid] += part[tid + s];
    __syncthreads();
  }
  if (tid < static_cast<unsigned>(warpSize)) last_warp(part, tid);
  return tid == 0 ? part[0] : 0.0f;
}

// ---- r07_many_loads

constexpr int in_flight = 4;  // loads a thread

// The sum of this thread's elements: `in_flight` of them, a block's width apart, then on by the
// width of the grid.
template <unsigned BlockSize>
__device__ __forceinline__ float sum_of_elements(const float* data, std::int64_t n) {
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
  return sum;
}

// ---- r08_shuffle

// The sum over 32 lanes, in the first of them. All lanes of the warp call it.
__device__ __forceinline__ float warp_sum(float sum) {
  constexpr unsigned whole_warp = 0xFFFFFFFF;
  constexpr int lanes = 32;
#pragma unroll
  for (unsigned s = lanes / 2; s > 0; s /= 2) sum += __shfl_down_sync(whole_warp, sum, s, lanes);
  return sum;
}

// The sum over the block, in thread 0. All threads call it.
template <unsigned BlockSize>
__device__ __forceinline__ float block_sum(float sum) {
  constexpr unsigned lanes = 32;
  __shared__ float part[BlockSize / lanes];
  const unsigned tid = threadIdx.x;
  sum = warp_sum(sum);
  if (tid % lanes == 0) part[tid / lanes] = sum;
  __syncthreads();
  if (tid < static_cast<unsigned>(warpSize))
    sum = warp_sum(tid < BlockSize / lanes ? part[tid] : 0.0f);
  return sum;
}

// ---- r09_vector_loads

__device__ __forceinline__ float sum_of(float4 x) { return (x.x + x.y) + (x.z + x.w); }

// As sum_of_elements, in vectors: whole ones from the first 16-byte boundary on, and for the first
// threads of the first block one of the at most three elements before and after them.
template <unsigned BlockSize>
__device__ __forceinline__ float sum_of_vectors(const float* data, std::int64_t n) {
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

}  // namespace KW_TARGET
