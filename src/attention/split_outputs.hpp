// How a warp of attention_split's warpgroups leaves its queries' outputs, and what keys have of
// them that outweigh all others.
#pragma once

#include "attention/split_parts.hpp"

namespace KW_TARGET::attention_split {

// Weights are 2^14 times what they are; pieces of weights do not hold what is 2^-40 of the largest.
constexpr float one_weight = 16384, lost_weight = one_weight * 0x1p-40f;

// Keys whose weight is 1, or was before larger scores came, while others' are next to nothing. O is
// nearly that row of V, and what the row's pieces lose would be most of the error. So the weights
// of such keys are left out of the products, and V's row, as it is, is added in the end. A query
// has at most one, its last, and the lane that had the key's score has its weight.
struct LoneKeys {
  static constexpr float far_below = -22;  // a score beside the largest: below 2^-16 with 63 others
  float weight[2];                         // of two queries of the lane, 8 apart; 0: none

  // Where the largest score of a tile is that of a lone key, the score becomes -Inf and the key
  // goes to `keys`, of the lane's queries. x, times a factor, is by how much scores are above the
  // query's largest one, of keys from `first_key` on. `may_have`: that is of this tile, and `sum`,
  // of the lane's weights before, is next to nothing; `near`: one of the lane's is not far below.
  __device__ __forceinline__ void take(float (&x)[block_rows / 2], const float (&factor)[2],
                                       const bool (&may_have)[2], const bool (&near)[2],
                                       float (&sum)[2], int first_key, unsigned* keys) {
    if (!any_of_warp(may_have[0] || may_have[1])) return;
    // Of each query's four lanes, how many are near: two counts in a word.
    unsigned lanes = (near[0] ? 1u : 0u) + (near[1] ? 16u : 0u);
    lanes += __shfl_xor_sync(whole_warp(), lanes, 1);
    lanes += __shfl_xor_sync(whole_warp(), lanes, 2);
    bool takes[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) takes[r] = may_have[r] && near[r] && (lanes >> 4 * r & 15) == 1;
    if (!any_of_warp(takes[0] || takes[1])) return;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float of_query = fmaxf(weight[r], __shfl_xor_sync(whole_warp(), weight[r], 1));
      of_query = fmaxf(of_query, __shfl_xor_sync(whole_warp(), of_query, 2));
      const bool is_free = of_query <= lost_weight;
      if (is_free) weight[r] = 0;
      int count = 0;
#pragma unroll
      for (int i = 0; i < block_rows / 4; ++i)
        count += x[i / 2 * 4 + 2 * r + i % 2] * factor[r] > far_below ? 1 : 0;
      if (!takes[r] || !is_free || count != 1) continue;
#pragma unroll
      for (int i = 0; i < block_rows / 4; ++i) {
        float& own = x[i / 2 * 4 + 2 * r + i % 2];
        if (own != 0) continue;
        own = minus_infinity();
        keys[8 * r] = static_cast<unsigned>(first_key + i / 2 * 8 + i % 2);
      }
      weight[r] = one_weight;
      sum[r] += one_weight;
    }
  }
};

// Outputs of 16 queries of a tile; a lane has two of them, 8 apart, and two neighbours of each 8
// elements.
template <int dim>
struct WarpOutputs {
  const SplitParams& params;
  const SplitTile& tile;
  std::int64_t first_query;  // the lane's
  int lane;

  // `sum` is that of the lane's keys, and becomes that of all lanes that share a query; `keys` are
  // the lane's queries' lone ones.
  __device__ __forceinline__ void store(const float (&o)[dim / 2], float (&sum)[2],
                                        const LoneKeys& lone, const unsigned* keys) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum[r] += __shfl_xor_sync(whole_warp(), sum[r], 1);
      sum[r] += __shfl_xor_sync(whole_warp(), sum[r], 2);
    }
    store(o, sum);
    add(lone, keys, sum);
  }

 private:
  __device__ __forceinline__ void store(const float (&o)[dim / 2], const float (&sum)[2]) const {
    const Attention& p = params.p;
    const AttentionHead& head = tile.head;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t query = first_query + 8 * r;
      if (query >= head.queries) continue;
      float* to = head.o + query * p.o_strides.row;
      const float factor = divisor(sum[r]);
      const bool aligned = reinterpret_cast<std::uintptr_t>(to) % 8 == 0;
#pragma unroll
      for (int i = 0; i < dim / 8; ++i) {
        const int d = 8 * i + lane % 4 * 2;
        const float first = o[4 * i + 2 * r] * factor, second = o[4 * i + 2 * r + 1] * factor;
        if (aligned && d + 1 < p.dim) {
          *reinterpret_cast<float2*>(to + d) = make_float2(first, second);
        } else {
          if (d < p.dim) to[d] = first;
          if (d + 1 < p.dim) to[d + 1] = second;
        }
      }
    }
  }

  // What lone keys have of outputs that are stored.
  __device__ __forceinline__ void add(const LoneKeys& lone, const unsigned* keys,
                                      const float (&sum)[2]) const {
    if (!any_of_warp(lone.weight[0] > 0 || lone.weight[1] > 0)) return;
    __syncwarp();  // other lanes have stored outputs, and keys
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const bool adds = lone.weight[r] > 0 && first_query + 8 * r < tile.head.queries;
      const float share = adds ? lone.weight[r] * divisor(sum[r]) : 0.0f;
      const unsigned key = keys[8 * r];
#pragma unroll 1
      for (int owner = 0; owner < warp_lanes; ++owner) {
        const float of_owner = __shfl_sync(whole_warp(), share, owner);
        const unsigned its_key = __shfl_sync(whole_warp(), key, owner);
        if (of_owner > 0) add(first_query + 8 * r + owner / 4 - lane / 4, its_key, of_owner);
      }
    }
  }
  __device__ __forceinline__ void add(std::int64_t query, unsigned key, float weight) const {
    const Attention& p = params.p;
    const auto of_heads = static_cast<unsigned>(tile.k_block / params.layout.k_blocks),
               kv_heads = static_cast<unsigned>(p.kv_heads);
    const AttentionHead head = head_of(p, of_heads / kv_heads, 0, of_heads % kv_heads);
    const float* const from = head.v + key * p.v_strides.row;
    float* const to = tile.head.o + query * p.o_strides.row;
    // Two at a time, so that one does not wait for the other.
#pragma unroll 1
    for (int d = lane; d < p.dim; d += 2 * warp_lanes) {
      const int other = d + warp_lanes < p.dim ? d + warp_lanes : d;
      const float first = fmaf(from[d], weight, to[d]),
                  second = fmaf(from[other], weight, to[other]);
      to[d] = first;
      to[other] = second;
    }
  }
};

}  // namespace KW_TARGET::attention_split
