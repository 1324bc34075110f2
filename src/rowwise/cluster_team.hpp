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

// What a block gets from the others, in its dynamic shared memory. The halves are used by turns:
// who sends to a half anew has everything that came to the other one, which others sent after all
// of their threads had read this one and met.
struct alignas(16) ClusterExchange {
  Mbarrier received[2];
  float4 totals[2][ring_most_blocks];

  // One thread calls this, before the cluster meets.
  __device__ __forceinline__ void init() {
    for (Mbarrier& half : received) mbarrier_init(&half, 1);
  }
  // A block's `own` to all others. All threads that call have the same; returns when that of all
  // others is here. `turn`: how many exchanges came before.
  template <class T>
  __device__ __forceinline__ void exchange(const T& own, int blocks, int rank, unsigned turn) {
    static_assert(sizeof(T) <= sizeof(float4));
    const unsigned half = turn % 2, parity = turn / 2 % 2;
    const auto thread = static_cast<int>(threadIdx.x);
    if (thread == 0)
      mbarrier_arrive_expecting(&received[half],
                                static_cast<unsigned>(blocks - 1) * sizeof(float4));
    if (thread < blocks && thread != rank) {
      float4 bits = {};
      memcpy(&bits, &own, sizeof own);
      send_to_block(thread, &totals[half][rank], bits, &received[half]);
    }
    mbarrier_wait(&received[half], parity);
  }
  // What block `from` had.
  template <class T>
  __device__ __forceinline__ T of(int from, const T& own, int rank, unsigned turn) const {
    T one = own;
    if (from != rank) memcpy(&one, &totals[turn % 2][from], sizeof one);
    return one;
  }
};

// At the beginning of each block's dynamic shared memory.
struct ClusterMemory {
  ClusterExchange exchange;
  TeamMemory team;
};

struct ClusterTeam {
  BlockTeam block;
  ClusterMemory* memory;
  int blocks, rank;
  unsigned turn = 0;

  template <class T, class Combine>
  __device__ __forceinline__ T combined(T value, const T& nothing, const Combine& combine) {
    const T own = block.combined(value, nothing, combine);
    ClusterExchange& exchange = memory->exchange;
    exchange.exchange(own, blocks, rank, turn);
    T all = nothing;
    for (int from = 0; from < blocks; ++from)
      all = combine(all, exchange.of(from, own, rank, turn));
    ++turn;
    return all;
  }
};

}  // namespace KW_TARGET::rowwise
