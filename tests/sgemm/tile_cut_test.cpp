// Which blocks have which tiles and which part of k.
#include "sgemm/tile_cut.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace kw {
namespace {

TEST(TileCut, EachTileHasItsBlocks) {
  const TileCut cut{.tiles = 17, .cut = 5, .parts = 3};
  EXPECT_EQ(cut.whole(), 12);
  EXPECT_EQ(cut.blocks(), 27);
  std::vector<int> parts(17);
  for (int block = 0; block < cut.blocks(); ++block) {
    const CutWork work(cut, block);
    EXPECT_EQ(work.cut_tile, work.tile < 12 ? -1 : work.tile - 12);
    EXPECT_EQ(work.part, work.tile < 12 ? 0 : parts.at(static_cast<std::size_t>(work.tile)));
    ++parts.at(static_cast<std::size_t>(work.tile));
  }
  for (int tile = 0; tile < 17; ++tile)
    EXPECT_EQ(parts[static_cast<std::size_t>(tile)], tile < 12 ? 1 : 3) << tile;
}

TEST(TileCut, PartsHaveAllOfK) {
  for (const int bk : {8, 16, 32})
    for (const int k : {1, 15, 16, 17, 100, 371})
      for (int parts = 1; parts <= 6 && parts <= ceil_div(k, bk); ++parts) {
        int next = 0;
        for (int part = 0; part < parts; ++part) {
          const PartOfK own(k, bk, parts, part);
          EXPECT_EQ(own.first, next) << k << " by " << bk << ", part " << part << " of " << parts;
          EXPECT_GT(own.count, 0);
          EXPECT_TRUE(part == 0 || own.count % bk == 0) << "only the first has less than a stage";
          next += own.count;
        }
        EXPECT_EQ(next, k);
      }
}

TEST(TileCut, CutsWhatIsLeftOver) {
  const auto cuts = [](int tiles, int stages) {
    std::vector<int> all;
    each_tile_cut(tiles, 10, 4, stages, [&](const TileCut& cut) {
      EXPECT_EQ(cut.tiles, tiles);
      EXPECT_LE(cut.cut * cut.parts, 40) << "all parts at a time";
      EXPECT_LE(cut.parts, stages);
      all.push_back(cut.cut);
    });
    return all;
  };
  EXPECT_EQ(cuts(40, 9), std::vector<int>{0}) << "nothing is left over";
  EXPECT_EQ(cuts(43, 9), (std::vector<int>{0, 3, 3, 3, 3}));
  EXPECT_EQ(cuts(43, 2), (std::vector<int>{0, 3}));
  EXPECT_EQ(cuts(43, 1), std::vector<int>{0});
  EXPECT_EQ(cuts(57, 9), (std::vector<int>{0, 17, 7, 7, 7})) << "of a round, or beside the rest";
  EXPECT_EQ(cuts(13, 9), (std::vector<int>{0, 13, 13})) << "all";
  EXPECT_EQ(cuts(9, 9), std::vector<int>{0}) << "some multiprocessors have none";
}

}  // namespace
}  // namespace kw
