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

// The tiles of C, which are squares of floats, of which a triangle is wanted: and where C is no
// square all that is below a lower one or right of an upper one, after the triangle's. Where two
// columns of floats are one of the triangle's, each place of a triangle has two tiles side by side;
// of an odd number of columns of tiles the last row, or the last column of an upper triangle, comes
// after them.
struct TriangleOfTiles {
  Triangle triangle;
  int column_shift, tiles_m, tiles_n;

  KW_HOST_DEVICE constexpr int side() const {
    const int columns = tiles_n >> column_shift;
    return column_shift == 0 && tiles_m < columns ? tiles_m : columns;
  }
  KW_HOST_DEVICE constexpr std::int64_t in_places() const {
    return (std::int64_t{side()} * (side() + 1) / 2) << column_shift;
  }
  KW_HOST_DEVICE constexpr std::int64_t count() const {
    if (column_shift == 0)
      return in_places() + (std::int64_t{tiles_m} + tiles_n - 2 * side()) * side();
    return in_places() + (tiles_n % 2 == 0 ? 0 : triangle == Triangle::lower ? tiles_n : tiles_m);
  }
  // `index`: of tiles that are fewer than 2^31.
  KW_HOST_DEVICE inline TileIndex tile(int index, int group_rows) const {
    const int after = index - static_cast<int>(in_places());
    if (after < 0) {
      const TileIndex lower = triangle_tile(index >> column_shift, side(), group_rows);
      const TileIndex at = triangle == Triangle::lower ? lower : TileIndex{lower.col, lower.row};
      const int of_place = index & ((1 << column_shift) - 1);
      return {at.row, (at.col << column_shift) + of_place};
    }
    if (column_shift != 0)
      return triangle == Triangle::lower ? TileIndex{tiles_m - 1, after}
                                         : TileIndex{after, tiles_n - 1};
    const TileIndex below{side() + after / side(), after % side()};
    return triangle == Triangle::lower ? below : TileIndex{below.col, below.row};
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
KW_HOST_DEVICE constexpr bool begins_apart(KRange range) {
  return range == KRange::from_row || range == KRange::from_column;
}
// Of so many rows of tiles (columns, where the range is of columns) so many are a strip, whose
// tiles follow each other.
KW_HOST_DEVICE constexpr int range_strip(int tiles) {
  const int rows = tiles / 16;
  return rows < 1 ? 1 : rows > 4 ? 4 : rows;
}

// The tile that a block takes in a round, of tiles from the longest to the shortest: two rounds of
// four go back, so that who had the longest of a round has the shortest of the next. Were it every
// other one, and the ends of strips in the same rounds each time, some blocks would have less than
// others, 3 % at 8192. None where there are not so many.
KW_HOST_DEVICE constexpr int tile_in_turn(int round, int block, int blocks) {
  const bool goes_back = ((round ^ (round >> 1)) & 1) != 0;
  return round * blocks + (goes_back ? blocks - 1 - block : block);
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
// Ranges that begin at the diagonal are as long as the longest of their strip. Blocks that run at
// the same time are then at the same k, and share what they read; it is a few hundredths more work
// where tiles are many, and where they are few each row is a strip.
KW_HOST_DEVICE constexpr StepRange step_range(KRange range, int line, int lines, int size, int step,
                                              int steps) {
  if (begins_apart(range)) {
    const int strip = range_strip(lines), first = line / strip * strip * size / step;
    return {first < steps ? first : steps - 1, steps};
  }
  const int last = ceil_div((line + 1) * size, step);
  return {0, last < steps ? last : steps};
}

// Of all tiles' steps, the share that is within their ranges.
constexpr double share_in_range(KRange range, int lines, int size, double k) {
  const int strip = begins_apart(range) ? range_strip(lines) : 1;
  const double share = 0.5 + 0.5 * strip * size / (k < 1 ? 1 : k);
  return share < 1 ? share : 1;
}

// --- tiles with a range of k each, line after line from the longest to the shortest

// A line is a row of tiles, or a column where the range is of columns. All its tiles have the same
// steps, and each line has `per_line` fewer than the one before; of ranges that end at the diagonal
// the first line may have less, since k ends in it.
struct RangeLines {
  KRange range = KRange::all;
  int lines = 0, tiles_of_line = 0;
  int per_line = 0, steps = 0;  // `steps`: of the longest line

  // The steps of a tile of the line that is so many lines after the longest.
  KW_HOST_DEVICE constexpr int length(int line) const {
    if (begins_apart(range)) return steps - line * per_line;
    return line == 0 ? steps : (lines - line) * per_line;
  }
  // The steps of a tile of each line before it, together.
  KW_HOST_DEVICE constexpr int lengths_before(int line) const {
    const int pairs = line * (line - 1) / 2;
    if (begins_apart(range)) return line * steps - pairs * per_line;
    return line == 0 ? 0 : steps + ((line - 1) * lines - pairs) * per_line;
  }
  // The steps of all tiles before it.
  KW_HOST_DEVICE constexpr int steps_before(int tile) const {
    const int line = tile / tiles_of_line;
    return tiles_of_line * lengths_before(line) + (tile - line * tiles_of_line) * length(line);
  }
  KW_HOST_DEVICE constexpr int length_of_tile(int tile) const {
    return length(tile / tiles_of_line);
  }
  // The first step along k of a tile.
  KW_HOST_DEVICE constexpr int first_step(int tile) const {
    return begins_apart(range) ? tile / tiles_of_line * per_line : 0;
  }
  KW_HOST_DEVICE constexpr TileIndex place(int tile) const {
    const int from_longest = tile / tiles_of_line, other = tile - from_longest * tiles_of_line;
    const int line = begins_apart(range) ? from_longest : lines - 1 - from_longest;
    return is_by_row(range) ? TileIndex{line, other} : TileIndex{other, line};
  }
  // The tile that has a step, of all tiles' steps numbered through.
  KW_HOST_DEVICE constexpr int tile_with(int step) const {
    int line = 0, end = lines;  // in which the tile's line lies
    while (end - line > 1) {
      const int middle = (line + end) / 2;
      if (tiles_of_line * lengths_before(middle) <= step)
        line = middle;
      else
        end = middle;
    }
    return line * tiles_of_line + (step - tiles_of_line * lengths_before(line)) / length(line);
  }
};

}  // namespace kw
