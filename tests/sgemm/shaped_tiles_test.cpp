// Where the tiles of products that are not full lie: of a triangle of C, or with a range of k for
// each element.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sgemm/shape.hpp"

namespace kw {
namespace {

TEST(ShapedTiles, EachTileOfATriangleOnce) {
  for (const int side : {1, 2, 5, 12, 13, 24, 31, 100}) {
    for (const int group : {1, 8, 12}) {
      std::set<std::pair<int, int>> seen;
      for (int i = 0; i < triangle_tiles(side); ++i) {
        const TileIndex at = triangle_tile(i, side, group);
        ASSERT_TRUE(at.col >= 0 && at.col <= at.row && at.row < side) << side << " " << i;
        seen.emplace(at.row, at.col);
        const TileIndex upper = TriangleOfTiles{Triangle::upper, 0, side, side}.tile(i, group);
        ASSERT_TRUE(upper.row == at.col && upper.col == at.row);
      }
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(triangle_tiles(side)));
    }
  }
  for (const int row : {0, 1, 2, 1000, 23169, 32766}) {
    EXPECT_EQ(triangle_row(triangle_tiles(row)), row);
    EXPECT_EQ(triangle_row(triangle_tiles(row + 1) - 1), row);
  }
}

// With pairs of columns: each tile that has an element of the triangle, once.
TEST(ShapedTiles, EachTileOfATriangleOfPairsOnce) {
  constexpr int size = 128;
  for (const int rows : {1, 64, 65, 128, 129, 192, 193, 700, 1344, 1345}) {
    for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
      for (const int group : {1, 8}) {
        const TriangleOfTiles tiles{triangle, 1, ceil_div(rows, size), ceil_div(2 * rows, size)};
        std::set<std::pair<int, int>> seen, wanted;
        for (int i = 0; i < tiles.count(); ++i) {
          const TileIndex at = tiles.tile(i, group);
          EXPECT_TRUE(seen.emplace(at.row, at.col).second) << rows << " " << i;
        }
        for (int i = 0; i < tiles.tiles_m; ++i) {
          for (int j = 0; j < tiles.tiles_n; ++j) {
            const bool has_any = triangle == Triangle::lower
                                     ? j * size / 2 <= i * size + size - 1
                                     : i * size <= (j * size + size - 1) / 2;
            if (has_any) wanted.emplace(i, j);
          }
        }
        EXPECT_EQ(seen, wanted) << rows;
      }
    }
  }
}

// And where C is no square: all below a lower triangle, or right of an upper one.
TEST(ShapedTiles, EachTileOfATrapezoidOnce) {
  for (const auto& [rows, cols] : {std::pair{5, 2}, {9, 9}, {30, 1}, {31, 17}}) {
    std::set<std::pair<int, int>> seen;
    const TriangleOfTiles tiles{Triangle::lower, 0, rows, cols};
    const TriangleOfTiles turned{Triangle::upper, 0, cols, rows};
    const auto count = static_cast<int>(tiles.count());
    EXPECT_EQ(count, turned.count());
    for (int i = 0; i < count; ++i) {
      const TileIndex at = tiles.tile(i, 8);
      ASSERT_TRUE(at.col >= 0 && at.col <= at.row && at.row < rows && at.col < cols) << i;
      seen.emplace(at.row, at.col);
      const TileIndex upper = turned.tile(i, 8);
      ASSERT_TRUE(upper.row == at.col && upper.col == at.row);
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(count));
  }
}

// Each tile once, from the longest strip to the shortest, and each with all of k that counts.
TEST(ShapedTiles, RangesHoldWhatCounts) {
  constexpr int size = 128, step = 32;
  for (const KRange range :
       {KRange::to_row, KRange::from_row, KRange::to_column, KRange::from_column}) {
    const bool by_row = is_by_row(range);
    for (const int lines : {1, 3, 16, 33, 64, 70}) {
      const int tiles_m = by_row ? lines : 5, tiles_n = by_row ? 5 : lines;
      const int steps = lines * size / step - 1;  // k ends within the last tile
      std::set<std::pair<int, int>> seen;
      int before = steps;
      double sum = 0;
      for (int i = 0; i < tiles_m * tiles_n; ++i) {
        const TileIndex at = range_tile(range, i, tiles_m, tiles_n);
        seen.emplace(at.row, at.col);
        const int line = by_row ? at.row : at.col;
        const StepRange own = step_range(range, line, lines, size, step, steps);
        const bool starts = range == KRange::from_row || range == KRange::from_column;
        EXPECT_LE(own.first * step, starts ? line * size : 0);
        EXPECT_GE(own.end * step,
                  starts ? steps * step : std::min((line + 1) * size, steps * step));
        EXPECT_LT(own.first, own.end);
        const int of_strip = starts ? 0 : (range_strip(lines) - 1) * size / step;
        EXPECT_LE(own.end - own.first, before + of_strip);
        before = own.end - own.first;
        sum += before;
      }
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(tiles_m * tiles_n));
      EXPECT_NEAR(sum / (steps * tiles_m * tiles_n),
                  share_in_range(range, lines, size, static_cast<double>(steps * step)), 0.05);
    }
  }
}

// Line after line: each tile once, from the longest to the shortest, and steps numbered through.
TEST(ShapedTiles, LinesOfRangesNumberTheirSteps) {
  constexpr int per_line = 4;
  for (const KRange range :
       {KRange::to_row, KRange::from_row, KRange::to_column, KRange::from_column}) {
    for (const int lines : {1, 2, 5, 33}) {
      const int steps = lines * per_line - 3;  // k ends within the last line
      const RangeLines all = {range, lines, 3, per_line, steps};
      std::set<std::pair<int, int>> seen;
      int before = 0, longest = steps;
      for (int tile = 0; tile < 3 * lines; ++tile) {
        const TileIndex at = all.place(tile);
        seen.emplace(at.row, at.col);
        const int line = is_by_row(range) ? at.row : at.col, length = all.length_of_tile(tile);
        ASSERT_EQ(all.steps_before(tile), before);
        ASSERT_EQ(all.tile_with(before), tile);
        ASSERT_EQ(all.tile_with(before + length - 1), tile);
        const int end = all.first_step(tile) + length;
        EXPECT_EQ(all.first_step(tile), begins_apart(range) ? line * per_line : 0);
        EXPECT_EQ(end, begins_apart(range) ? steps : std::min(steps, (line + 1) * per_line));
        EXPECT_LE(length, longest);
        longest = length;
        before += length;
      }
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(3 * lines));
      EXPECT_EQ(all.steps_before(3 * lines), before);
    }
  }
}

// Blocks that take turns have nearly the same sum of lengths, each tile once.
TEST(ShapedTiles, RoundsTurn) {
  constexpr int blocks = 7;
  for (const int tiles : {5, 7, 20, 28, 40}) {
    std::set<int> seen;
    std::set<int> sums;
    for (int block = 0; block < blocks; ++block) {
      int sum = 0;
      for (int round = 0;; ++round) {
        const int at = tile_in_turn(round, block, blocks);
        if (at >= tiles) break;
        seen.insert(at);
        sum += tiles - at;
      }
      sums.insert(sum);
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(tiles));
    EXPECT_EQ(*seen.rbegin(), tiles - 1);
    if (tiles % (2 * blocks) == 0) {
      EXPECT_EQ(sums.size(), 1u);
    }
  }
}

}  // namespace
}  // namespace kw
