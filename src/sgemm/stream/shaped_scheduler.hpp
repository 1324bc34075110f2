// A block's way through its share of a product that is not full: the tiles of a triangle of C, or
// tiles with a range of k each (sgemm/shape.hpp), of which the longest are whole, in rounds, and
// the iterations of the others are cut into equal shares, line after line. Beside Scheduler, so
// that plain products pay nothing.
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

  __device__ __forceinline__ StreamWork first() const {
    if (p_.k_range == KRange::all) return Base::first();
    return this->schedule_.whole_tiles > 0 ? whole_tile(this->block_) : first_shared();
  }
  __device__ __forceinline__ StreamWork next(const StreamWork& work) const {
    const StreamSchedule& s = this->schedule_;
    if (p_.k_range == KRange::all) return Base::next(work);
    if (work.tile >= s.whole_tiles) {
      const RangeLines all = lines();
      return shared_from(all.steps_before(work.tile) - all.steps_before(s.whole_tiles) + work.end -
                         all.first_step(work.tile));
    }
    const int next = tile_in_turn(work.tile / s.blocks + 1, this->block_, s.blocks);
    return next < s.whole_tiles ? whole_tile(next) : first_shared();
  }
  __device__ __forceinline__ StreamTileIndex tile(const StreamWork& work) const {
    return place(this->schedule_, p_, work.tile);
  }
  __device__ __forceinline__ bool is_whole(const StreamWork& work) const {
    if (p_.k_range == KRange::all) return Base::is_whole(work);
    return work.end - work.begin == lines().length_of_tile(work.tile);
  }
  // Whole tiles lie among a share's, too, whose first part may be in the block's first slot.
  __device__ __forceinline__ int totals_slot(const StreamWork& work) const {
    const StreamSchedule& s = this->schedule_;
    if (p_.k_range == KRange::all || s.whole_tiles == s.tiles) return Base::totals_slot(work);
    if (is_whole(work)) return 2 * this->block_ + 1;
    const StreamParts all = parts(work);
    return all.slot(all.mine);
  }
  __device__ __forceinline__ StreamParts parts(const StreamWork& work) const {
    const StreamSchedule& s = this->schedule_;
    if (p_.k_range == KRange::all) return Base::parts(work);
    const RangeLines all = lines();
    const int begin = all.steps_before(work.tile) - all.steps_before(s.whole_tiles);
    return s.parts_of(begin, all.length_of_tile(work.tile), this->block_);
  }

 private:
  __device__ __forceinline__ RangeLines lines() const {
    return range_lines(this->schedule_, p_.k_range, config.bm / config.bk);
  }
  __device__ __forceinline__ StreamWork whole_tile(int tile) const {
    const RangeLines all = lines();
    const int first = all.first_step(tile);
    return {tile, first, first + all.length_of_tile(tile)};
  }
  // What the block has of the shared tiles from an iteration on, all of theirs numbered through.
  __device__ __forceinline__ StreamWork shared_from(int from) const {
    const StreamSchedule& s = this->schedule_;
    const int end = s.share_begin(this->block_ + 1);
    if (from >= end) return {};
    const RangeLines all = lines();
    const int before = all.steps_before(s.whole_tiles), tile = all.tile_with(before + from);
    const int in_tile = before + from - all.steps_before(tile), length = all.length_of_tile(tile);
    const int here = end - from < length - in_tile ? end - from : length - in_tile;
    const int first = all.first_step(tile) + in_tile;
    return {tile, first, first + here};
  }
  __device__ __forceinline__ StreamWork first_shared() const {
    return shared_from(this->schedule_.share_begin(this->block_));
  }
  // In line: across a call the accumulators would have to be kept in memory.
  __device__ __forceinline__ static StreamTileIndex place(const StreamSchedule& schedule,
                                                          const Sgemm& p, int index) {
    if (p.triangle == Triangle::none) {
      const TileIndex at = range_lines(schedule, p.k_range, config.bm / config.bk).place(index);
      return {0, at.row, at.col};
    }
    constexpr int group_rows = 8;
    const TriangleOfTiles tiles{p.triangle, p.column_shift, schedule.tiles_m, schedule.tiles_n};
    const int of_entry = static_cast<int>(tiles.count()), entry = index / of_entry;
    const TileIndex at = tiles.tile(index - entry * of_entry, group_rows);
    return {entry, at.row, at.col};
  }

  const Sgemm& p_;
};

}  // namespace KW_TARGET::stream_tile
