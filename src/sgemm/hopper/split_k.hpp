// Split-K reductions: tiles whose sums over k are computed in parts, by the two warpgroups of a
// block, which take every other stage, and by several blocks, which take a part of the stages each.
#pragma once

#include "device/mbarrier.hpp"
#include "device/ticket.hpp"
#include "sgemm/hopper/params.hpp"
#include "sgemm/hopper/pipeline.hpp"

namespace KW_TARGET::hopper {

// Adds the second warpgroup's sums of a tile to the first one's. Both call it.
template <class Shared, int blocks, int registers>
__device__ __forceinline__ void reduce_warpgroups(Shared& shared, float (&sums)[blocks][registers],
                                                  int group, int thread) {
  sync_consumers();  // the tile before has been read
  if (group == 1) {
#pragma unroll
    for (int h = 0; h < blocks; ++h)
#pragma unroll
      for (int i = 0; i < registers; ++i)
        shared.exchange[(h * registers + i) * warpgroup + thread] = sums[h][i];
  }
  sync_consumers();
  if (group == 0) {
#pragma unroll
    for (int h = 0; h < blocks; ++h)
#pragma unroll
      for (int i = 0; i < registers; ++i)
        sums[h][i] += shared.exchange[(h * registers + i) * warpgroup + thread];
  }
}

// Writes this block's sums of a tile to the workspace. The block that comes last of those that
// share the tile adds all of them up, in the order of k, and gets true. The first warpgroup calls
// it.
template <class Shared, int blocks, int registers>
__device__ __forceinline__ bool reduce_k_splits(Shared& shared, const ProductParams& params,
                                                int tile, int split,
                                                float (&sums)[blocks][registers], int thread) {
  constexpr int quads = blocks * registers / 4;
  auto* const all = reinterpret_cast<float4*>(params.split_k_sums) +
                    static_cast<std::int64_t>(tile) * params.k_splits * quads * warpgroup + thread;
  const auto at = [&](int s, int quad) { return all + (s * quads + quad) * warpgroup; };
#pragma unroll
  for (int q = 0; q < quads; ++q) {
    const float* const x = &sums[q * 4 / registers][q * 4 % registers];
    *at(split, q) = make_float4(x[0], x[1], x[2], x[3]);
  }
  sync_some_threads<2, warpgroup>();
  if (thread == 0) {
    shared.is_last_split =
        take_ticket(&params.tickets[tile]) + 1 == static_cast<unsigned>(params.k_splits);
  }
  sync_some_threads<2, warpgroup>();
  if (!shared.is_last_split) return false;
  if (thread == 0) params.tickets[tile] = 0;  // for the next launch
#pragma unroll
  for (int q = 0; q < quads; ++q) {
    float* const x = &sums[q * 4 / registers][q * 4 % registers];
    x[0] = x[1] = x[2] = x[3] = 0;
  }
  for (int s = 0; s < params.k_splits; ++s) {
#pragma unroll
    for (int q = 0; q < quads; ++q) {
      float* const x = &sums[q * 4 / registers][q * 4 % registers];
      const float4 more = *at(s, q);
      x[0] += more.x, x[1] += more.y, x[2] += more.z, x[3] += more.w;
    }
  }
  return true;
}

}  // namespace KW_TARGET::hopper
