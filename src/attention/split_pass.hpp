// The split pass of attention_split: reads Q, K and V once and writes their pieces. A block of
// threads has 64 rows; it holds them in registers, finds their largest element, and so their scale.
#pragma once

#include "attention/split_layout.hpp"
#include "device/overlap.hpp"
#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/split_arithmetic.hpp"

namespace KW_TARGET::attention_split {

using namespace kw::attention_split;

constexpr int pass_threads = 256, pass_warps = pass_threads / warp_lanes;

struct SplitParams {
  Attention p;
  Layout layout;
  char* workspace;
  std::int64_t q_items, k_items;  // blocks of Q, of K and of V
  TileOrder order;
  bool q16, k16;  // rows on 16-byte boundaries

  __device__ __forceinline__ Control& control() const {
    return *reinterpret_cast<Control*>(workspace);
  }
};

static __global__ void clear_control(Control* control) {
  let_next_kernel_start();
  if (threadIdx.x == 0) *control = {};
}

// The size of the largest element, in all threads. NaN and infinities have the largest bits.
__device__ __forceinline__ std::uint32_t largest_of_block(std::uint32_t own,
                                                          std::uint32_t (&of_warps)[pass_warps]) {
  const int tid = static_cast<int>(threadIdx.x);
  own = largest_of_warp(own);
  if (tid % warp_lanes == 0) of_warps[tid / warp_lanes] = own;
  __syncthreads();
  own = of_warps[tid % pass_warps];
  return largest_of_warp(own);
}

// Whether each of V's keys and each of its columns has an element that is not small beside the
// block's largest, or has none at all: only then may small ones lose bits.
template <int dim, int chunks>
__device__ __forceinline__ bool is_even(const float (&x)[chunks][8], std::uint32_t largest,
                                        std::uint32_t (&keys)[64], std::uint32_t (&columns)[dim]) {
  const int tid = static_cast<int>(threadIdx.x);
  if (tid < 64) keys[tid] = 0;
  if (tid < dim) columns[tid] = 0;
  __syncthreads();
  std::uint32_t of_column = 0;
#pragma unroll
  for (int c = 0; c < chunks; ++c) {
    const int key0 = (c * pass_threads + tid) / dim * 8;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t size = __float_as_uint(x[c][i]) & ~kw::split::sign_bit;
      if (size > of_column) of_column = size;
      const std::uint32_t of_warp = largest_of_warp(size);
      if (tid % warp_lanes == 0) atomicMax(&keys[key0 + i], of_warp);
    }
  }
  atomicMax(&columns[tid % dim], of_column);
  __syncthreads();
  const std::uint32_t least = largest > (15u << 23) ? largest - (15u << 23) : 0;
  const auto is_small = [&](std::uint32_t size) { return size != 0 && size < least; };
  return !(tid < 64 && is_small(keys[tid])) && !(tid < dim && is_small(columns[tid]));
}

// Where the elements of a thread's chunk begin. Of Q and K a warp has 8 rows of 32 elements, so
// that it reads and writes whole lines; of V it has neighbours along the head.
struct PassChunk {
  int row, d;
};
template <int dim>
__device__ __forceinline__ PassChunk pass_chunk(int operand, int i) {
  if (operand == 2) return {i / dim * 8, i % dim};
  return {i / dim * 8 + i % 8, i / 8 % (dim / 8) * 8};
}

template <int dim>
__global__ void __launch_bounds__(pass_threads) split_pass(const SplitParams params) {
  constexpr int chunks = 64 * dim / 8 / pass_threads;
  __shared__ std::uint32_t of_warps[pass_warps], keys[64], columns[dim];
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Attention& p = params.p;
  const Layout& layout = params.layout;
  const int tid = static_cast<int>(threadIdx.x);
  std::int64_t item = blockIdx.x;
  const int operand = item < params.q_items ? 0 : item < params.q_items + params.k_items ? 1 : 2;
  if (operand > 0) item -= params.q_items;
  if (operand > 1) item -= params.k_items;
  const std::int64_t blocks = operand == 0 ? layout.q_blocks : layout.k_blocks,
                     heads = operand == 0 ? p.heads : p.kv_heads, of_head = item / blocks,
                     row0 = item % blocks * block_rows, group = p.heads / p.kv_heads;
  const AttentionHead head =
      head_of(p, of_head / heads, of_head % heads * (operand == 0 ? 1 : group));
  const float* data = operand == 0 ? head.q : operand == 1 ? head.k : head.v;
  const std::int64_t ld = operand == 0   ? p.q_strides.row
                          : operand == 1 ? p.k_strides.row
                                         : p.v_strides.row;
  const std::int64_t rows = operand == 0 ? head.queries : head.keys;

  // Of Q and K a chunk is 8 elements of a row, of V an element of 8 keys.
  const bool aligned = operand == 0 ? params.q16 : operand == 1 && params.k16;
  float x[chunks][8];
  std::uint32_t most = 0;
#pragma unroll
  for (int c = 0; c < chunks; ++c) {
    const PassChunk at = pass_chunk<dim>(operand, c * pass_threads + tid);
    const std::int64_t row = row0 + at.row;
    const float* from = data + row * ld + at.d;
    if (aligned && row < rows && at.d + 8 <= p.dim) {
      *reinterpret_cast<float4*>(&x[c][0]) = *reinterpret_cast<const float4*>(from);
      *reinterpret_cast<float4*>(&x[c][4]) = *reinterpret_cast<const float4*>(from + 4);
    } else {
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const bool there =
            operand == 2 ? row + e < rows && at.d < p.dim : row < rows && at.d + e < p.dim;
        x[c][e] = there ? from[operand == 2 ? e * ld : e] : 0.0f;
      }
    }
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const std::uint32_t size = __float_as_uint(x[c][e]) & ~kw::split::sign_bit;
      if (size > most) most = size;
    }
  }
  most = largest_of_block(most, of_warps);
  const int scale = kw::split::fp16_scale(most);
  bool fits = most == 0 || (scale > -60 && scale < 74);
  if (operand == 2) fits &= is_even<dim, chunks>(x, most, keys, columns);
  Control& control = params.control();
  if (!fits) atomicMax(&control.unfit, 1u);
  if (tid == 0) {
    atomicMax(&control.largest[operand], most);
    if (operand == 2 && most != 0) atomicMax(&control.below, ~most);
    const std::int64_t at = operand == 0   ? layout.scales_q
                            : operand == 1 ? layout.scales_k
                                           : layout.scales_v;
    reinterpret_cast<int*>(params.workspace + at)[item] = scale;
  }
  if (!(scale > -60 && scale < 74)) return;
  const std::int64_t base = operand == 0 ? layout.q : operand == 1 ? layout.k : layout.v;
  char* const to = params.workspace + base + item * block_bytes(dim);
  const float factor = kw::split::power_of_two(scale);
#pragma unroll
  for (int c = 0; c < chunks; ++c) {
    const PassChunk at = pass_chunk<dim>(operand, c * pass_threads + tid);
    const int row = operand == 2 ? at.d : at.row, k8 = (operand == 2 ? at.row : at.d) / 8;
    std::uint32_t high[4], low[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float first = x[c][2 * e] * factor, second = x[c][2 * e + 1] * factor;
      float taken_first, taken_second;
      high[e] = kw::split::to_fp16_pair(first, second);
      kw::split::from_fp16_pair(high[e], &taken_first, &taken_second);
      low[e] = kw::split::to_fp16_pair(first - taken_first, second - taken_second);
    }
    const int in_rows = operand == 2 ? dim : block_rows;
    *reinterpret_cast<uint4*>(to + chunk_at(in_rows, row, k8, 0)) =
        make_uint4(high[0], high[1], high[2], high[3]);
    *reinterpret_cast<uint4*>(to + chunk_at(in_rows, row, k8, 1)) =
        make_uint4(low[0], low[1], low[2], low[3]);
  }
}

}  // namespace KW_TARGET::attention_split
