// A block's way through its share of a product that is not full: the tiles of a triangle of C, or
// tiles with a range of k each (sgemm/shape.hpp). Beside Scheduler, so that plain products pay
// nothing.
#pragma once

#include "sgemm/shape.hpp"
#include "sgemm/stream/scheduler.hpp"

namespace KW_TARGET::stream_tile {

template <StreamTileConfig config>
class ShapedScheduler : public Scheduler<config> {
  using Base = Scheduler<config>;
  static_assert(config.bm == config.bn, "tiles on the diagonal begin on it");

 public:
  static constexpr bool shaped = true;

  __device__ __forceinline__ ShapedScheduler(const StreamSchedule& schedule, const Sgemm& p)
      : Base(schedule, p), p_(p) {}

  __device__ __forceinline__ StreamWork first() const { return with_range(Base::first()); }
  __device__ __forceinline__ StreamWork next(const StreamWork& work) const {
    return with_range(p_.k_range == KRange::all ? Base::next(work) : next_in_turn(work));
  }
  __device__ __forceinline__ StreamTileIndex tile(const StreamWork& work) const {
    return place(this->schedule_, p_, work.tile);
  }
  __device__ __forceinline__ bool is_whole(const StreamWork& work) const {
    return p_.k_range != KRange::all || Base::is_whole(work);
  }

 private:
  // The tile of the next round (tile_in_turn). Of tiles with ranges none is shared.
  __device__ __forceinline__ StreamWork next_in_turn(const StreamWork& work) const {
    const StreamSchedule& s = this->schedule_;
    const int next = tile_in_turn(work.tile / s.blocks + 1, static_cast<int>(blockIdx.x), s.blocks);
    return next < s.tiles ? StreamWork{next, 0, s.iterations} : StreamWork{};
  }
  // In line: across a call the accumulators would have to be kept in memory.
  __device__ __forceinline__ static StreamTileIndex place(const StreamSchedule& schedule,
                                                          const Sgemm& p, int index) {
    if (p.triangle == Triangle::none) {
      const int of_entry = schedule.tiles_m * schedule.tiles_n, entry = index / of_entry;
      const TileIndex at =
          range_tile(p.k_range, index - entry * of_entry, schedule.tiles_m, schedule.tiles_n);
      return {entry, at.row, at.col};
    }
    constexpr int group_rows = 8;
    const TriangleOfTiles tiles{p.triangle, p.column_shift, schedule.tiles_m, schedule.tiles_n};
    const int of_entry = tiles.count(), entry = index / of_entry;
    const TileIndex at = tiles.tile(index - entry * of_entry, group_rows);
    return {entry, at.row, at.col};
  }
  __device__ __forceinline__ StreamWork with_range(StreamWork work) const {
    if (p_.k_range == KRange::all || !work.valid()) return work;
    const StreamTileIndex at = tile(work);
    const bool by_row = is_by_row(p_.k_range);
    const StepRange range =
        step_range<true>(p_.k_range, by_row ? at.row : at.col,
                         by_row ? this->schedule_.tiles_m : this->schedule_.tiles_n, config.bm,
                         config.bk, this->schedule_.iterations);
    return {work.tile, range.first, range.end};
  }

  const Sgemm& p_;
};

}  // namespace KW_TARGET::stream_tile
