// A block's way through its share of a product that is not full: the tiles of a triangle of C, or
// tiles with a range of k each (shape.hpp). Beside TileScheduler, so that plain products pay
// nothing.
#pragma once

#include "sgemm/hopper/scheduler.hpp"
#include "sgemm/shape.hpp"

namespace KW_TARGET::hopper {

template <Tile tile>
class ShapedScheduler {
 public:
  static constexpr bool shaped = true;
  static_assert(tile.bm() == tile.bn, "tiles on the diagonal begin on it");

  __device__ __forceinline__ explicit ShapedScheduler(const ProductParams& params)
      : params_(params), work_(params.schedule.first(static_cast<int>(blockIdx.x))) {
    take_range();
  }

  __device__ __forceinline__ bool has_work() const { return work_.valid(); }
  __device__ __forceinline__ void next() {
    const Schedule& schedule = params_.schedule;
    if (!has_ranges()) {
      work_ = schedule.next(work_, static_cast<int>(blockIdx.x));
      return;
    }
    work_.tile = tile_after(work_.tile, schedule.blocks);
    if (work_.tile >= schedule.tiles)
      work_ = {};
    else
      take_range();
  }
  __device__ __forceinline__ const Work& work() const { return work_; }
  __device__ __forceinline__ int stages() const { return work_.end - work_.first; }
  __device__ __forceinline__ bool is_whole() const {
    return has_ranges() || params_.schedule.is_whole(work_);
  }
  __device__ __forceinline__ OutputTile output_tile() const { return place(params_, work_.tile); }

 private:
  // In line: across a call the accumulators would have to be kept in memory.
  __device__ __forceinline__ static OutputTile place(const ProductParams& params, int index) {
    const Sgemm& p = params.problem;
    const int tiles_m = static_cast<int>(ceil_div(p.m, tile.bm()));
    const int tiles_n = static_cast<int>(ceil_div(p.n, tile.bn));
    const bool is_triangle = p.triangle != Triangle::none;
    if (!is_triangle && is_longest_last(p.k_range)) index = params.schedule.tiles - 1 - index;
    const int of_entry = is_triangle ? triangle_tiles(tiles_m) : tiles_m * tiles_n;
    const int entry = index / of_entry, in_entry = index - entry * of_entry;
    const TileIndex at = is_triangle
                             ? triangle_tile(p.triangle, in_entry, tiles_m, tile.strip_tiles())
                             : grouped_tile(in_entry, tiles_m, tiles_n, tile.strip_tiles());
    return {entry, at.row * std::int64_t{tile.bm()}, at.col * std::int64_t{tile.bn}};
  }
  __device__ __forceinline__ bool has_ranges() const {
    return params_.problem.k_range != KRange::all;
  }
  __device__ __forceinline__ void take_range() {
    if (!has_ranges() || !work_.valid()) return;
    const OutputTile at = output_tile();
    const StepRange range = step_range(params_.problem, at.i0, tile.bm(), at.j0, tile.bn, stage_k);
    work_.first = range.first;
    work_.end = range.end;
  }

  const ProductParams& params_;
  Work work_;
};

}  // namespace KW_TARGET::hopper
