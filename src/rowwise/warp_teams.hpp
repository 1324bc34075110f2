// Warps that have a plain row between them: each gives the others what it found of its part, once a
// row. Lanes of one warp, warps of a block, or warps of a cluster's blocks.
#pragma once

#include "device/bulk_copy.hpp"
#include "device/cluster.hpp"
#include "device/warp.hpp"
#include "rowwise/tuning.hpp"

namespace KW_TARGET::rowwise {

// Kernels of clusters and of the copy engine are launched on Hopper alone; for others they are
// compiled empty.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
constexpr bool has_copy_engine = false;
#else
constexpr bool has_copy_engine = has_clusters;
#endif

// Of a softmax {largest, sum, -, -}, of a norm {near, sum, squares, elements}; plain_totals.hpp has
// what they mean.
using WarpFound = float4;
// What each thread of a row needs of its total: of a softmax {largest, what softmax_by says}, of a
// norm {near, by, shift}.
using RowTotal = float4;

// What a launch has in common. Rows and bytes fit 32 bits.
struct PlainLaunch {
  int warps;    // of a row and block; 1 where lanes of one warp have it
  int blocks;   // of a cluster
  bool scales;  // a norm with gamma or beta
  bool gaps;    // rows of y end apart from the next ones' beginnings
  int rows, cols;
  int step = 1;  // rows from one of a team to its next
  // Of blocks, unused of clusters, which stay: rows at once, and how often the first ones of them
  // have so many; the others do once. Of norms a block has every alike-th row, a power of two, so
  // that all begin alike past a boundary.
  int at_once = 1, long_blocks = 0, long_turns = 1, alike = 1;
  unsigned ldx, ldy, row_bytes;
  int plane_packs;  // of a block's planes
  int part_packs;   // of a warp's part of a row
  int early = 0;    // blocks that may be placed while the launch before ends
};

constexpr int plain_most_warps = plain_threads_of_4 / warp_lanes;
constexpr int plain_cluster_warps = plain_cluster_threads_of_4 / warp_lanes;
constexpr int plain_large_warps = plain_large_softmax_of_4 / warp_lanes;

// As sync_some_threads, where the barrier and the number of threads are known at launch only.
__device__ __forceinline__ void sync_threads_at([[maybe_unused]] int id,
                                                [[maybe_unused]] int threads) {
#if defined(__CUDA_ARCH__)
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::sync_some_threads(id, threads);
#endif
}

// One row is one warp's, or some lanes' of it: nobody else is asked.
struct AloneTeam {
  static constexpr bool is_alone = true, stays = false, looks_again = false;
  __device__ __forceinline__ void begin() const {}
};

// Warps of a block. What they found is in two halves, used by turns: who writes a half anew has met
// all others since they read it.
struct FoundInBlock {
  WarpFound of[2][plain_most_warps];
};
struct WarpsTeam {
  static constexpr bool is_alone = false, stays = false, looks_again = false;
  FoundInBlock* memory;
  const PlainLaunch* launch;
  int first_warp;  // of the team
  int turn = 0;

  __device__ __forceinline__ void begin() const {}
  // What meeting makes of all that the warps found.
  template <class Meeting>
  __device__ __forceinline__ RowTotal meet(const WarpFound& own, const Meeting& meeting) {
    WarpFound* const found = memory->of[turn];
    turn ^= 1;
    if (threadIdx.x % warp_lanes == 0) found[threadIdx.x / warp_lanes] = own;
    // The teams' first warps differ, and there are fewer warps than barriers.
    sync_threads_at(1 + first_warp, launch->warps * warp_lanes);
    return meeting.template total<plain_most_warps>(found + first_warp, launch->warps);
  }
};

// Where what blocks of a cluster send each other comes in, by halves as above.
struct alignas(16) MeetingHalves {
  Mbarrier received[2];

  // By one thread, before any warp meets another.
  __device__ __forceinline__ void init() {
    for (Mbarrier& half : received) mbarrier_init(&half, 1);
    mbarrier_init_is_done();
  }
};

// Warps of a cluster: each sends what it found to all blocks. Who sends to a half anew has
// everything that came to the other one, which others sent after they had read this one.
struct FoundInCluster : MeetingHalves {
  WarpFound of[2][plain_most_blocks * plain_cluster_warps];
};
template <bool several>
struct ClusterWarpsTeam {
  using Memory = FoundInCluster;
  static constexpr bool is_alone = false, stays = true, looks_again = several;
  static constexpr int most_warps = plain_most_blocks * plain_cluster_warps;
  const PlainLaunch* launch;
  int which, warp;  // of the block's teams, and of this one's warps
  unsigned turn = 0;

  // The other blocks' barriers are there.
  __device__ __forceinline__ Memory& memory() const { return gpu::dynamic_shared<Memory>()[which]; }
  __device__ __forceinline__ void begin() const { wait_for_cluster(); }
  template <class Meeting>
  __device__ __forceinline__ RowTotal meet(const WarpFound& own, const Meeting& meeting) {
    const unsigned half = turn % 2, parity = turn / 2 % 2;
    ++turn;
    const int warps = launch->warps * launch->blocks;
    const auto lane = static_cast<int>(threadIdx.x) % warp_lanes;
    if (warp == 0 && lane == 0)
      mbarrier_arrive_expecting(&memory().received[half],
                                static_cast<unsigned>(warps) * sizeof(WarpFound));
    if (lane < launch->blocks)
      send_to_block(lane, &memory().of[half][rank_in_cluster() * launch->warps + warp], own,
                    &memory().received[half]);
    mbarrier_wait(&memory().received[half], parity);
    return meeting.template total<most_warps>(memory().of[half], warps);
  }
};

// Warps of a cluster of many blocks. A block's first warp merges what the block's warps found,
// sends that to all blocks, merges what came from these, and leaves the total for the block's
// warps: of so many totals merging would take all warps longer than they wait for one. What blocks
// found is in halves as above: a block sends what it found of a row when it has what all found of
// the row before.
struct FoundInBlocks : MeetingHalves {
  WarpFound of_blocks[2][plain_large_blocks];
  WarpFound of_warps[plain_large_warps];
  RowTotal total;
};
template <bool several>
struct BlocksTeam {
  using Memory = FoundInBlocks;
  static constexpr bool is_alone = false, stays = true, looks_again = false;
  const PlainLaunch* launch;
  int which, warp;
  unsigned turn = 0;

  __device__ __forceinline__ Memory& memory() const { return gpu::dynamic_shared<Memory>()[which]; }
  __device__ __forceinline__ void begin() const { wait_for_cluster(); }
  template <class Meeting>
  __device__ __forceinline__ RowTotal meet(const WarpFound& own, const Meeting& meeting) {
    if (threadIdx.x % warp_lanes == 0) memory().of_warps[warp] = own;
    sync_threads_at(1 + which, launch->warps * warp_lanes);
    if (warp == 0) meet_blocks(meeting);
    ++turn;
    sync_threads_at(1 + which, launch->warps * warp_lanes);
    return memory().total;
  }

 private:
  template <class Meeting>
  __device__ __forceinline__ void meet_blocks(const Meeting& meeting) {
    const unsigned half = turn % 2, parity = turn / 2 % 2;
    const auto lane = static_cast<int>(threadIdx.x) % warp_lanes;
    const WarpFound of_block =
        meeting.template as_one<plain_large_warps>(memory().of_warps, launch->warps);
    if (lane == 0)
      mbarrier_arrive_expecting(&memory().received[half],
                                static_cast<unsigned>(launch->blocks) * sizeof(WarpFound));
    __syncwarp();
    if (lane < launch->blocks)
      send_to_block(lane, &memory().of_blocks[half][rank_in_cluster()], of_block,
                    &memory().received[half]);
    mbarrier_wait(&memory().received[half], parity);
    const RowTotal total =
        meeting.template total<plain_large_blocks>(memory().of_blocks[half], launch->blocks);
    if (lane == 0) memory().total = total;
  }
};

}  // namespace KW_TARGET::rowwise
