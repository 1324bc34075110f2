// Tiles whose sums over k were computed in parts: by the two warpgroups of a block, and by several
// blocks.
#pragma once

#include "device/mbarrier.hpp"
#include "device/ticket.hpp"
#include "sgemm/hopper/scheduler.hpp"

namespace KW_TARGET::hopper {

constexpr int warpgroup = 128;

// The two warpgroups that multiply.
constexpr int consumer_threads = 2 * warpgroup;
__device__ __forceinline__ void sync_consumers() { sync_some_threads<1, consumer_threads>(); }

// Adds up what the two warpgroups have of the same tile; the first one gets it.
template <class Shared, int halves, int registers>
__device__ __forceinline__ void add_up(Shared& shared, float (&sums)[halves][registers], int group,
                                       int thread) {
  sync_consumers();  // the tile before has been read
  if (group == 1) {
#pragma unroll
    for (int h = 0; h < halves; ++h)
#pragma unroll
      for (int i = 0; i < registers; ++i)
        shared.exchange[(h * registers + i) * warpgroup + thread] = sums[h][i];
  }
  sync_consumers();
  if (group == 0) {
#pragma unroll
    for (int h = 0; h < halves; ++h)
#pragma unroll
      for (int i = 0; i < registers; ++i)
        sums[h][i] += shared.exchange[(h * registers + i) * warpgroup + thread];
  }
}

// Adds up what the blocks of a tile have of it, in the order of k, in the one that comes last; says
// whether this is it. For the first warpgroup.
template <class Shared, int halves, int registers>
__device__ __forceinline__ bool add_parts(Shared& shared, const Work& work, int tile, int part,
                                          float (&sums)[halves][registers], int thread) {
  constexpr int quads = halves * registers / 4;
  auto* const parts = reinterpret_cast<float4*>(work.part_sums) +
                      static_cast<std::int64_t>(tile) * work.parts * quads * warpgroup + thread;
  const auto at = [&](int p, int quad) { return parts + (p * quads + quad) * warpgroup; };
#pragma unroll
  for (int q = 0; q < quads; ++q) {
    const float* const x = &sums[q * 4 / registers][q * 4 % registers];
    *at(part, q) = make_float4(x[0], x[1], x[2], x[3]);
  }
  sync_some_threads<2, warpgroup>();
  if (thread == 0)
    shared.adds_parts = take_ticket(&work.tickets[tile]) + 1 == static_cast<unsigned>(work.parts);
  sync_some_threads<2, warpgroup>();
  if (!shared.adds_parts) return false;
  if (thread == 0) work.tickets[tile] = 0;
#pragma unroll
  for (int q = 0; q < quads; ++q) {
    float* const x = &sums[q * 4 / registers][q * 4 % registers];
    x[0] = x[1] = x[2] = x[3] = 0;
  }
  for (int p = 0; p < work.parts; ++p) {
#pragma unroll
    for (int q = 0; q < quads; ++q) {
      float* const x = &sums[q * 4 / registers][q * 4 % registers];
      const float4 more = *at(p, q);
      x[0] += more.x, x[1] += more.y, x[2] += more.z, x[3] += more.w;
    }
  }
  return true;
}

}  // namespace KW_TARGET::hopper
