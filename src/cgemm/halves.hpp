// Tiles of complex products of which at most half of the rows or columns lie in C, and which are
// computed as half a tile. They are the last ones of a launch: what is left to do then takes less
// time, and blocks that wait for others wait for less.
#pragma once

#include <cstdint>

#include "arithmetic.hpp"
#include "cgemm/problem.hpp"
#include "host_device.hpp"

namespace kw {

// Whether the last tile of so many lines has half a tile's at most.
KW_HOST_DEVICE constexpr bool ends_in_half(std::int64_t lines, int tile) {
  const auto left = static_cast<int>(lines % tile);
  return left > 0 && 2 * left <= tile;
}

// How the tiles of one product follow each other: row after row; or column after column, where
// those of the last column are halves, and those of the last row are not.
struct TilesToHalves {
  bool rows, columns;  // whether the last one's tiles are halves

  KW_HOST_DEVICE constexpr TilesToHalves(const Cgemm& p, int bm, int bn)
      : rows(ends_in_half(p.m, bm)), columns(ends_in_half(p.n, bn)) {}
  KW_HOST_DEVICE constexpr bool by_columns() const { return columns && !rows; }
  // Of those that come last.
  constexpr std::int64_t count(std::int64_t tiles_m, std::int64_t tiles_n) const {
    return rows ? tiles_n : columns ? tiles_m : 0;
  }
};

// What half a tile takes of the time of a whole one, and the tiles that the multiprocessor with the
// most of them has beyond the mean, where they follow each other.
inline constexpr double half_tile_time = 0.51;
inline constexpr double half_tiles_uneven = 0.41;

}  // namespace kw
