// Where a tile lies among the tiles of C, by its number. A product's blocks begin with this,
// fetched cold, before they can copy anything: the host prepares the divisions.
#pragma once

#include <cstdint>

#include "divider.hpp"
#include "host_device.hpp"

namespace kw::hopper {

struct TileAt {
  std::uint32_t entry, row, column;
};

// Tiles are counted column after column of a strip of `strip` rows of tiles, strip after strip.
struct TileGrid {
  std::uint32_t rows = 0, columns = 0;
  Divider by_entry, by_strip, by_rest;  // tiles of an entry, of a strip, rows of the last strip

  TileGrid() = default;
  TileGrid(std::int64_t rows_, std::int64_t columns_, std::int64_t strip)
      : rows(static_cast<std::uint32_t>(rows_)),
        columns(static_cast<std::uint32_t>(columns_)),
        by_entry(rows_ * columns_),
        by_strip(strip * columns_),
        by_rest(rows_ % strip == 0 ? strip : rows_ % strip) {}

  template <int strip>
  KW_HOST_DEVICE TileAt at(std::uint32_t tile) const {
    const std::uint32_t entry = by_entry.quotient(tile);
    const std::uint32_t in_entry = tile - entry * rows * columns;
    const std::uint32_t strips = by_strip.quotient(in_entry), first = strips * strip;
    const std::uint32_t in_strip = in_entry - first * columns;
    const std::uint32_t left = rows - first, height = left < strip ? left : strip;
    const std::uint32_t in_full = in_strip / strip, in_rest = by_rest.quotient(in_strip);
    const std::uint32_t column = left < strip ? in_rest : in_full;  // a choice, no branch
    return {entry, first + in_strip - column * height, column};
  }
};

}  // namespace kw::hopper
