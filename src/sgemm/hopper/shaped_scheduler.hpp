// A block's way through its share of a product that is not full: the tiles of a triangle of C, or
// tiles with a range of k each (shape.hpp). Beside TileScheduler, so that plain products pay
// nothing; and apart from each other, since the root by which a triangle's tiles are found is
// computed in registers of each thread, and a loop over stages whose end lies there is 16 % slower.
#pragma once

#include "sgemm/hopper/scheduler.hpp"
#include "sgemm/shape.hpp"

namespace KW_TARGET::hopper {

template <Tile tile>
class TriangleScheduler : public TileScheduler<tile> {
 public:
  static constexpr bool has_diagonal = true;
  static_assert(tile.bm() == tile.bn, "tiles on the diagonal begin on it");

  __device__ __forceinline__ explicit TriangleScheduler(const ProductParams& params)
      : TileScheduler<tile>(params) {}

  __device__ __forceinline__ OutputTile output_tile() const {
    const Sgemm& p = this->params_.problem;
    const TriangleOfTiles tiles{p.triangle, p.column_shift, this->tiles_m(), this->tiles_n()};
    const int of_entry = static_cast<int>(tiles.count()), entry = this->work_.tile / of_entry;
    const TileIndex at = tiles.tile(this->work_.tile - entry * of_entry, tile.strip_tiles());
    return {entry, at.row * std::int64_t{tile.bm()}, at.col * std::int64_t{tile.bn}};
  }
};

template <Tile tile>
class RangeScheduler : public TileScheduler<tile> {
  using Base = TileScheduler<tile>;
  static_assert(tile.bm() == range_tile_side && tile.bn == range_tile_side);

 public:
  static constexpr bool has_ranges = true;

  __device__ __forceinline__ explicit RangeScheduler(const ProductParams& params) : Base(params) {
    take_range();
  }
  __device__ __forceinline__ void next() {
    const Schedule& schedule = this->params_.schedule;
    const int tile_number = tile_in_turn(this->work_.tile / schedule.blocks + 1,
                                         static_cast<int>(blockIdx.x), schedule.blocks);
    this->work_.tile = tile_number < schedule.tiles ? tile_number : -1;
    take_range();
  }
  // All of its tile that counts.
  __device__ __forceinline__ bool is_whole() const { return true; }
  __device__ __forceinline__ OutputTile output_tile() const {
    const Place place = this->place();
    return {place.entry, place.at.row * std::int64_t{tile.bm()},
            place.at.col * std::int64_t{tile.bn}};
  }

 private:
  struct Place {
    int entry;
    TileIndex at;
  };
  __device__ __forceinline__ Place place() const {
    const int tiles_m = this->tiles_m(), tiles_n = this->tiles_n(), of_entry = tiles_m * tiles_n;
    const int entry = this->work_.tile / of_entry;
    return {entry, range_tile(this->params_.problem.k_range, this->work_.tile - entry * of_entry,
                              tiles_m, tiles_n)};
  }
  __device__ __forceinline__ void take_range() {
    Work& work = this->work_;
    if (!work.valid()) return;
    const KRange range = this->params_.problem.k_range;
    const TileIndex at = place().at;
    const StepRange steps = is_by_row(range) ? step_range(range, at.row, this->tiles_m(), tile.bm(),
                                                          stage_k, this->params_.schedule.stages)
                                             : step_range(range, at.col, this->tiles_n(), tile.bn,
                                                          stage_k, this->params_.schedule.stages);
    work.first = steps.first;
    work.end = steps.end;
  }
};

}  // namespace KW_TARGET::hopper
