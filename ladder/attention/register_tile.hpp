// The 64 x 64 tile of r04 and r05: 256 threads, 16 across and 16 down, each with 4 x 4 scores and
// 4 x 8 elements of O. How tiles get into shared memory is the rungs' own.
#pragma once

#include "rung.hpp"

namespace KW_TARGET::register_tile {

constexpr int tile = 64, widest = 128, across = 16, threads = across * across, own = tile / across,
              own_outputs = widest / across, pitch = tile + 4;

// Q and K lie by columns, so that a thread's four rows, and its four keys, are 16 bytes.
struct Operands {
  alignas(16) float q[widest][pitch];
  alignas(16) float k[widest][pitch];
  alignas(16) float v[tile][widest];
  alignas(16) float weights[tile][pitch];  // by columns, too: [key][query]
};

__device__ __forceinline__ int tile_row() { return static_cast<int>(threadIdx.x) / across * own; }
__device__ __forceinline__ int tile_col() { return static_cast<int>(threadIdx.x) % across * own; }

struct Sums {
  float o[own][own_outputs] = {}, largest[own], sum[own] = {};

  __device__ __forceinline__ Sums() {
#pragma unroll
    for (float& x : largest) x = minus_infinity();
  }
  // The weights of a tile of keys into shared memory; what was summed up before is scaled.
  __device__ __forceinline__ void weigh(float (&x)[own][own], Operands& shared) {
#pragma unroll
    for (int i = 0; i < own; ++i) {
      float of_tile = fmaxf(fmaxf(x[i][0], x[i][1]), fmaxf(x[i][2], x[i][3]));
#pragma unroll
      for (int lanes = across / 2; lanes > 0; lanes /= 2)
        of_tile = fmaxf(of_tile, __shfl_xor_sync(whole_warp(), of_tile, lanes));
      const float before = largest[i];
      largest[i] = fmaxf(before, of_tile);
      const float reference = reference_of(largest[i]), factor = rescale(before, reference);
      sum[i] *= factor;
#pragma unroll
      for (float& element : o[i]) element *= factor;
#pragma unroll
      for (int j = 0; j < own; ++j) {
        x[i][j] = power_of_2(x[i][j] - reference);
        sum[i] += x[i][j];
      }
    }
#pragma unroll
    for (int j = 0; j < own; ++j)
      *reinterpret_cast<float4*>(&shared.weights[tile_col() + j][tile_row()]) =
          make_float4(x[0][j], x[1][j], x[2][j], x[3][j]);
  }
  __device__ __forceinline__ void add(const Operands& shared) {
#pragma unroll 4
    for (int key = 0; key < tile; ++key) {
      const float4 w = *reinterpret_cast<const float4*>(&shared.weights[key][tile_row()]);
      const float weight[own] = {w.x, w.y, w.z, w.w};
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float4 v =
            *reinterpret_cast<const float4*>(&shared.v[key][half * widest / 2 + tile_col()]);
        const float value[own] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int i = 0; i < own; ++i)
#pragma unroll
          for (int j = 0; j < own; ++j)
            o[i][half * own + j] = fmaf(weight[i], value[j], o[i][half * own + j]);
      }
    }
  }
  __device__ __forceinline__ void store(const Attention& p, const Queries& queries) {
#pragma unroll
    for (int i = 0; i < own; ++i) {
#pragma unroll
      for (int lanes = across / 2; lanes > 0; lanes /= 2)
        sum[i] += __shfl_xor_sync(whole_warp(), sum[i], lanes);
      const std::int64_t query = queries.first + tile_row() + i;
      if (query >= queries.head.queries) continue;
#pragma unroll
      for (int j = 0; j < own_outputs; ++j) {
        const int d = j / own * widest / 2 + tile_col() + j % own;
        if (d < p.dim) queries.head.o[query * p.o_strides.row + d] = o[i][j] * divisor(sum[i]);
      }
    }
  }
};

// The scores of a thread: products of Q and K over the head.
__device__ __forceinline__ void find_scores(float (&x)[own][own], const Operands& shared,
                                            const Attention& p, const Queries& queries,
                                            std::int64_t first_key) {
#pragma unroll 4
  for (int d = 0; d < widest; ++d) {
    const float4 a = *reinterpret_cast<const float4*>(&shared.q[d][tile_row()]),
                 b = *reinterpret_cast<const float4*>(&shared.k[d][tile_col()]);
    const float q[own] = {a.x, a.y, a.z, a.w}, k[own] = {b.x, b.y, b.z, b.w};
#pragma unroll
    for (int i = 0; i < own; ++i)
#pragma unroll
      for (int j = 0; j < own; ++j) x[i][j] = fmaf(q[i], k[j], x[i][j]);
  }
#pragma unroll
  for (int i = 0; i < own; ++i)
#pragma unroll
    for (int j = 0; j < own; ++j)
      x[i][j] = score(p, queries.head, queries.first + tile_row() + i, first_key + tile_col() + j,
                      x[i][j]);
}

}  // namespace KW_TARGET::register_tile
