// A block's way through its share of a stream_tile launch.
#pragma once

#include "device/cluster.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/stream/schedule.hpp"
#include "sgemm/stream/tuning.hpp"

namespace KW_TARGET::stream_tile {

// The schedule as this block sees it. The loop over the block's work keeps the current work itself:
// as a member of this class it would be another sequence of instructions.
template <StreamTileConfig config>
class Scheduler {
 public:
  static constexpr bool shaped = false;
  static constexpr bool apart = false;  // whether an operand is a triangle read where it lies

  __device__ __forceinline__ Scheduler(const StreamSchedule& schedule, const Sgemm&)
      : schedule_(schedule), block_(static_cast<int>(blockIdx.x)) {}

  __device__ __forceinline__ StreamWork first() const {
    return in_clusters() ? schedule_.of_cluster(cluster_index(), rank_in_cluster())
                         : schedule_.first(block_);
  }
  __device__ __forceinline__ StreamWork next(const StreamWork& work) const {
    if (in_clusters()) return {};
    return schedule_.next(work, block_);
  }
  __device__ __forceinline__ StreamTileIndex tile(const StreamWork& work) const {
    return schedule_.place(work.tile);
  }
  // Whether the blocks of a cluster share a tile each.
  __device__ __forceinline__ bool in_clusters() const {
    return has_clusters && config.clusters && schedule_.in_clusters();
  }
  __device__ __forceinline__ int blocks_of_cluster() const { return schedule_.cluster; }
  // Whether the work is all iterations of its tile.
  __device__ __forceinline__ bool is_whole(const StreamWork& work) const {
    return schedule_.whole(work);
  }
  // The work's piece from an iteration on: a sum of its own.
  __device__ __forceinline__ StreamWork piece(const StreamWork& work, int begin) const {
    const int left = work.end - begin;
    return {work.tile, begin, begin + (left < schedule_.piece ? left : schedule_.piece)};
  }
  // The slot where the block adds up the pieces.
  __device__ __forceinline__ int totals_slot(const StreamWork& work) const {
    return schedule_.totals_slot(work, block_);
  }
  // Of the work's last iteration, how many of k it has.
  __device__ __forceinline__ int last_k(const StreamWork& work, std::int64_t k) const {
    const std::int64_t left = k - (work.end - 1) * std::int64_t{config.bk};
    return left < config.bk ? static_cast<int>(left) : config.bk;
  }
  // The blocks that share the tile.
  __device__ __forceinline__ StreamParts parts(const StreamWork& work) const {
    return schedule_.parts(work, block_);
  }
  // The ticket of the blocks that meet at a slot, on a level of adding up.
  __device__ __forceinline__ int ticket(int level, int slot) const {
    return schedule_.ticket(level, slot);
  }

 protected:
  const StreamSchedule& schedule_;
  const int block_;
};

}  // namespace KW_TARGET::stream_tile
