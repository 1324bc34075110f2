// How stream_tile cuts a product: every iteration of every tile belongs to one block, the parts of
// a tile have room of their own, and sums are as short as a fallback needs them.
#include "sgemm/stream/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
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

// How long its sums are, as a plan wants them.
std::int64_t sum_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  const Sgemm p = stream_product(m, n, k);
  return wanted_sum(p, longest_sum(p, 132), 132);
}

const std::vector<Sgemm>& stream_products() {
  static const std::vector<Sgemm> products = {
      stream_product(1, 1, 1),          stream_product(300, 200, 70000),
      stream_product(512, 512, 16384),  stream_product(640, 640, 640),
      stream_product(1537, 1500, 1000), stream_product(4096, 4096, 512),
      stream_product(64, 64, 0),        stream_product(100, 30, 4000, 7)};
  return products;
}

// The times of a configuration whose copies and stores differ by how the operands lie.
StreamTile tile_of_times(int bm, int bn, int bk) {
  StreamTile tile = stream_tiles[0];
  tile.config.bm = bm, tile.config.bn = bn, tile.config.bk = bk;
  tile.times = {.start_us = 10,
                .tile_us = 5,
                .iteration_us = 4,
                .crowded_iteration_us = 7,
                .along_k_us = 0.9,
                .by_4_us = 0.3,
                .store_by_4_us = 2,
                .exposed = 0.5,
                .part_us = 3,
                .each_part_us = 0.25};
  return tile;
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

// How long the longest sum of an accumulator is.
double sum_of(const StreamTile& tile, const StreamSchedule& s) {
  int longest = 0;
  for (int block = 0; block < s.blocks; ++block) {
    for (StreamWork work = s.in_clusters() ? s.of_cluster(0, block) : s.first(block); work.valid();
         work = s.in_clusters() ? StreamWork{} : s.next(work, block))
      longest = std::max(longest, std::min(work.end - work.begin, s.piece));
    if (s.in_clusters() && block + 1 == s.cluster) break;
  }
  return longest * tile.config.bk / static_cast<double>(tile.config.warps_k);
}

TEST(StreamPlan, LongSumsAreCut) {
  for (const StreamTile& tile : stream_tiles) {
    SCOPED_TRACE(tile.name);
    for (const Sgemm& p : {stream_product(512, 512, 4096), stream_product(1500, 1300, 9000),
                           stream_product(3000, 3000, 3000), stream_product(20, 30, 70000)}) {
      const auto plan = plan_stream_tile(tile, p, stream_device());
      ASSERT_TRUE(plan);
      const auto most = static_cast<double>(longest_sum(p, 132));
      EXPECT_LE(sum_of(tile, plan->schedule), sum_length_tuning.tolerance * most + tile.config.bk);
      EXPECT_LE(plan->schedule.totals, tile.config.warps_k > 1 ? 0 : 1)
          << "warps that share a tile have room in shared memory";
    }
    for (const Sgemm& p : {stream_product(512, 512, 2047), stream_product(100, 30, 40000, 7),
                           stream_product(4096, 4096, 4096)}) {
      const auto plan = plan_stream_tile(tile, p, stream_device());
      EXPECT_GE(plan->schedule.piece, plan->schedule.iterations) << p.m << " x " << p.k;
      EXPECT_EQ(plan->schedule.totals, 0);
    }
  }
}

TEST(StreamPlan, PiecesAreEqual) {
  const StreamTile tile = tile_of_times(64, 128, 32);
  const auto shape = detail::stream_shape(tile.config, stream_product(64, 128, 3200));
  StreamSchedule s = *detail::cut_stream(*shape, 1, 0);
  EXPECT_EQ(s.piece, 100);
  detail::cut_sums(tile.config, {3200, 3200}, &s);
  EXPECT_EQ(s.piece, 100);
  detail::cut_sums(tile.config, {2910, 2910}, &s);
  EXPECT_EQ(s.piece, 100) << "hardly longer than asked for";
  detail::cut_sums(tile.config, {1300, 1300}, &s);
  EXPECT_EQ(s.piece, 34) << "three";
  EXPECT_EQ(s.totals, 1);
  EXPECT_EQ(s.slots(), 1);
  detail::cut_sums(tile.config, {1, 1}, &s);
  EXPECT_EQ(s.piece, 1);
  const StreamSchedule without = without_totals(s);
  EXPECT_EQ(without.slots(), 0);
  EXPECT_EQ(without.piece, 100);
}

TEST(StreamPlan, SumsAreShorterWhereThatTakesLittleTime) {
  StreamTile tile = tile_of_times(64, 128, 32);
  const auto shape = detail::stream_shape(tile.config, stream_product(64, 128, 3200));
  const StreamSchedule uncut = *detail::cut_stream(*shape, 1, 0);
  const auto cuts = [&](double of_alone) {
    constexpr ShortSumTuning t = short_sum_tuning;
    const double us = of_alone * t.output_alone_us * 64 * 128;
    return detail::quick_cuts(tile.config, uncut, us / t.most_time);
  };
  EXPECT_EQ(cuts(0.9), 0);
  EXPECT_EQ(cuts(1.1), 1);
  EXPECT_EQ(cuts(7.5), 7);
  EXPECT_GT(cuts(1e30), 1000);
  tile.config.blocks_per_sm = 2;
  EXPECT_EQ(cuts(7.5), 5) << "twice as many outputs of a multiprocessor";
  tile.config.warps_k = 2;
  EXPECT_EQ(cuts(7.5), 4) << "sums meet in shared memory";
  tile.config.warps_k = 1;

  const auto piece = [&](int further_cuts) {
    StreamSchedule s = uncut;
    detail::cut_sums(tile.config, {1600, 400, further_cuts}, &s);
    return s.piece;
  };
  EXPECT_EQ(piece(0), 50);
  EXPECT_EQ(piece(1), 34) << "three in place of two";
  EXPECT_EQ(piece(100), 13) << "no more than wanted";
}

TEST(StreamPlan, ShortSumsAreThoseThatTheVendorWasSeenToHave) {
  EXPECT_EQ(sum_of(128, 128, 4096), 128) << "a multiple of the root";
  EXPECT_EQ(sum_of(1000, 1000, 2048), 400) << "no shorter";
  EXPECT_EQ(sum_of(512, 512, 16384), 16384 / 34) << "no more pieces";
  EXPECT_EQ(sum_of(4096, 4096, 4096), 4096) << "as few as longest_sum has";
  EXPECT_EQ(sum_of(4096, 4096, 5000), 1250);
  EXPECT_EQ(sum_of(6144, 6144, 6144), 2048);
  EXPECT_EQ(sum_of(8192, 8192, 16384), 4096);
  EXPECT_GT(sum_of(512, 512, 2047), 2047) << "not cut";
  for (const std::int64_t size : {20, 300, 1000, 3000, 10000})
    for (const std::int64_t k : {2048, 5000, 20000, 70000})
      EXPECT_LE(sum_of(size, size, k), longest_sum(stream_product(size, size, k), 132));
}

TEST(StreamPlan, ManyOutputsHaveTheVendorsPieces) {
  const auto sum = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return longest_sum(stream_product(m, n, k), 132);
  };
  EXPECT_EQ(sum(4096, 4096, 4096), 4096) << "3.9 rounds of the vendor's tiles";
  EXPECT_EQ(sum(8192, 8192, 16384), 4096);
  EXPECT_EQ(sum(512, 512, 16384), 1024);
  EXPECT_EQ(sum(128, 128, 4096), 153);
  EXPECT_EQ(sum(1000, 1000, 65536), sum_length_tuning.longest);
  EXPECT_EQ(sum(1000, 1000, 2048), sum_length_tuning.shortest);
  EXPECT_GT(sum(1 << 30, 1 << 30, 4096), 1000) << "more tiles than an int holds";
}

TEST(StreamPlan, OneFullWaveOfTheVendorsTilesIsNotCut) {
  EXPECT_EQ(sum_of(2048, 2048, 2048), 2048);
  EXPECT_EQ(sum_of(2048, 2048, 16384), sum_length_tuning.longest) << "of so few outputs no longer";
  EXPECT_EQ(sum_of(1024, 4250, 3000), 400) << "136 tiles";
  EXPECT_EQ(sum_of(1792, 2048, 2048), 400) << "112 tiles";
  for (const StreamTile& tile : stream_tiles) {
    const Sgemm p = stream_product(2048, 2048, 2048);
    const auto plan = plan_stream_tile(tile, p, stream_device());
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->schedule.piece, plan->schedule.iterations) << tile.name;
    EXPECT_EQ(plan->schedule.totals, 0) << tile.name;
  }
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
  const auto us = [&](std::int64_t k, std::int64_t shared) {
    Sgemm p = stream_product(64, 128, k);
    p.op_a = Op::transpose, p.lda = 64;
    const auto cut =
        detail::cut_stream(*detail::stream_shape(tile.config, p), shared > 0 ? 2 : 1, shared);
    return detail::predict_stream_us(tile, *cut, detail::stream_steps(tile, p, stream_device()),
                                     132);
  };
  EXPECT_DOUBLE_EQ(us(32 * (stream_few + 1), 0), 10 + (stream_few + 1) * 4);
  EXPECT_DOUBLE_EQ(us(32 * stream_few, 0), 10 + (stream_few + stream_few_longer) * 4);
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

Device device_with_clusters(int sms = 132) {
  Device device = stream_device(sms);
  device.compute_capability = 90;
  return device;
}

TEST(StreamPlan, AClusterHasItsTileAndEachBlockAShare) {
  StreamSchedule shape;
  shape.tiles = 7;
  for (int iterations = 8; iterations < 30; ++iterations) {
    shape.iterations = iterations;
    for (int parts = 2; parts <= stream_cluster_parts; ++parts) {
      const StreamSchedule s = detail::cut_stream_by_clusters(shape, parts);
      EXPECT_EQ(s.blocks, 7 * parts);
      EXPECT_EQ(s.slots(), 0) << "no workspace";
      for (int cluster = 0; cluster < 7; ++cluster) {
        int end = 0;
        for (int rank = 0; rank < parts; ++rank) {
          const StreamWork work = s.of_cluster(cluster, rank);
          EXPECT_EQ(work.tile, cluster);
          EXPECT_EQ(work.begin, end);
          EXPECT_GE(work.end - work.begin, iterations / parts);
          EXPECT_LE(work.end - work.begin, ceil_div(iterations, parts));
          end = work.end;
        }
        EXPECT_EQ(end, iterations);
      }
    }
  }
}

// A cluster lies in one GPC. On 132 SMs those that were measured to run in one round, and not those
// that took two.
TEST(StreamPlan, ClustersFillGpcsNotDevices) {
  EXPECT_EQ(blocks_in_clusters(132, 1, 2), 132);
  const auto fits = [](int clusters, int parts, int blocks_per_sm) {
    return clusters * parts <= blocks_in_clusters(132, blocks_per_sm, parts);
  };
  EXPECT_TRUE(fits(38, 3, 1) && fits(29, 4, 1) && fits(22, 5, 1) && fits(15, 8, 1));
  EXPECT_FALSE(fits(40, 3, 1) || fits(31, 4, 1) || fits(18, 6, 1) || fits(16, 7, 1));
  EXPECT_TRUE(fits(75, 3, 2) && fits(58, 4, 2) && fits(43, 5, 2) && fits(36, 6, 2) &&
              fits(30, 7, 2) && fits(26, 8, 2));
  EXPECT_FALSE(fits(77, 3, 2) || fits(60, 4, 2) || fits(46, 5, 2) || fits(38, 6, 2) ||
               fits(32, 7, 2) || fits(28, 8, 2));
  EXPECT_EQ(blocks_in_clusters(114, 1, 8), 12 * 8) << "15 clusters of 132 SMs, in proportion";
  EXPECT_EQ(blocks_in_clusters(2, 1, 2), 2);
  EXPECT_EQ(blocks_in_clusters(2, 1, 3), 0);
}

TEST(StreamPlan, ClustersAreChosenWhereTheyAreQuicker) {
  StreamTile tile = tile_of_times(64, 64, 32);
  tile.config.clusters = true;
  tile.config.blocks_per_sm = 1;
  tile.times.cluster_us = 2;
  tile.times.crowded_cluster_us = 3;
  // 30 tiles of 12 iterations: 4 blocks each.
  Sgemm p = stream_product(5 * 64, 6 * 64, 12 * 32);
  p.op_a = Op::transpose, p.lda = p.m;
  const auto plan = plan_stream_tile(tile, p, device_with_clusters());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->schedule.cluster, 4);
  EXPECT_EQ(plan->schedule.blocks, 120);
  EXPECT_EQ(plan->schedule.share, 3);
  EXPECT_DOUBLE_EQ(plan->time_us, 10 + 3 * 4 + 2);
  EXPECT_EQ(stream_workspace_bytes(tile, plan->schedule), 0U);

  const auto cluster = [&](const StreamTile& of, const Device& device) {
    return plan_stream_tile(of, p, device)->schedule.cluster;
  };
  EXPECT_EQ(cluster(tile, stream_device()), 0) << "a device without clusters";
  StreamTile other = tile;
  other.config.clusters = false;
  EXPECT_EQ(cluster(other, device_with_clusters()), 0);
  other = tile;
  other.times.cluster_us = 5;
  EXPECT_EQ(cluster(other, device_with_clusters()), 0) << "no quicker than part_us";
  other = tile;
  other.config.blocks_per_sm = 2;
  other.times.crowded_iteration_us = 4;
  const auto crowded = plan_stream_tile(other, p, device_with_clusters());
  EXPECT_EQ(crowded->schedule.cluster, 6) << "234 blocks fit where SMs take two";
  EXPECT_DOUBLE_EQ(crowded->time_us, 10 + 2 * 4 + 3);
  p.m = 0;
  EXPECT_EQ(cluster(tile, device_with_clusters()), 0);
  p.m = 5 * 64, p.k = 0;
  EXPECT_EQ(cluster(tile, device_with_clusters()), 0);
  p.k = 12 * 32, p.m = 12 * 64;
  EXPECT_EQ(cluster(tile, device_with_clusters()), 0) << "72 tiles: two blocks each are too many";
}

// More blocks than fit clusters on SMs of their own share SMs, and so ask for no more memory.
TEST(StreamPlan, ClustersHaveAnSmABlockWhereTheyFit) {
  Device device = device_with_clusters();
  device.shared_bytes_per_sm = 228 << 10;
  device.shared_bytes_per_block_optin = 227 << 10;
  const StreamTile tile = tile_of_times(64, 64, 32);
  const std::size_t needed = 70 << 10;
  const auto bytes = [&](int tiles) {
    StreamSchedule shape;
    shape.tiles = tiles;
    shape.iterations = 16;
    return stream_shared_bytes(tile, detail::cut_stream_by_clusters(shape, 8), device, needed);
  };
  EXPECT_EQ(bytes(15), std::size_t{114 << 10});
  EXPECT_EQ(bytes(16), needed);
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
