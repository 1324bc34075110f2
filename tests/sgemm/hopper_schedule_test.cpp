// Which block of a split product computes what (sgemm/hopper/schedule.hpp), for all schedules of
// many sizes.
#include "sgemm/hopper/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "sgemm/hopper/tile_grid.hpp"

namespace kw::hopper {
namespace {

// A part of a tile, and who computes it.
struct Part {
  Work work;
  int block;
};

std::vector<std::vector<Part>> parts_of_tiles(const Schedule& schedule) {
  std::vector<std::vector<Part>> of_tiles(static_cast<std::size_t>(schedule.tiles));
  for (int block = 0; block < schedule.blocks; ++block) {
    int end = -1;  // of the block's work so far: it goes from tile to tile
    for (Work work = schedule.first(block); work.valid(); work = schedule.next(work, block)) {
      EXPECT_GT(work.tile, end);
      end = work.tile;
      of_tiles.at(static_cast<std::size_t>(work.tile)).push_back({work, block});
    }
  }
  for (auto& parts : of_tiles)
    std::sort(parts.begin(), parts.end(),
              [](const Part& x, const Part& y) { return x.work.first < y.work.first; });
  return of_tiles;
}

// Every stage of every tile is computed once, and the parts of a tile know each other: they count
// the same, in the order of k, and leave their sums at places of their own.
void expect_complete(const Schedule& schedule) {
  std::set<int> slots;
  for (const std::vector<Part>& parts : parts_of_tiles(schedule)) {
    int stage = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& [work, block] = parts[i];
      ASSERT_EQ(work.first, stage);
      ASSERT_GT(work.end, work.first);
      stage = work.end;
      ASSERT_EQ(schedule.is_whole(work), parts.size() == 1);
      if (schedule.is_whole(work)) continue;
      const Parts seen = schedule.parts(work, block);
      ASSERT_EQ(seen.count, static_cast<int>(parts.size()));
      ASSERT_EQ(seen.mine, static_cast<int>(i));
      ASSERT_TRUE(slots.insert(seen.slot(seen.mine)).second);
      for (std::size_t j = 0; j < parts.size(); ++j) {
        const Parts others = schedule.parts(parts[j].work, parts[j].block);
        ASSERT_EQ(seen.slot(static_cast<int>(j)), others.slot(others.mine));
      }
    }
    ASSERT_EQ(stage, schedule.stages);
  }
  if (!slots.empty()) {
    ASSERT_GE(*slots.begin(), 0);
    ASSERT_LT(*slots.rbegin(), schedule.slots());
  }
}

TEST(HopperSchedule, DividersDivide) {
  constexpr std::uint32_t most = (std::uint32_t{1} << 31) - 1;
  for (const std::uint32_t by : {1u, 2u, 3u, 7u, 12u, 13u, 641u, 65537u, 1u << 30, most}) {
    const Divider divider(by);
    for (const std::uint32_t near : {0u, by, most / by * by, most / 2 / by * by, most})
      for (const std::uint32_t x : {near - 1, near, near + 1}) {
        if (x > most) continue;
        EXPECT_EQ(divider.quotient(x), x / by) << x << " by " << by;
      }
  }
}

TEST(HopperSchedule, TilesOfAGridAreTakenStripByStrip) {
  constexpr int strip = 12;
  for (const unsigned rows : {1u, 11u, 12u, 13u, 24u, 35u})
    for (const unsigned columns : {1u, 2u, 13u, 100u}) {
      const TileGrid grid(rows, columns, strip);
      unsigned tile = 0;
      for (unsigned entry = 0; entry < 2; ++entry)
        for (unsigned first = 0; first < rows; first += strip)
          for (unsigned column = 0; column < columns; ++column)
            for (unsigned row = first; row < std::min(rows, first + strip); ++row, ++tile) {
              const TileAt at = grid.at<strip>(tile);
              ASSERT_EQ(at.entry, entry) << rows << " x " << columns << " tile " << tile;
              ASSERT_EQ(at.row, row) << rows << " x " << columns << " tile " << tile;
              ASSERT_EQ(at.column, column) << rows << " x " << columns << " tile " << tile;
            }
    }
}

TEST(HopperSchedule, WholeTiles) {
  for (const int tiles : {1, 3, 4, 5, 8, 9}) {
    const Schedule schedule = whole_schedule(tiles, 7, 4);
    EXPECT_EQ(schedule.blocks, std::min(tiles, 4));
    EXPECT_EQ(schedule.slots(), 0);
    expect_complete(schedule);
  }
}

TEST(HopperSchedule, CutTiles) {
  for (const int blocks : {2, 3, 4, 7, 132}) {
    for (const int tiles : {1, 2, 3, 5, 11, 144, 256}) {
      for (const int stages : {1, 2, 9, 48}) {
        for (int rounds = 0; rounds * blocks < tiles; ++rounds) {
          if ((tiles - rounds * blocks) * stages < blocks) continue;  // a share would be empty
          SCOPED_TRACE(testing::Message() << tiles << " tiles of " << stages << " stages, "
                                          << blocks << " blocks, whole rounds " << rounds);
          expect_complete(cut_schedule(tiles, stages, blocks, rounds));
        }
      }
    }
  }
}

// Where shares are at least as long as tiles, a tile has two parts at most: their sum is the same
// in any order, and one of the two need not be written.
TEST(HopperSchedule, LongSharesMakePairs) {
  for (const int tiles : {133, 144, 180, 263}) {
    for (const std::vector<Part>& parts : parts_of_tiles(cut_schedule(tiles, 48, 132, 0)))
      ASSERT_LE(parts.size(), 2u);
  }
}

// Parts of k end where tiles end, whether or not their number divides k.
TEST(HopperSchedule, PartsOfATileEach) {
  for (const int tiles : {1, 2, 5}) {
    for (const int stages : {16, 17, 33, 100}) {
      for (const int parts : {2, 3, 4, 16}) {
        const Schedule schedule = split_schedule(tiles, stages, parts);
        SCOPED_TRACE(testing::Message() << stages << " stages in " << parts);
        expect_complete(schedule);
        EXPECT_LE(schedule.blocks, tiles * parts);
        for (int block = 0; block < schedule.blocks; ++block) {
          const Work work = schedule.first(block);
          EXPECT_FALSE(schedule.next(work, block).valid());
          EXPECT_LE(work.end - work.first, (stages + parts - 1) / parts);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kw::hopper
