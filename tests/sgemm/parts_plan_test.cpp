// How parts.cu cuts a product: every iteration of every tile belongs to one block, and the parts
// of a tile have places of their own, side by side.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sgemm/stream/parts_plan.hpp"
#include "stream_support.hpp"

namespace kw {
namespace {

const std::vector<Sgemm>& products_in_parts() {
  static const std::vector<Sgemm> products = {
      stream_product(100, 100, 1000000), stream_product(1899, 102, 10437),
      stream_product(512, 512, 16384), stream_product(17, 1500, 3333),
      stream_product(300, 200, 70)};
  return products;
}

template <class Check>
void each_parts_plan(const Check& check) {
  for (const PartsTile& tile : parts_tiles) {
    for (const Sgemm& p : products_in_parts()) {
      SCOPED_TRACE(testing::Message() << tile.name << ", " << p.m << " x " << p.n << " x " << p.k);
      if (const auto plan = plan_parts(tile, p, stream_device())) check(tile, p, plan->schedule);
    }
  }
}

TEST(PartsPlan, EveryIterationBelongsToOneBlockAndEachPartHasAPlace) {
  int plans = 0;
  each_parts_plan([&](const PartsTile&, const Sgemm&, const PartsSchedule& s) {
    ++plans;
    std::map<int, int> covered;  // iterations of a tile
    std::set<int> slots;
    for (int block = 0; block < s.stream.blocks; ++block) {
      for (StreamWork work = s.stream.first(block); work.valid();
           work = s.stream.next(work, block)) {
        covered[work.tile] += work.end - work.begin;
        int at = work.begin;
        for (int number = 0; number < s.stored; ++number) {
          const StreamWork piece = s.piece(work, number);
          EXPECT_EQ(piece.begin, at) << "piece " << number << " of block " << block;
          at = piece.end;
          EXPECT_TRUE(slots.insert(s.slot(work.tile, block) + number).second) << "block " << block;
        }
        EXPECT_EQ(at, work.end) << "block " << block;
      }
    }
    EXPECT_EQ(static_cast<int>(covered.size()), s.stream.tiles);
    for (const auto& [tile, iterations] : covered) EXPECT_EQ(iterations, s.stream.iterations);
    EXPECT_LT(*slots.rbegin(), s.slots());
  });
  EXPECT_GT(plans, 0);
}

// The second launch reads the parts of a tile from its first block's place on.
TEST(PartsPlan, TheSumsOfATileLieBesideEachOther) {
  each_parts_plan([](const PartsTile&, const Sgemm&, const PartsSchedule& s) {
    std::map<int, std::set<int>> stored, read;
    for (int block = 0; block < s.stream.blocks; ++block)
      for (StreamWork work = s.stream.first(block); work.valid(); work = s.stream.next(work, block))
        for (int number = 0; number < s.stored; ++number)
          stored[work.tile].insert(s.slot(work.tile, block) + number);
    for (int tile = 0; tile < s.stream.tiles; ++tile) {
      const StreamParts all = s.parts(tile);
      for (int i = 0; i < all.count * s.stored; ++i)
        read[tile].insert(s.slot(tile, all.first_block) + i);
    }
    EXPECT_EQ(stored, read);
  });
}

TEST(PartsPlan, ThreadsShareAnOutputWherePartsAreMany) {
  EXPECT_EQ(detail::parts_groups(1), 1);
  EXPECT_EQ(detail::parts_groups(8), 1);
  EXPECT_EQ(detail::parts_groups(9), 2);
  EXPECT_EQ(detail::parts_groups(132), 16);
  EXPECT_EQ(detail::parts_groups(5000), 16);
}

TEST(PartsPlan, PlainProductsThatWaitForThePreviousLaunchAlone) {
  const PartsTile& tile = parts_tiles[0];
  const Sgemm p = stream_product(100, 100, 100000);
  ASSERT_TRUE(plan_parts(tile, p, stream_device()));
  const auto refuses = [&](const auto& change) {
    Sgemm q = p;
    change(q);
    return !plan_parts(tile, q, stream_device());
  };
  static const float scalar = 1;
  EXPECT_TRUE(refuses([](Sgemm& q) { q.batch = 2; }));
  EXPECT_TRUE(refuses([](Sgemm& q) { q.alpha = 0; }));
  EXPECT_TRUE(refuses([](Sgemm& q) { q.k = 0; }));
  EXPECT_TRUE(refuses([](Sgemm& q) { q.alpha_at = &scalar; }));
  EXPECT_TRUE(refuses([](Sgemm& q) { q.epilogue.activation = Activation::relu; }));
  EXPECT_TRUE(refuses([](Sgemm& q) { q.triangle = Triangle::lower; }));
  EXPECT_TRUE(refuses([](Sgemm& q) { q.overlaps_previous = true; }));
  EXPECT_TRUE(refuses([](Sgemm& q) { q.next_overlaps = true; }));
  EXPECT_TRUE(refuses([](Sgemm& q) { q.m = q.n = 8192; })) << "as many tiles as blocks";
}

// parts_128x128 has the tile of stream_128x128, without instances that parts do not need.
TEST(PartsPlan, EachRowHasTheConfigurationOfItsTile) {
  for (const PartsTile& tile : parts_tiles) {
    const std::string of = "stream_" + std::string(tile.name).substr(std::string("parts_").size());
    const StreamTileConfig& config = test::tile_named(stream_tiles, of.c_str()).config;
    EXPECT_EQ(tile.config.bm, config.bm) << tile.name;
    EXPECT_EQ(tile.config.bn, config.bn) << tile.name;
    EXPECT_EQ(tile.config.threads(), config.threads()) << tile.name;
    EXPECT_FALSE(tile.config.clusters || tile.config.shaped || tile.config.plain) << tile.name;
    EXPECT_FALSE(tile.config.turns || tile.config.along_k) << "the row says so itself";
  }
}

}  // namespace
}  // namespace kw
