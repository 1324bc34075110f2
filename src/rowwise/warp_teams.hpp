// Warps that have a plain row between them: each gives the others what it found of its part, once a
// row. Lanes of one warp, warps of a block, or warps of a cluster's blocks.
#pragma once

#include "device/bulk_copy.hpp"
#include "device/cluster.hpp"
#include "device/draw.hpp"
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
  // Of clusters, which stay: by these they draw rows, one for each way in which rows begin.
  unsigned* tickets = nullptr;
  int alike_bits = 0;  // alike is 1 << alike_bits
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

// Which rows a team of a cluster has: two to begin with, and then those that it draws, so that all
// come to an end together. Where its warps meet for a row they hear which one comes after the next
// row. One thread, of a warp that leads, draws it; it asked where they met for the row before.
struct RowDraw {
  const PlainLaunch* launch;
  unsigned ticket = 0;

  // Of rows that begin like this one, the first that is the second one of a team.
  __device__ __forceinline__ int first_like(int row) const {
    return launch->step + (row & (launch->alike - 1));
  }
  // By that thread; past the last row there is none to draw. As many are drawn as there are rows
  // from a team's second one on, since each team draws once in vain.
  __device__ __forceinline__ void ask(int next) {
    if (next >= launch->rows || launch->tickets == nullptr) return;
    const int all_but_one = (launch->rows - 1 - first_like(next)) >> launch->alike_bits;
    ticket = draw_ticket(launch->tickets + (next & (launch->alike - 1)),
                         static_cast<unsigned>(all_but_one));
  }
  // By that thread: the row after `next`.
  __device__ __forceinline__ int drawn(int next) const {
    if (next >= launch->rows) return next;
    if (launch->tickets == nullptr) return next + launch->step;
    return first_like(next) + launch->step + (static_cast<int>(ticket) << launch->alike_bits);
  }
};

// Where what blocks of a cluster send each other comes in, by halves as above; and rows that they
// heard of, {row, -, -, -}, in the last turns: who leads may be in the next turn already.
struct alignas(16) MeetingHalves {
  Mbarrier received[2];
  WarpFound rows[4];

  // By one thread, before any warp meets another.
  __device__ __forceinline__ void init(int row, int next) {
    for (Mbarrier& half : received) mbarrier_init(&half, 1);
    mbarrier_init_is_done();
    rows[2].x = __int_as_float(row);
    rows[3].x = __int_as_float(next);
  }
  __device__ __forceinline__ int heard(unsigned turn) const {
    return __float_as_int(rows[turn % 4].x);
  }
};

// What teams of a cluster have in common.
template <class TeamMemory>
struct ClusterTeamBase {
  using Memory = TeamMemory;
  static constexpr bool is_alone = false, stays = true;
  const PlainLaunch* launch;
  int which, warp;  // of the block's teams, and of this one's warps
  unsigned turn = 0;
  RowDraw draw = {launch};

  __device__ __forceinline__ ClusterTeamBase(const PlainLaunch* launch_, int which_, int warp_)
      : launch(launch_), which(which_), warp(warp_) {}

  __device__ __forceinline__ Memory& memory() const { return gpu::dynamic_shared<Memory>()[which]; }
  __device__ __forceinline__ bool leads() const {
    return warp == launch->warps - 1 && rank_in_cluster() == 0;
  }
  // Behind it the other blocks' barriers are there.
  __device__ __forceinline__ void begin() {
    wait_for_cluster();
    if (leads() && threadIdx.x % warp_lanes == 0) draw.ask(next_row());
  }
  // Of this turn, until its warps have met; and of the next turn.
  __device__ __forceinline__ int row() const { return memory().heard(turn + 2); }
  __device__ __forceinline__ int next_row() const { return memory().heard(turn + 3); }
  // When they have met.
  __device__ __forceinline__ int row_met_for() const { return memory().heard(turn + 1); }

 protected:
  // By a warp that leads: the row after the next one, to all blocks. It asks for that after it.
  __device__ __forceinline__ void lead() {
    const auto lane = static_cast<int>(threadIdx.x) % warp_lanes;
    int row = next_row();
    if (lane == 0) row = draw.drawn(row);
    row = from_lane(row, 0);
    if (lane < launch->blocks)
      send_to_block(lane, &memory().rows[turn % 4], WarpFound{__int_as_float(row), 0, 0, 0},
                    &memory().received[turn % 2]);
    if (lane == 0) draw.ask(row);
  }
};

// Warps of a cluster: each sends what it found to all blocks. Who sends to a half anew has
// everything that came to the other one, which others sent after they had read this one.
struct FoundInCluster : MeetingHalves {
  WarpFound of[2][plain_most_blocks * plain_cluster_warps];
};
template <bool several>
struct ClusterWarpsTeam : ClusterTeamBase<FoundInCluster> {
  using Base = ClusterTeamBase<FoundInCluster>;
  using Base::Base;
  static constexpr bool looks_again = several;
  static constexpr int most_warps = plain_most_blocks * plain_cluster_warps;

  template <class Meeting>
  __device__ __forceinline__ RowTotal meet(const WarpFound& own, const Meeting& meeting) {
    const unsigned half = turn % 2, parity = turn / 2 % 2;
    const int warps = launch->warps * launch->blocks;
    const auto lane = static_cast<int>(threadIdx.x) % warp_lanes;
    if (warp == 0 && lane == 0)
      mbarrier_arrive_expecting(&memory().received[half],
                                static_cast<unsigned>(warps + 1) * sizeof(WarpFound));
    if (lane < launch->blocks)
      send_to_block(lane, &memory().of[half][rank_in_cluster() * launch->warps + warp], own,
                    &memory().received[half]);
    if (leads()) this->lead();
    mbarrier_wait(&memory().received[half], parity);
    ++turn;
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
struct BlocksTeam : ClusterTeamBase<FoundInBlocks> {
  using Base = ClusterTeamBase<FoundInBlocks>;
  using Base::Base;
  static constexpr bool looks_again = false;

  template <class Meeting>
  __device__ __forceinline__ RowTotal meet(const WarpFound& own, const Meeting& meeting) {
    if (threadIdx.x % warp_lanes == 0) memory().of_warps[warp] = own;
    sync_threads_at(1 + which, launch->warps * warp_lanes);
    if (leads()) this->lead();  // while another warp merges
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
                                static_cast<unsigned>(launch->blocks + 1) * sizeof(WarpFound));
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
