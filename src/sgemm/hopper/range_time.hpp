// How long the tiles of a split product take that have a range of k each. Made on the host.
#pragma once

#include <algorithm>

#include "arithmetic.hpp"
#include "sgemm/hopper/packed_layout.hpp"
#include "sgemm/hopper/schedule.hpp"
#include "sgemm/hopper/tuning.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/shape.hpp"

namespace kw::hopper {

// Of tiles with a range of k each, the time of the block that takes longest: counted, of more tiles
// than that the mean.
inline double ranges_us(const TileRow& row, const Sgemm& p, const Schedule& s) {
  constexpr int counted_tiles = 512;
  const bool by_row = is_by_row(p.k_range);
  const int size = by_row ? row.tile.bm() : row.tile.bn;
  const int tiles_m = static_cast<int>(ceil_div(p.m, row.tile.bm()));
  const int tiles_n = static_cast<int>(ceil_div(p.n, row.tile.bn));
  const int lines = by_row ? tiles_m : tiles_n;
  const auto us = [&](double tiles, double stages) {
    return tiles * (row.tile_us + row.ranges.tile_us) + stages * row.ranges.stage_us;
  };
  if (s.tiles > counted_tiles) {
    const double rounds = ceil_div(s.tiles, s.blocks);
    const double share = share_in_range(p.k_range, lines, size, static_cast<double>(p.k));
    return row.ranges.launch_us + us(rounds, share * rounds * s.stages);
  }
  double most = 0;
  for (int block = 0; block < s.blocks; ++block) {
    int tiles = 0, stages = 0;
    for (int round = 0; round * s.blocks < s.tiles; ++round) {
      const int tile = tile_in_turn(round, block, s.blocks);
      if (tile >= s.tiles) continue;
      const TileIndex at = range_tile(p.k_range, tile % (tiles_m * tiles_n), tiles_m, tiles_n);
      const StepRange steps =
          step_range(p.k_range, by_row ? at.row : at.col, lines, size, stage_k, s.stages);
      ++tiles, stages += steps.end - steps.first;
    }
    most = std::max(most, us(tiles, stages));
  }
  return row.ranges.launch_us + most;
}

}  // namespace kw::hopper
