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
    if (p_.k_range == KRange::all) return Base::next(work);
    const int tile = tile_after(work.tile, this->schedule_.blocks);
    return tile < this->schedule_.tiles ? with_range({tile, 0, 0}) : StreamWork{};
  }
  __device__ __forceinline__ StreamTileIndex tile(const StreamWork& work) const {
    return place(this->schedule_, p_, work.tile);
  }
  __device__ __forceinline__ bool is_whole(const StreamWork& work) const {
    return p_.k_range != KRange::all || Base::is_whole(work);
  }

 private:
  // In line: across a call the accumulators would have to be kept in memory.
  __device__ __forceinline__ static StreamTileIndex place(const StreamSchedule& schedule,
                                                          const Sgemm& p, int index) {
    if (p.triangle == Triangle::none)
      return schedule.place(is_longest_last(p.k_range) ? schedule.tiles - 1 - index : index);
    constexpr int group_rows = 8;
    const int of_entry = triangle_tiles(schedule.tiles_m), entry = index / of_entry;
    const TileIndex at =
        triangle_tile(p.triangle, index - entry * of_entry, schedule.tiles_m, group_rows);
    return {entry, at.row, at.col};
  }
  __device__ __forceinline__ StreamWork with_range(StreamWork work) const {
    if (p_.k_range == KRange::all || !work.valid()) return work;
    const StreamTileIndex at = tile(work);
    const StepRange range = step_range(p_, at.row * std::int64_t{config.bm}, config.bm,
                                       at.col * std::int64_t{config.bn}, config.bn, config.bk);
    return {work.tile, range.first, range.end};
  }

  const Sgemm& p_;
};

}  // namespace KW_TARGET::stream_tile
