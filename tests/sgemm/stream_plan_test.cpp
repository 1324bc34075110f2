// How stream_tile cuts a product: every iteration of every tile belongs to one block, the parts of
// a tile have room of their own, and sums are as short as a fallback needs them.
#include "sgemm/stream/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace kw {
namespace {

Device stream_device(int sms = 132) {
  Device device;
  device.sm_count = sms;
  return device;
}

Sgemm stream_product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
  Sgemm p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.batch = batch;
  p.lda = k;
  p.ldb = p.ldc = n;
  return p;
}

const std::vector<Sgemm>& stream_products() {
  static const std::vector<Sgemm> products = {
      stream_product(1, 1, 1),          stream_product(300, 200, 70000),
      stream_product(512, 512, 16384),  stream_product(640, 640, 640),
      stream_product(1537, 1500, 1000), stream_product(4096, 4096, 512),
      stream_product(64, 64, 0),        stream_product(100, 30, 4000, 7)};
  return products;
}

TEST(StreamPlan, EveryIterationBelongsToOneBlock) {
  for (const StreamTile& tile : stream_tiles) {
    for (Sgemm p : stream_products()) {
      for (const bool is_fallback : {false, true}) {
        p.is_fallback = is_fallback;
        SCOPED_TRACE(testing::Message()
                     << tile.name << ", " << p.m << " x " << p.n << " x " << p.k);
        const auto plan = plan_stream_tile(tile, p, stream_device());
        ASSERT_TRUE(plan);
        const StreamSchedule& s = plan->schedule;
        EXPECT_LE(s.blocks, max_stream_blocks);
        std::vector<int> covered(static_cast<std::size_t>(s.tiles));
        std::set<int> slots;
        for (int block = 0; block < s.blocks; ++block) {
          for (StreamWork work = s.first(block); work.valid(); work = s.next(work, block)) {
            ASSERT_LT(work.tile, s.tiles);
            covered[static_cast<std::size_t>(work.tile)] += work.end - work.begin;
            if (s.whole(work)) continue;
            const StreamParts parts = s.parts(work, block);
            const int slot = parts.slot(parts.mine);
            EXPECT_LT(slot, s.slots());
            EXPECT_TRUE(slots.insert(slot).second) << "two parts in slot " << slot;
          }
        }
        EXPECT_TRUE(std::all_of(covered.begin(), covered.end(),
                                [&](int iterations) { return iterations == s.iterations; }));
        EXPECT_EQ(stream_workspace_bytes(tile, s) > 0, !slots.empty());
      }
    }
  }
}

TEST(StreamPlan, EveryTileOfCIsTakenOnce) {
  for (const int tiles_n : {1, 3, 20}) {
    for (const int tiles_m : {1, 7, 8, 9, 30}) {
      std::set<std::pair<int, int>> taken;
      for (int i = 0; i < tiles_m * tiles_n; ++i) {
        const TileIndex tile = grouped_tile(i, tiles_m, tiles_n, 8);
        EXPECT_TRUE(tile.row >= 0 && tile.row < tiles_m && tile.col >= 0 && tile.col < tiles_n);
        taken.insert({tile.row, tile.col});
      }
      EXPECT_EQ(taken.size(), static_cast<std::size_t>(tiles_m * tiles_n));
    }
  }
}

TEST(StreamPlan, BlocksThatRunTogetherShareRowsOfA) {
  // Eight tile rows side by side, then the next column of tiles.
  EXPECT_EQ(grouped_tile(7, 30, 20, 8).row, 7);
  EXPECT_EQ(grouped_tile(7, 30, 20, 8).col, 0);
  EXPECT_EQ(grouped_tile(8, 30, 20, 8).row, 0);
  EXPECT_EQ(grouped_tile(8, 30, 20, 8).col, 1);
}

TEST(StreamPlan, AFallbackWithALongKHasShortSums) {
  Sgemm p = stream_product(512, 512, 4096);
  for (const StreamTile& tile : stream_tiles) {
    SCOPED_TRACE(tile.name);
    p.is_fallback = false;
    const auto plain = plan_stream_tile(tile, p, stream_device());
    p.is_fallback = true;
    const auto fallback = plan_stream_tile(tile, p, stream_device());
    ASSERT_TRUE(plain && fallback);
    EXPECT_EQ(plain->cost, plain->time_us);
    EXPECT_GT(fallback->cost, fallback->time_us);
    EXPECT_LE(detail::longest_sum(tile.config, fallback->schedule),
              detail::longest_sum(tile.config, plain->schedule));
  }
}

// More than half of what an int holds: twice the number of tiles does not fit one.
TEST(StreamPlan, AFallbackMayHaveManyTiles) {
  Sgemm p = stream_product(38757, 23553, 3380, 2875);
  p.is_fallback = true;
  for (const StreamTile& tile : stream_tiles) {
    if (tile.name != std::string("stream_32x64")) continue;
    const auto plan = plan_stream_tile(tile, p, stream_device());
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->schedule.whole_tiles, plan->schedule.tiles / 132 * 132);
  }
}

TEST(StreamPlan, RowsOfBThatAreCopiedByFourBytesTakeLonger) {
  for (const StreamTile& tile : stream_tiles) {
    SCOPED_TRACE(tile.name);
    Sgemm p = stream_product(1000, 1000, 1000, 2);
    p.stride_b = p.k * p.n;
    const auto us = [&] { return plan_stream_tile(tile, p, stream_device())->time_us; };
    const double by_16 = us();
    p.ldb = 1004;
    EXPECT_EQ(us(), by_16);
    p.ldb = 1001;
    EXPECT_GT(us(), by_16);
    p.op_b = Op::transpose;
    EXPECT_EQ(us(), by_16) << "its rows are no longer B's";
    p.op_b = Op::none;
    p.ldb = 1000;
    p.stride_b += 2;
    EXPECT_GT(us(), by_16);
    p.batch = 1;
    const double one = us();
    p.stride_b -= 2;
    EXPECT_EQ(us(), one) << "there is one product";
  }
}

TEST(StreamPlan, RefusesWhatItsIntegersDoNotHold) {
  const StreamTile& tile = stream_tiles[0];
  EXPECT_TRUE(plan_stream_tile(tile, stream_product(1 << 20, 1 << 20, 16), stream_device()));
  EXPECT_FALSE(plan_stream_tile(
      tile, stream_product(std::int64_t{1} << 31, std::int64_t{1} << 31, 16), stream_device()));
  EXPECT_FALSE(plan_stream_tile(
      tile, stream_product(std::int64_t{1} << 20, std::int64_t{1} << 20, 16, 1 << 10),
      stream_device()));
  EXPECT_FALSE(
      plan_stream_tile(tile, stream_product(1, 1, std::int64_t{1} << 32), stream_device()));
  const auto empty = plan_stream_tile(tile, stream_product(0, 5, 5), stream_device());
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->cost, 0);
  EXPECT_EQ(empty->schedule.blocks, 0);
}

}  // namespace
}  // namespace kw
