// Where the tiles of a problem lie that is not full: those of a triangle of C in an order in which
// neighbours share rows and columns, and the part of k that a tile has.
#pragma once

#include <cmath>
#include <cstdint>

#include "arithmetic.hpp"
#include "host_device.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/tile_order.hpp"

namespace kw {

// Tiles of a triangle of `side` rows of them.
KW_HOST_DEVICE constexpr int triangle_tiles(int side) { return side * (side + 1) / 2; }

// The row that tile `index` of a triangle lies in, if they are counted row after row.
KW_HOST_DEVICE inline int triangle_row(int index) {
  int row = static_cast<int>((sqrtf(8.0f * static_cast<float>(index) + 1.0f) - 1.0f) * 0.5f);
  while (triangle_tiles(row) > index) --row;  // a float's root may err
  while (triangle_tiles(row + 1) <= index) ++row;
  return row;
}

// A tile of a lower triangle: down the columns of a group of `group_rows` rows, group after group,
// as grouped_tile has those of a rectangle. A group ends in a small triangle.
KW_HOST_DEVICE inline TileIndex triangle_tile(int index, int side, int group_rows) {
  const int first = triangle_row(index) / group_rows * group_rows;
  const int rows = side - first < group_rows ? side - first : group_rows;
  int left = index - triangle_tiles(first);
  if (left < first * rows) return {first + left % rows, left / rows};
  left -= first * rows;
  int column = 0;
  while (left >= rows - column) left -= rows - column++;
  return {first + column + left, first + column};
}

// The same of either triangle.
KW_HOST_DEVICE inline TileIndex triangle_tile(Triangle triangle, int index, int side,
                                              int group_rows) {
  const TileIndex lower = triangle_tile(index, side, group_rows);
  return triangle == Triangle::lower ? lower : TileIndex{lower.col, lower.row};
}

// The triangle of C's tiles, which are squares of floats. Where two columns of floats are one of
// the triangle's, each place of a triangle has two tiles side by side; of an odd number of columns
// of tiles the last row, or the last column of an upper triangle, comes after them.
struct TriangleOfTiles {
  Triangle triangle;
  int column_shift, tiles_m, tiles_n;

  KW_HOST_DEVICE constexpr int side() const { return column_shift == 0 ? tiles_m : tiles_n / 2; }
  KW_HOST_DEVICE constexpr int in_places() const { return triangle_tiles(side()) << column_shift; }
  KW_HOST_DEVICE constexpr int count() const {
    if (column_shift == 0 || tiles_n % 2 == 0) return in_places();
    return in_places() + (triangle == Triangle::lower ? tiles_n : tiles_m);
  }
  KW_HOST_DEVICE inline TileIndex tile(int index, int group_rows) const {
    if (column_shift == 0) return triangle_tile(triangle, index, tiles_m, group_rows);
    const int last = index - in_places();
    if (last >= 0)
      return triangle == Triangle::lower ? TileIndex{tiles_m - 1, last}
                                         : TileIndex{last, tiles_n - 1};
    const TileIndex place = triangle_tile(triangle, index / 2, side(), group_rows);
    return {place.row, 2 * place.col + index % 2};
  }
};

// Whether an element of C is wanted.
KW_HOST_DEVICE constexpr bool is_wanted(Triangle triangle, std::int64_t row, std::int64_t column) {
  return triangle == Triangle::none ||
         (triangle == Triangle::lower ? column <= row : row <= column);
}

// --- tiles with a range of k each

KW_HOST_DEVICE constexpr bool is_by_row(KRange range) {
  return range == KRange::to_row || range == KRange::from_row;
}
// Of so many rows of tiles (columns, where the range is of columns) so many are a strip, whose
// tiles follow each other. Ranges that end at the diagonal begin together. Those that begin there
// have the longest range of their strip: blocks that run at the same time are then at the same k,
// and share what they read. It is a few hundredths more work where tiles are many, and where they
// are few each row is a strip.
KW_HOST_DEVICE constexpr int range_strip(int tiles) {
  const int rows = tiles / 16;
  return rows < 1 ? 1 : rows > 4 ? 4 : rows;
}

// The tile that a block takes in a round, of tiles from the longest to the shortest: every other
// round goes back, so that who had the longest of a round has the shortest of the next. None where
// there are not so many.
KW_HOST_DEVICE constexpr int tile_in_turn(int round, int block, int blocks) {
  return round * blocks + (round % 2 == 0 ? block : blocks - 1 - block);
}

// A tile, from the longest strip to the shortest, down the lines of a strip.
KW_HOST_DEVICE constexpr TileIndex range_tile(KRange range, int index, int tiles_m, int tiles_n) {
  const bool longest_last = range == KRange::to_row || range == KRange::to_column;
  if (longest_last) index = tiles_m * tiles_n - 1 - index;
  if (is_by_row(range)) return grouped_tile(index, tiles_m, tiles_n, range_strip(tiles_m));
  const TileIndex turned = grouped_tile(index, tiles_n, tiles_m, range_strip(tiles_n));
  return {turned.col, turned.row};
}

// The steps along k, of `step` each, of tile `line` of `lines` with `size` rows or columns each.
struct StepRange {
  int first, end;
};
// `strip_ends`: ranges that end at the diagonal are as long as the longest of their strip, too,
// which takes stream_tile a register less.
template <bool strip_ends = false>
KW_HOST_DEVICE constexpr StepRange step_range(KRange range, int line, int lines, int size, int step,
                                              int steps) {
  const int strip = range_strip(lines), begin = line / strip * strip;
  const int end = strip_ends ? begin + strip : line + 1;
  if (range == KRange::from_row || range == KRange::from_column) {
    const int first = begin * size / step;
    return {first < steps ? first : steps - 1, steps};
  }
  const int last = ceil_div(end * size, step);
  return {0, last < steps ? last : steps};
}

// Of all tiles' steps, the share that is within their ranges.
template <bool strip_ends = false>
constexpr double share_in_range(KRange range, int lines, int size, double k) {
  const bool begins_apart = range == KRange::from_row || range == KRange::from_column;
  const int strip = begins_apart || strip_ends ? range_strip(lines) : 1;
  const double share = 0.5 + 0.5 * strip * size / (k < 1 ? 1 : k);
  return share < 1 ? share : 1;
}

}  // namespace kw
