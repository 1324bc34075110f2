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

// Whether an element of C is wanted.
KW_HOST_DEVICE constexpr bool is_wanted(Triangle triangle, std::int64_t row, std::int64_t column) {
  return triangle == Triangle::none ||
         (triangle == Triangle::lower ? column <= row : row <= column);
}

// The steps along k, of `step` each, of a tile.
struct StepRange {
  int first, end;
};
KW_HOST_DEVICE constexpr StepRange step_range(const Sgemm& p, std::int64_t row, int rows,
                                              std::int64_t column, int columns, int step) {
  const auto steps_to = [&](std::int64_t k) {
    return static_cast<int>(ceil_div(k < p.k ? k : p.k, std::int64_t{step}));
  };
  switch (p.k_range) {
    case KRange::to_row: return {0, steps_to(row + rows)};
    case KRange::from_row: return {static_cast<int>(row / step), steps_to(p.k)};
    case KRange::to_column: return {0, steps_to(column + columns)};
    case KRange::from_column: return {static_cast<int>(column / step), steps_to(p.k)};
    case KRange::all: break;
  }
  return {0, steps_to(p.k)};
}

// Tiles with ranges of k are handed out from the longest to the shortest, forth and back over the
// blocks, so that all have about as much: the tile that a block takes after `tile`.
KW_HOST_DEVICE constexpr int tile_after(int tile, int blocks) {
  const int round = tile / blocks, place = tile - round * blocks;
  return (round + 1) * blocks + blocks - 1 - place;
}
// Whether the longest tiles are those in the last rows and columns.
KW_HOST_DEVICE constexpr bool is_longest_last(KRange range) {
  return range == KRange::to_row || range == KRange::to_column;
}

}  // namespace kw
