// How stream_tile cuts a product, and how long that is predicted to take: every iteration of every
// tile belongs to one block, and the parts of a tile have room of their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stream_support.hpp"

namespace kw {
namespace {

const std::vector<Sgemm>& stream_products() {
  static const std::vector<Sgemm> products = {
      stream_product(1, 1, 1),          stream_product(300, 200, 70000),
      stream_product(512, 512, 16384),  stream_product(640, 640, 640),
      stream_product(1537, 1500, 1000), stream_product(4096, 4096, 512),
      stream_product(64, 64, 0),        stream_product(100, 30, 4000, 7)};
  return products;
}

TEST(StreamPlan, ATilesLastIterationTakesAsLongAsItsK) {
  for (const StreamTile& tile : stream_tiles) {
    SCOPED_TRACE(tile.name);
    const std::int64_t m = 132 * std::int64_t{tile.config.bm}, n = tile.config.bn;
    const auto time_us = [&](std::int64_t k) {
      return plan_stream_tile(tile, stream_product(m, n, k), stream_device())->time_us;
    };
    const std::int64_t whole = 4 * std::int64_t{tile.config.bk};
    // What is more than a few of k, beside the bytes that memory brings for them.
    const double rest = time_us(whole + tile.config.bk) - time_us(whole + 1);
    const double iteration = tile.times.iteration_us;
    EXPECT_GT(time_us(whole + 1), time_us(whole));
    if (tile.config.whole_stages())
      EXPECT_LT(rest, 0.2 * iteration);
    else
      EXPECT_GT(rest, (1 - stream_short_stage) / 2 * iteration);
  }
}

TEST(StreamPlan, EveryIterationBelongsToOneBlock) {
  for (const StreamTile& tile : stream_tiles) {
    for (const Sgemm& p : stream_products()) {
      for (const bool in_pieces : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << tile.name << ", " << p.m << " x " << p.n << " x " << p.k);
        const auto plan = plan_stream_tile(tile, p, stream_device());
        ASSERT_TRUE(plan);
        StreamSchedule s = plan->schedule;
        if (in_pieces) detail::cut_sums(tile.config, {1, 1}, &s);
        EXPECT_LE(s.blocks, max_stream_blocks);
        std::vector<int> covered(static_cast<std::size_t>(s.tiles));
        std::set<int> slots;
        std::map<int, int> owners;  // of places in the workspace
        for (int block = 0; block < s.blocks; ++block) {
          for (StreamWork work = s.first(block); work.valid(); work = s.next(work, block)) {
            ASSERT_LT(work.tile, s.tiles);
            covered[static_cast<std::size_t>(work.tile)] += work.end - work.begin;
            if (s.totals > 0) {
              const int place = s.totals_slot(work, block);
              EXPECT_LT(place, s.slots());
              EXPECT_EQ(owners.emplace(place, block).first->second, block)
                  << "two blocks add up in place " << place;
            }
            if (s.whole(work)) continue;
            const StreamParts parts = s.parts(work, block);
            const int slot = parts.slot(parts.mine);
            EXPECT_LT(slot, s.slots());
            EXPECT_TRUE(slots.insert(slot).second) << "two parts in slot " << slot;
            EXPECT_EQ(owners.emplace(slot, block).first->second, block)
                << "one block's part where another adds up";
          }
        }
        EXPECT_TRUE(std::all_of(covered.begin(), covered.end(),
                                [&](int iterations) { return iterations == s.iterations; }));
        EXPECT_EQ(stream_workspace_bytes(tile, s) > 0, !slots.empty() || s.totals > 0);
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

TEST(StreamPlan, PlainProductsAreThoseWithoutCAndCuts) {
  Sgemm p = stream_product(1024, 1024, 1024);
  const StreamTile& tile = stream_tiles[0];
  const StreamSchedule uncut = plan_stream_tile(tile, p, stream_device())->schedule;
  EXPECT_TRUE(is_plain(p, uncut));
  StreamSchedule cut = uncut;
  cut.piece = cut.iterations - 1;
  EXPECT_FALSE(is_plain(p, cut)) << "sums in pieces";
  p.beta = 0.5f;
  EXPECT_FALSE(is_plain(p, uncut)) << "reads C";
  p.beta = 0;
  const float beta = 0;
  p.beta_at = &beta;
  EXPECT_FALSE(is_plain(p, uncut)) << "may read C";
  p.beta_at = nullptr;
  p.epilogue.activation = Activation::relu;
  EXPECT_FALSE(is_plain(p, uncut)) << "has an epilogue";
  p.epilogue = {};
  p.triangle = Triangle::lower;
  EXPECT_FALSE(is_plain(p, uncut)) << "is a triangle";
}

// More than half of what an int holds: twice the number of tiles does not fit one.
TEST(StreamPlan, TilesMayBeMany) {
  const Sgemm p = stream_product(38757, 23553, 3380, 2875);
  for (const StreamTile& tile : stream_tiles) {
    if (tile.name != std::string("stream_32x64")) continue;
    const auto plan = plan_stream_tile(tile, p, stream_device());
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->schedule.whole_tiles, plan->schedule.tiles / 132 * 132);
  }
}

TEST(StreamPlan, ATimeIsTheSumOfItsParts) {
  const StreamTile tile = tile_of_times(64, 128, 32);
  Sgemm p = stream_product(64, 128, 320);
  p.op_a = Op::transpose, p.lda = 64;
  const auto us = [&] {
    const auto shape = detail::stream_shape(tile.config, p);
    const auto whole = detail::cut_stream(*shape, std::min(shape->tiles, 132), 0);
    return detail::predict_stream_us(tile, *whole, detail::stream_steps(tile, p, stream_device()),
                                     132);
  };
  EXPECT_DOUBLE_EQ(us(), 10 + 10 * 4);
  p.op_a = Op::none, p.lda = 320;
  EXPECT_DOUBLE_EQ(us(), 10 + 10 * (4 + 0.9 / 3)) << "a third of a stage is A's";
  p.ldb = 129;
  EXPECT_DOUBLE_EQ(us(), 10 + 10 * (4 + 0.9 / 3 + 0.3 * 2 / 3));
  p.op_b = Op::transpose, p.ldb = 321;
  EXPECT_DOUBLE_EQ(us(), 10 + 10 * (4 + 0.9)) << "transposed by 4 bytes, aligned or not";
  p.op_a = Op::transpose, p.lda = 64, p.op_b = Op::none, p.ldb = 128;
  p.ldc = 130;
  EXPECT_DOUBLE_EQ(us(), 10 + 2 + 10 * 4);
  p.ldc = 128, p.n = 126;
  EXPECT_DOUBLE_EQ(us(), 10 + 2 + 10 * 4) << "the last vector crosses the edge";
  p.n = 128, p.m = 133 * 64, p.lda = p.m;
  EXPECT_DOUBLE_EQ(us(), 10 + 5 + 2 * 10 * 4) << "two rounds";
  p.ldc = 129;
  EXPECT_DOUBLE_EQ(us(), 10 + 5 + 2 * 2 + 2 * 10 * 4);
}

TEST(StreamPlan, TilesThatBlocksShareTakeTheirPartsInAddition) {
  const StreamTile tile = tile_of_times(64, 128, 32);
  Sgemm p = stream_product(64, 128, 3200);
  p.op_a = Op::transpose, p.lda = 64;
  const auto us = [&](std::int64_t blocks) {
    const auto cut = detail::cut_stream(*detail::stream_shape(tile.config, p), blocks, 1);
    return detail::predict_stream_us(tile, *cut, detail::stream_steps(tile, p, stream_device()),
                                     132);
  };
  EXPECT_DOUBLE_EQ(us(10), 10 + 10 * 4 + 3 + 10 * 0.25);
  EXPECT_DOUBLE_EQ(us(20), 10 + 5 * 4 + (3 + stream_fan * 0.25) + (3 + 2 * 0.25))
      << "two groups of parts, then their two sums";
  p.k = 264 * 32;
  EXPECT_DOUBLE_EQ(us(264), 10 + 7 + 2 * (3 + stream_fan * 0.25) + (3 + 2 * 0.25))
      << "17 groups, two groups of those; two blocks on a multiprocessor";
}

TEST(StreamPlan, AFewIterationsTakeLonger) {
  const StreamTile tile = tile_of_times(64, 128, 32);
  const auto us = [&](std::int64_t k, std::int64_t shared, int beyond = 0) {
    Sgemm p = stream_product(64, 128, k);
    p.op_a = Op::transpose, p.lda = 64, p.ldc += beyond;
    const auto cut =
        detail::cut_stream(*detail::stream_shape(tile.config, p), shared > 0 ? 2 : 1, shared);
    return detail::predict_stream_us(tile, *cut, detail::stream_steps(tile, p, stream_device()),
                                     132);
  };
  const int few = stream_few.iterations, by_4 = stream_few_by_4.iterations;
  EXPECT_DOUBLE_EQ(us(32 * (few + 1), 0), 10 + (few + 1) * 4);
  EXPECT_DOUBLE_EQ(us(32 * few, 0), 10 + (few + stream_few.longer) * 4);
  const double store_us = us(32 * (by_4 + 1), 0, 1) - us(32 * (by_4 + 1), 0);
  EXPECT_DOUBLE_EQ(us(32 * by_4, 0, 1), 10 + store_us + (by_4 + stream_few_by_4.longer) * 4)
      << "C is stored by single elements";
  EXPECT_DOUBLE_EQ(us(32 * 2, 1), 10 + 4 + 3 + 2 * 0.25) << "not of a tile that blocks share";
}

TEST(StreamPlan, EntriesOfABatchAreAlignedIfAllAre) {
  const StreamTile tile = tile_of_times(64, 128, 32);
  Sgemm p = stream_product(64, 128, 320, 2);
  p.stride_a = 64 * 320, p.stride_b = 128 * 320, p.stride_c = 64 * 128;
  const auto us = [&] { return plan_stream_tile(tile, p, stream_device())->time_us; };
  const double aligned = us();
  p.stride_b += 2;
  EXPECT_GT(us(), aligned);
  p.stride_b -= 2, p.stride_c += 2;
  EXPECT_DOUBLE_EQ(us(), aligned + 2);
  p.batch = 1;
  const double one = us();
  p.stride_c -= 2;
  EXPECT_EQ(us(), one) << "there is one product";
}

// What lies beyond the L2 cache comes from memory, and a part of that time shows.
TEST(StreamPlan, MemoryTakesTimeWhereTheCacheDoesNotHoldTheOperands) {
  Device device = stream_device();
  device.l2_bytes = 60'000'000;
  device.memory_clock_khz = 2'000'000;
  device.memory_bus_bits = 4000;  // 2 GB/ms
  const double bytes_per_us = memory_tuning.share_of_bandwidth * 2e6;
  Sgemm p = stream_product(1000, 1000, 1500);
  EXPECT_EQ(operand_bytes(p), 4 * 4e6);
  EXPECT_EQ(memory_us(p, device), 0);
  p.k = 3250;
  EXPECT_NEAR(memory_us(p, device), 0.5 * 30e6 / bytes_per_us, 1e-9) << "half of them";
  p.k = 8000;
  EXPECT_NEAR(memory_us(p, device), 68e6 / bytes_per_us, 1e-9);
  p.beta = 1;
  EXPECT_NEAR(memory_us(p, device), 72e6 / bytes_per_us, 1e-9) << "C is read, too";
  p.batch = 10;
  EXPECT_NEAR(memory_us(p, device), (64e6 + 10 * 8e6) / bytes_per_us, 1e-9)
      << "all entries share A and B";
  p.stride_a = p.stride_b = 8'000'000;
  EXPECT_NEAR(memory_us(p, device), 720e6 / bytes_per_us, 1e-9);
  StreamTile tile = tile_of_times(64, 128, 32);
  tile.config.blocks_per_sm = 2;
  detail::StreamSteps steps = detail::stream_steps(tile, p, device);
  EXPECT_DOUBLE_EQ(steps.start_us, 10 + 0.5 * memory_us(p, device));
  EXPECT_DOUBLE_EQ(steps.alone_us, stream_alone_exposed * 0.5 * memory_us(p, device));
  const auto us = [&](std::int64_t blocks) {
    const auto shape = detail::stream_shape(tile.config, p);
    return detail::predict_stream_us(tile, *detail::cut_stream(*shape, blocks, 0), steps, 132);
  };
  const double alone_us = us(132), two_us = us(133);
  steps.alone_us += 1;
  EXPECT_DOUBLE_EQ(us(132), alone_us + 1);
  EXPECT_EQ(us(133), two_us) << "two blocks on a multiprocessor hide each other's memory's time";
  tile.config.blocks_per_sm = 1;
  EXPECT_EQ(detail::stream_steps(tile, p, device).alone_us, 0) << "two do not fit";
}

// Where there are no more blocks than SMs, as the prediction has it: two do not fit on an SM.
TEST(StreamPlan, BlocksNoMoreThanSmsHaveOneEach) {
  Device device = stream_device();
  device.shared_bytes_per_sm = 228 << 10;
  device.shared_bytes_per_block_optin = 227 << 10;
  const StreamTile tile = tile_of_times(64, 128, 32);
  const auto bytes = [&](std::int64_t m, std::int64_t k, std::size_t needed) {
    const auto shape = detail::stream_shape(tile.config, stream_product(m, 128, k));
    const auto cut = detail::cut_stream(*shape, shape->tiles, 0);
    return stream_shared_bytes(tile, *cut, device, needed);
  };
  const std::size_t half = 114 << 10, needed = 70 << 10;
  EXPECT_EQ(bytes(132 * 64, 320, needed), half);
  EXPECT_EQ(bytes(67 * 64, 320, needed), half);
  EXPECT_EQ(bytes(66 * 64, 320, needed), needed) << "half of the SMs are free";
  EXPECT_EQ(bytes(133 * 64, 320, needed), needed) << "some SMs have two";
  EXPECT_EQ(bytes(132 * 64, 320, 150 << 10), std::size_t{150 << 10}) << "two do not fit anyway";
  static_assert(stream_alone_from_us < 4, "an iteration of this tile");
  EXPECT_EQ(bytes(132 * 64, 32, needed), half);
  EXPECT_EQ(bytes(132 * 64, 0, needed), needed) << "too short";
  EXPECT_EQ(stream_shared_bytes(tile, StreamSchedule{}, device, needed), needed) << "no product";
  device.shared_bytes_per_block_optin = 90 << 10;
  EXPECT_EQ(bytes(132 * 64, 320, needed), std::size_t{90 << 10}) << "no more than the device gives";
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
  EXPECT_EQ(empty->time_us, 0);
  EXPECT_EQ(empty->schedule.blocks, 0);
}

}  // namespace
}  // namespace kw
