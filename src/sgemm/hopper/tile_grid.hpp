// Where a tile lies among the tiles of C, by its number. A product's blocks begin with this,
// fetched cold, before they can copy anything: the host prepares the divisions.
#pragma once

#include <cstdint>

#include "host_device.hpp"

namespace kw::hopper {

// Divides numbers below 2^31 by one that the host knows, with a multiplication.
struct Divider {
  std::uint32_t factor = 0, shift = 0;

  Divider() = default;
  explicit Divider(std::int64_t by) {
    while ((std::int64_t{1} << shift) < by) ++shift;
    // At most `by` too large over 2^(31 + shift), and by <= 2^shift: the quotient's error times a
    // number below 2^31 stays below one part in `by`.
    factor = static_cast<std::uint32_t>((std::uint64_t{1} << (31 + shift)) /
                                        static_cast<std::uint64_t>(by)) +
             1;
  }
  KW_HOST_DEVICE std::uint32_t quotient(std::uint32_t x) const {
    return static_cast<std::uint32_t>((std::uint64_t{x} * factor) >> (31 + shift));
  }
};

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
