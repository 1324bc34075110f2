// How the sums of a complex stream tile come together: those of groups of warps in shared memory,
// those of blocks in the workspace.
#pragma once

#include "cgemm/stream/consumer.hpp"
#include "device/arrival.hpp"

namespace KW_TARGET::complex_stream {

// A thread's outputs, pairs of neighbours in a row: two real parts, then their imaginary parts.
template <ComplexStreamConfig config>
using Pairs = float[Shape<config>::pairs][4];

// A pair as it is left in memory. What a thread stores in 16 bytes comes from an aligned quad of
// registers, and ptxas keeps the accumulators in these quads throughout. So neighbours swap places:
// each accumulator then lies in the other register bank than the element of b that it is added to,
// which comes by a load of 16 bytes.
__device__ __forceinline__ float4 pair_of(const float* x) {
  return make_float4(x[1], x[0], x[3], x[2]);
}
__device__ __forceinline__ void add_pair(const float4& pair, float* x) {
  x[1] += pair.x, x[0] += pair.y, x[3] += pair.z, x[2] += pair.w;
}

// The sums over the groups of warps, in their order: each thread gets those of some of its rows.
template <ComplexStreamConfig config>
__device__ __forceinline__ void gather(Shared<config>& shared,
                                       const typename Consumer<config>::Sums& acc,
                                       Pairs<config>& out) {
  using S = Shape<config>;
  constexpr int of_row = S::TN / 2;
  const auto pair_at = [&](int group, int v) {
    return &acc[group * S::rows + v / of_row][v % of_row * 4];
  };
  if constexpr (S::warps_k == 1) {
#pragma unroll
    for (int v = 0; v < S::pairs; ++v)
#pragma unroll
      for (int e = 0; e < 4; ++e) out[v][e] = pair_at(0, v)[e];
  } else {
    const OwnOutputs<config> own;
    const int thread = own.tid % S::of_group;
    const auto sum_at = [&](int group, int v) {
      return (group * S::pairs + v) * S::of_group + thread;
    };
#pragma unroll
    for (int v = 0; v < S::pairs; ++v)
#pragma unroll
      for (int e = 0; e < 4; ++e) out[v][e] = 0;
        // All groups leave the rows of one group, its own too: ptxas keeps accumulators in quads
        // where all are stored as such.
#pragma unroll
    for (int to = 0; to < S::warps_k; ++to) {
      sync_consumers<config>();  // nobody reads what was left there before
#pragma unroll
      for (int v = 0; v < S::pairs; ++v)
        shared.scratch[sum_at(own.group, v)] = pair_of(pair_at(to, v));
      sync_consumers<config>();
      if (own.group != to) continue;
#pragma unroll
      for (int from = 0; from < S::warps_k; ++from)
#pragma unroll
        for (int v = 0; v < S::pairs; ++v) add_pair(shared.scratch[sum_at(from, v)], out[v]);
    }
  }
}

// Stores this block's part of a tile. True in the block that arrives last: `out` is then the sum of
// all parts, in ascending order of k within groups of stream_fan, then of groups.
template <ComplexStreamConfig config>
__device__ __forceinline__ bool add_parts(Shared<config>& shared, const Workspace& workspace,
                                          const StreamSchedule& schedule, const StreamWork& work,
                                          Pairs<config>& out) {
  using S = Shape<config>;
  const int tid = reread_thread_index() - S::producers;
  const auto sums = [&](int slot) {
    return static_cast<float4*>(workspace.data) + slot * std::int64_t{S::BM * S::BN / 2} + tid;
  };
  const StreamParts parts = schedule.parts(work, static_cast<int>(blockIdx.x));
  int mine = parts.mine, count = parts.count, stride = 1;
  for (int level = 0; count > 1; ++level) {
    float4* const own = sums(parts.slot(mine * stride));
#pragma unroll
    for (int v = 0; v < S::pairs; ++v) own[v * S::consumers] = pair_of(out[v]);
    const int first = mine / stream_fan * stream_fan;
    const int size = count - first < stream_fan ? count - first : stream_fan;
    const bool is_last = arrives_last(
        shared.is_last, static_cast<unsigned>(size), tid == 0, [] { sync_consumers<config>(); },
        [&] { return workspace.tickets + schedule.ticket(level, parts.slot(first * stride)); });
    if (!is_last) return false;
#pragma unroll
    for (int v = 0; v < S::pairs; ++v)
#pragma unroll
      for (int e = 0; e < 4; ++e) out[v][e] = 0;
#pragma unroll 1
    for (int j = 0; j < size; ++j) {
      const float4* const each = sums(parts.slot((first + j) * stride));
#pragma unroll
      for (int v = 0; v < S::pairs; ++v) add_pair(__ldcg(each + v * S::consumers), out[v]);
    }
    mine /= stream_fan, count = (count + stream_fan - 1) / stream_fan, stride *= stream_fan;
  }
  return true;
}

}  // namespace KW_TARGET::complex_stream
