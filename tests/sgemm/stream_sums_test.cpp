// How long stream_tile's sums are: as short as a fallback needs them, and cut into equal pieces.
#include <gtest/gtest.h>

#include <algorithm>

#include "stream_support.hpp"

namespace kw {
namespace {

// How long its sums are, as a plan wants them.
std::int64_t sum_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  const Sgemm p = stream_product(m, n, k);
  return wanted_sum(p, longest_sum(p, 132), 132);
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

}  // namespace
}  // namespace kw
