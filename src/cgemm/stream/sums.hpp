// How the sums of a complex stream tile come together: those of groups of warps in shared memory.
// Those of blocks do as sgemm's (sgemm/stream/fixup.hpp).
#pragma once

#include "cgemm/stream/consumer.hpp"
#include "device/quad.hpp"

namespace KW_TARGET::complex_stream {

// A thread's outputs, pairs of neighbours in a row: two real parts, then their imaginary parts. A
// pair is left in memory as a quad.
template <ComplexStreamConfig config>
using Pairs = float[4 * Shape<config>::pairs];

// The sums over the groups of warps, in their order: each thread gets those of some of its rows
// or columns.
template <ComplexStreamConfig config>
__device__ __forceinline__ void gather(Shared<config>& shared,
                                       const typename Consumer<config>::Sums& acc,
                                       Pairs<config>& out) {
  using S = Shape<config>;
  constexpr int of_row = S::of_row;
  const auto pair_at = [&](int group, int v) {
    const int row = v / of_row, pair = v % of_row;
    return S::by_columns ? &acc[row][(group * of_row + pair) * 4]
                         : &acc[group * S::rows + row][pair * 4];
  };
  if constexpr (S::warps_k == 1) {
#pragma unroll
    for (int v = 0; v < S::pairs; ++v)
#pragma unroll
      for (int e = 0; e < 4; ++e) out[4 * v + e] = pair_at(0, v)[e];
  } else if constexpr (S::warps_k == 2 && S::TM * S::TN <= 48) {
    // Each group leaves what the other one adds up. So all accumulators are stored as quads
    // somewhere, and ptxas keeps them in such; where a thread has 64, their banks meet more often.
    const OwnOutputs<config> own;
    const auto exchange = [&](int mine, int others) {
      float4* const at = &shared.scratch[own.tid];
#pragma unroll
      for (int v = 0; v < S::pairs; ++v) at[v * S::consumers] = quad_of(pair_at(others, v));
      sync_consumers<config>();
      const float4* const from = &shared.scratch[own.tid + (others - mine) * S::of_group];
#pragma unroll
      for (int v = 0; v < S::pairs; ++v) {
#pragma unroll
        for (int e = 0; e < 4; ++e) out[4 * v + e] = pair_at(mine, v)[e];
        add_quad(from[v * S::consumers], &out[4 * v]);
      }
    };
    sync_consumers<config>();  // nobody reads what was left there before
    if (own.group == 0)
      exchange(0, 1);
    else
      exchange(1, 0);
  } else {
    const OwnOutputs<config> own;
    const int thread = own.tid % S::of_group;
    const auto sum_at = [&](int group, int v) {
      return (group * S::pairs + v) * S::of_group + thread;
    };
#pragma unroll
    for (float& x : out) x = 0;
      // All groups leave what is one group's, its own too: ptxas keeps accumulators in quads
      // where all are stored as such.
#pragma unroll
    for (int to = 0; to < S::warps_k; ++to) {
      sync_consumers<config>();  // nobody reads what was left there before
#pragma unroll
      for (int v = 0; v < S::pairs; ++v)
        shared.scratch[sum_at(own.group, v)] = quad_of(pair_at(to, v));
      sync_consumers<config>();
      if (own.group != to) continue;
#pragma unroll
      for (int from = 0; from < S::warps_k; ++from)
#pragma unroll
        for (int v = 0; v < S::pairs; ++v) add_quad(shared.scratch[sum_at(from, v)], &out[4 * v]);
    }
  }
}

}  // namespace KW_TARGET::complex_stream
