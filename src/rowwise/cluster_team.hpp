// The threads of a cluster's blocks that have a row between them: each block combines what it
// found, sends it to the others, from shared memory to shared memory, and combines what it gets in
// the blocks' order.
#pragma once

#include "device/bulk_copy.hpp"
#include "device/cluster.hpp"
#include "rowwise/row_team.hpp"
#include "rowwise/tuning.hpp"

namespace KW_TARGET::rowwise {

// Kernels of clusters are launched on Hopper alone; for others they are compiled empty.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
constexpr bool has_cluster_rows = false;
#else
constexpr bool has_cluster_rows = has_clusters;
#endif

// At the beginning of each block's dynamic shared memory. Its halves are used by turns: who sends
// to a half anew has everything that came to the other one, so its blocks have read this one.
struct alignas(16) ClusterMemory {
  Mbarrier received[2];
  float4 totals[2][ring_most_blocks];
  TeamMemory team;
};

struct ClusterTeam {
  BlockTeam block;
  ClusterMemory* memory;
  int blocks, rank;
  unsigned turn = 0;

  template <class T, class Combine>
  __device__ __forceinline__ T combined(T value, const T& nothing, const Combine& combine) {
    static_assert(sizeof(T) <= sizeof(float4));
    const T own = block.combined(value, nothing, combine);
    const unsigned half = turn % 2, parity = turn / 2 % 2;
    ++turn;
    Mbarrier* const received = &memory->received[half];
    const auto thread = static_cast<int>(threadIdx.x);
    if (thread == 0)
      mbarrier_arrive_expecting(received, static_cast<unsigned>(blocks - 1) * sizeof(float4));
    if (thread < blocks && thread != rank) {
      float4 bits = {};
      memcpy(&bits, &own, sizeof own);
      send_to_block(thread, &memory->totals[half][rank], bits, received);
    }
    mbarrier_wait(received, parity);
    T all = nothing;
    for (int from = 0; from < blocks; ++from) {
      T one = own;
      if (from != rank) memcpy(&one, &memory->totals[half][from], sizeof one);
      all = combine(all, one);
    }
    return all;
  }
};

}  // namespace KW_TARGET::rowwise
