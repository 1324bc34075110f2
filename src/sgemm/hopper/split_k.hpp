// Split-K reductions: tiles whose sums over k are computed in parts, by the two warpgroups of a
// block, which take every other stage, and by several blocks, which take a part of the stages each.
#pragma once

#include "device/mbarrier.hpp"
#include "device/ticket.hpp"
#include "device/warp.hpp"
#include "sgemm/hopper/params.hpp"
#include "sgemm/hopper/pipeline.hpp"

namespace KW_TARGET::hopper {

// Adds up both warpgroups' sums of a tile: each calls it and gets those of its half of the columns.
template <class Shared, int blocks, int registers, int half>
__device__ __forceinline__ void reduce_warpgroups(Shared& shared,
                                                  const float (&sums)[blocks][registers],
                                                  float (&own)[blocks][half], int group,
                                                  int thread) {
  static_assert(2 * half == registers);
  const auto at = [&](int h, int i, int of_group) -> float& {
    return shared.exchange[((h * half + i) * 2 + of_group) * warpgroup + thread];
  };
  sync_consumers();  // the tile before has been read
#pragma unroll
  for (int h = 0; h < blocks; ++h)
#pragma unroll
    for (int i = 0; i < half; ++i) {
      own[h][i] = group == 0 ? sums[h][i] : sums[h][half + i];
      at(h, i, group) = group == 0 ? sums[h][half + i] : sums[h][i];
    }
  sync_consumers();
#pragma unroll
  for (int h = 0; h < blocks; ++h)
#pragma unroll
    for (int i = 0; i < half; ++i) own[h][i] += at(h, i, 1 - group);
}

// The barrier of a warpgroup that multiplies.
__device__ __forceinline__ void sync_warpgroup(int group) {
  if (group == 0)
    sync_some_threads<2, warpgroup>();
  else
    sync_some_threads<3, warpgroup>();
}

// The sums of a part of a tile become those of the tile in the block that comes last of those that
// share it, which gets true. All others leave theirs in the workspace. Parts are added up in the
// order of k. Each warpgroup calls it for its own rows or columns.
template <class Shared, int blocks, int registers>
__device__ __forceinline__ bool reduce_parts(Shared& shared, const ProductParams& params,
                                             const Work& work, int group,
                                             float (&sums)[blocks][registers], int thread) {
  constexpr int quads = blocks * registers / 4, slot_quads = Shared::exchange_quads;
  const Schedule& schedule = params.schedule;
  const Parts parts = schedule.parts(work, static_cast<int>(blockIdx.x));
  unsigned* const ticket = params.tickets + 2 * (work.tile - schedule.whole_tiles) + group;
  const auto at = [&](int part, int quad) {
    return reinterpret_cast<float4*>(params.split_k_sums) +
           static_cast<std::int64_t>(parts.slot(part)) * slot_quads +
           (group * quads + quad) * warpgroup + thread;
  };
  const auto others_are_there = [&](auto arrived) {
    sync_warpgroup(group);  // its part is written, and the answer about the part before read
    if (thread == 0) shared.comes_last[group] = arrived() + 1 == static_cast<unsigned>(parts.count);
    sync_warpgroup(group);
    return any_of_warp(shared.comes_last[group]);
  };
  bool comes_last = false;
  // Of two parts the first is a share's end, and the other block has mostly left its own by then:
  // this one's need not go through memory. The sum of two is the same in any order.
  const bool is_pair = parts.count == 2;
  if (is_pair && parts.mine == 0) comes_last = others_are_there([&] { return see_ticket(ticket); });
  if (!comes_last) {
#pragma unroll
    for (int q = 0; q < quads; ++q) {
      const float* const x = &sums[q * 4 / registers][q * 4 % registers];
      *at(parts.mine, q) = make_float4(x[0], x[1], x[2], x[3]);
    }
    if (!others_are_there([&] { return take_ticket(ticket); })) return false;
  }
  if (thread == 0) *ticket = 0;  // for the next launch
  if (!is_pair) {
#pragma unroll
    for (int q = 0; q < quads; ++q) {
      float* const x = &sums[q * 4 / registers][q * 4 % registers];
      x[0] = x[1] = x[2] = x[3] = 0;
    }
  }
  const int first = is_pair ? 1 - parts.mine : 0, end = is_pair ? first + 1 : parts.count;
  for (int part = first; part < end; ++part) {
#pragma unroll
    for (int q = 0; q < quads; ++q) {
      float* const x = &sums[q * 4 / registers][q * 4 % registers];
      const float4 more = __ldcg(at(part, q));
      x[0] += more.x, x[1] += more.y, x[2] += more.z, x[3] += more.w;
    }
  }
  return true;
}

}  // namespace KW_TARGET::hopper
