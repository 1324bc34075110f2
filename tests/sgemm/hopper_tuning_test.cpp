// The constants of the split kernels' heuristics (sgemm/hopper/tuning.hpp): what each does to a
// plan (sgemm/hopper/plan.hpp), on a device with the SMs of an H200.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <string_view>

#include "sgemm/hopper/plan.hpp"
#include "sgemm/hopper/split_items.hpp"
#include "sgemm/hopper/tuning.hpp"
#include "support/h200.hpp"
#include "support/run_seed.hpp"

namespace kw::hopper {
namespace {

using test::h200;

Sgemm shape(std::int64_t m, std::int64_t n, std::int64_t k) {
  Sgemm p;
  p.m = m;
  p.n = n;
  p.k = k;
  return p;
}
const TileRow& bf16x6(std::string_view tile) {
  return *std::find_if(std::begin(bf16x6_tiles), std::end(bf16x6_tiles), [&](const TileRow& row) {
    return std::string_view(row.name).substr(sizeof "hopper_bf16x6") == tile;
  });
}
const TileRow& fp16x3() { return fp16x3_tiles[0]; }

// The table at the head of accumulators.hpp.
TEST(HopperTuning, WhereTilesSumTheirLowProducts) {
  const auto is = [](std::string_view tile, bool totals) {
    SCOPED_TRACE(tile);
    EXPECT_EQ(low_band_of(bf16x6_scheme), LowBand::folded);
    EXPECT_EQ(has_totals(bf16x6_scheme, bf16x6(tile).tile), totals);
  };
  is("128x144", false);
  is("128x128", false);
  is("64x128", false);
  is("64x64", true);
  is("64x32", true);
  EXPECT_EQ(low_band_of(fp16x3_scheme), LowBand::kept);
  EXPECT_FALSE(has_totals(fp16x3_scheme, fp16x3().tile));
}

TEST(HopperTuning, LowPiecesAreUnscaledAsTheyWereScaled) {
  EXPECT_EQ(fp16x3_scheme.low_unscale * split::low_scale, 1);
  EXPECT_EQ(bf16x6_scheme.low_unscale, 1);
}

TEST(HopperTuning, BlocksShareATileWhereTilesAreFew) {
  const auto parts = [&](std::string_view tile, const Sgemm& p) {
    const Schedule schedule = fastest_schedule(bf16x6(tile), p, h200()).schedule;
    EXPECT_EQ(schedule.blocks % schedule.tiles, 0);
    return schedule.blocks / schedule.tiles;
  };
  constexpr std::int64_t least = min_k_split_stages * stage_k;
  EXPECT_EQ(parts("64x32", shape(64, 32, 2 * least - 1)), 2) << "stages are rounded up";
  EXPECT_EQ(parts("64x32", shape(64, 32, 2 * least - stage_k)), 1);
  EXPECT_EQ(parts("64x32", shape(64, 32, 3 * least)), 3);
  EXPECT_EQ(parts("64x32", shape(64, 32, 100 * least)), max_k_splits);
  EXPECT_EQ(parts("64x32", shape(64, 66 * 32, 100 * least)), 2)
      << "two blocks for each of 66 tiles";
  EXPECT_EQ(parts("128x128", shape(64, 32, 100 * least)), 1);
}

TEST(HopperTuning, TheLastRoundsAreCutWhereThatPays) {
  const auto schedule = [](const TileRow& row, const Sgemm& p) {
    return fastest_schedule(row, p, h200()).schedule;
  };
  const TileRow &narrow = fp16x3_tiles[0], &wide = fp16x3_tiles[1];
  const Schedule two = schedule(narrow, shape(1536, 1536, 1536));
  EXPECT_EQ(two.tiles, 144);
  EXPECT_EQ(two.whole_tiles, 0) << "two rounds";
  EXPECT_EQ(two.blocks, 132);
  EXPECT_EQ(schedule(narrow, shape(3072, 3072, 3072)).whole_tiles, 3 * 132) << "of five rounds";
  EXPECT_EQ(schedule(narrow, shape(2048, 2048, 2048)).slots(), 0)
      << "the last round is nearly full";
  EXPECT_EQ(schedule(narrow, shape(1536, 1536, 64)).slots(), 0) << "there is little to save";
  EXPECT_EQ(schedule(wide, shape(1536, 1536, 1536)).slots(), 0) << "a tile for each SM";
  EXPECT_GT(schedule(narrow, shape(2048, 2688, 2000)).slots(), 0);
  EXPECT_EQ(schedule(narrow, shape(2048, 2688, 11008)).slots(), 0) << "operands beyond L2";
  EXPECT_GT(schedule(wide, shape(8658, 178, 7124)).slots(), 0) << "L2 has one operand";
  EXPECT_EQ(schedule(wide, shape(3168, 2156, 6131)).slots(), 0) << "rounds nearly full";
  EXPECT_EQ(schedule(wide, shape(8192, 8192, 8192)).slots(), 0);
  EXPECT_LT(predicted_us(wide, shape(1536, 1536, 1536), h200()),
            predicted_us(narrow, shape(1536, 1536, 1536), h200()));

  const TimedSchedule timed = fastest_schedule(narrow, shape(1536, 1536, 1536), h200());
  EXPECT_NEAR(timed.us,
              2 * narrow.tile_us + 53 * narrow.stage_us + rounds_cut_us + 4 * each_rounds_cut_us,
              1e-9)
      << "of 144 times 48 stages, 53 a block at most";
}

// Of tiles of 128 x 128 an H200 has 12 rows and 11 columns in flight.
TEST(HopperTuning, BlocksKeepPaceWhereL2HasLessThanWhatIsInFlight) {
  const TileRow& row = fp16x3_tiles[0];
  const auto paced = [&](const Sgemm& p) { return product_schedule(row, p, h200()).paced_tiles; };
  const double k = cut_l2_share * l2_bytes_of(h200()) / (23 * 128 * 4);
  const auto more = ceil_div(static_cast<std::int64_t>(k), stage_k) * stage_k;
  EXPECT_EQ(paced(shape(12 * 128, 110 * 128, more)), 10 * 132);
  EXPECT_EQ(paced(shape(12 * 128, 110 * 128, more - 2 * stage_k)), 0);
  EXPECT_EQ(paced(shape(12 * 128, 11 * 128 * 2, 2 * more)), 2 * 132);
  EXPECT_EQ(paced(shape(6 * 128, 11 * 128, 4 * more)), 66) << "half a round: all of its blocks";
  const Schedule cut = product_schedule(row, shape(3072, 3072, 3072), h200());
  EXPECT_EQ(cut.paced_tiles, cut.whole_tiles);
  EXPECT_EQ(product_schedule(row, shape(5000, 5000, 60000), h200()).paced_tiles % 132, 0);
}

// What blocks at different k copy comes from memory as far as L2 has lost it since it was last
// read.
TEST(HopperTuning, AStageOfCutRoundsComesFromL2OrFromMemory) {
  const auto stage_us = [](const TileRow& row, const Sgemm& p, const Device& device) {
    return cut_stage_us(row, p, output_tiles(row.tile, p), device);
  };
  const TileRow& row = bf16x6("64x64");
  EXPECT_EQ(stage_us(row, shape(784, 784, 2000), h200()), row.stage_us) << "L2 has all";
  const auto from_memory = [](int rows) {
    return rows * stage_k * 6.0 * 132 / memory_bytes_per_us(h200());
  };
  const double both = stage_us(row, shape(784, 784, 60000), h200());
  EXPECT_LE(both, from_memory(128));
  EXPECT_GE(both, 0.8 * from_memory(128)) << "L2 has hardly any of it";
  // Three columns of tiles: B's rows are copied so often that L2 has them, A's three times.
  const double narrow = stage_us(row, shape(16384, 192, 4096), h200());
  EXPECT_GE(narrow, 0.9 * from_memory(64));
  EXPECT_LE(narrow, 1.1 * from_memory(64));

  Device slower = h200();
  slower.memory_clock_khz /= 2;
  EXPECT_DOUBLE_EQ(stage_us(row, shape(784, 784, 60000), slower), 2 * both);
  Device smaller = h200();
  smaller.l2_bytes = 20 << 20;
  EXPECT_GT(stage_us(row, shape(784, 784, 8000), smaller),
            stage_us(row, shape(784, 784, 8000), h200()));

  // The packed operands count, and fp16x3's have two thirds of the bytes.
  EXPECT_GT(stage_us(bf16x6("128x128"), shape(2100, 2100, 8192), h200()) /
                stage_us(fp16x3(), shape(2100, 2100, 8192), h200()),
            1.5);
  EXPECT_GT(fastest_schedule(row, shape(784, 784, 2000), h200()).schedule.slots(), 0);
  EXPECT_EQ(fastest_schedule(row, shape(784, 784, 60000), h200()).schedule.slots(), 0)
      << "two rounds of whole tiles take less";
}

TEST(HopperTuning, TheSplitPassMovesItsBytesInL2OrThroughMemory) {
  const TileRow& row = bf16x6("64x64");
  EXPECT_NEAR(split_pass_us(row, shape(640, 640, 1024), h200()),
              10.0 * 1280 * 1024 / split_pass_bytes_per_us, 1e-9);
  EXPECT_NEAR(split_pass_us(fp16x3(), shape(640, 640, 1024), h200()),
              8.0 * 1280 * 1024 / split_pass_bytes_per_us, 1e-9);
  const double memory = split_pass_share_of_memory * memory_bytes_per_us(h200());
  EXPECT_NEAR(split_pass_us(row, shape(6400, 6400, 1024), h200()), 10.0 * 12800 * 1024 / memory,
              1e-9);
}

// A block adds up no more than its share in one go.
TEST(HopperTuning, TheLongestRun) {
  EXPECT_EQ(longest_run(whole_schedule(5, 40, 132)), 40);
  EXPECT_EQ(longest_run(cut_schedule(100, 40, 132, 0)), 31);
  EXPECT_EQ(longest_run(cut_schedule(144, 40, 132, 0)), 40);
  EXPECT_EQ(longest_run(cut_schedule(200, 40, 132, 1)), 40);
  EXPECT_EQ(longest_run(split_schedule(10, 40, 3)), 14);
}

TEST(HopperTuning, ATimeIsTheSumOfItsParts) {
  TileRow row = bf16x6("128x128"), small = bf16x6("64x64");
  row.longer = small.longer = 0;
  const auto time = [&](const Sgemm& p) { return predicted_us(row, p, h200()); };
  // Two waves of tiles, and 128 stages more of each.
  Sgemm p = shape(128 * 132, 256, 4096), longer = shape(p.m, p.n, 8192);
  p.ldc = longer.ldc = 256;
  const double split_us = split_pass_us(row, p, h200());
  const auto stored_us = [](const TileRow& r, double outputs) {
    return r.stored_us * outputs * sizeof(float) * 1e-6;
  };
  EXPECT_NEAR(time(longer) - time(p), 2 * 128 * row.stage_us + split_us, 1e-6);
  EXPECT_NEAR(time(p),
              row.launch_us + 2 * (row.tile_us + 128 * row.stage_us) + split_us +
                  stored_us(row, 128 * 132 * 256.0),
              1e-6);

  // Rows of A and of B that are not aligned.
  Sgemm unaligned = p;
  unaligned.lda += 1;
  EXPECT_NEAR(time(unaligned) - time(p), row.unaligned_us, 1e-6);
  unaligned.ldb += 1;
  EXPECT_NEAR(time(unaligned) - time(p), 2 * row.unaligned_us, 1e-6);

  // A triangle stores half of C.
  Sgemm square = shape(2048, 2048, 64), triangle = square;
  triangle.triangle = Triangle::lower;
  EXPECT_DOUBLE_EQ(bytes_of_c(triangle), bytes_of_c(square) / 2);

  // Rows of C that are not aligned: both waves shift what they store. Tiles at the lower
  // edge alone are in one wave.
  Sgemm uneven = p;
  uneven.ldc = 257;
  EXPECT_NEAR(time(uneven) - time(p), 2 * row.shift_us, 1e-6);
  uneven.ldc = 256, uneven.m -= 4;
  EXPECT_NEAR(time(uneven) - time(p),
              edge_wave_share * row.shift_us + split_pass_us(row, uneven, h200()) - split_us -
                  stored_us(row, 4 * 256.0),
              1e-6);
  EXPECT_LT(split_pass_us(row, uneven, h200()), split_us) << "the packed operand is as large";

  // One tile, in as many splits as there may be.
  const std::int64_t stages = max_k_splits * min_k_split_stages;
  Sgemm shared = shape(64, 64, stages * stage_k);
  shared.ldc = 64;
  EXPECT_NEAR(predicted_us(small, shared, h200()),
              small.launch_us + small.tile_us +
                  static_cast<double>(min_k_split_stages) * small.stage_us + k_split_us +
                  static_cast<double>(max_k_splits) * each_k_split_us +
                  10.0 * 128 * static_cast<double>(stages * stage_k) / split_pass_bytes_per_us +
                  stored_us(small, 64 * 64.0),
              1e-6);
}

TEST(HopperTuning, LongCallsTakeLonger) {
  const TileRow& row = bf16x6("64x128");
  TileRow plain = row;
  plain.longer = 0;
  const auto share = [&](const Sgemm& p) {
    return predicted_us(row, p, h200()) / predicted_us(plain, p, h200()) - 1;
  };
  const Sgemm brief = shape(512, 512, 512), between = shape(2048, 2048, 2048);
  ASSERT_LT(predicted_us(plain, brief, h200()), long_from_us);
  EXPECT_EQ(share(brief), 0);
  EXPECT_GT(share(between), 0);
  EXPECT_LT(share(between), row.longer);
  EXPECT_NEAR(share(shape(8192, 8192, 8192)), row.longer, 1e-9);
}

// Where one tile or two need a large operand, the product splits it itself.
TEST(HopperTuning, NarrowSidesAreForTilesThatSplitTheOtherOperand) {
  const auto fastest = [](const Sgemm& p) {
    return std::min_element(std::begin(bf16x6_tiles), std::end(bf16x6_tiles),
                            [&](const TileRow& x, const TileRow& y) {
                              return predicted_cost(x, p, h200()) < predicted_cost(y, p, h200());
                            })
        ->tile.direct;
  };
  EXPECT_EQ(fastest(shape(100, 24000, 3000)), Direct::b);
  EXPECT_EQ(fastest(shape(24000, 100, 3000)), Direct::a);
  EXPECT_EQ(fastest(shape(4096, 4096, 4096)), Direct::none);
}

TEST(HopperTuning, TilesThatAreLessExactAreNotChosen) {
  const auto is_chosen = [](const TileRow& row, const Sgemm& p) {
    EXPECT_LT(predicted_us(row, p, h200()), std::numeric_limits<double>::infinity());
    return predicted_cost(row, p, h200()) == choice_margin * predicted_us(row, p, h200());
  };
  const std::int64_t short_k = bf16x6_scheme.chosen_k;
  EXPECT_TRUE(is_chosen(bf16x6("128x128"), shape(2048, 2048, short_k)));
  EXPECT_FALSE(is_chosen(bf16x6("128x128"), shape(2048, 2048, short_k - 1)));
  const std::int64_t k = fp16x3_scheme.chosen_k, mn = fp16x3_scheme.chosen_mn;
  EXPECT_TRUE(is_chosen(fp16x3(), shape(mn / 128, 128, k)));
  EXPECT_FALSE(is_chosen(fp16x3(), shape(mn / 128, 128, k - 1)));
  EXPECT_FALSE(is_chosen(fp16x3(), shape(mn / 128 - 1, 128, k)));
  const TileRow& small = fp16x3_tiles[std::size(fp16x3_tiles) - 1];
  ASSERT_TRUE(small.tile.shares_rows);
  EXPECT_TRUE(is_chosen(small, shape(small.chosen_mn / 128, 128, k)));
  EXPECT_FALSE(is_chosen(small, shape(small.chosen_mn / 128, 128, k - 1)));
  EXPECT_FALSE(is_chosen(small, shape(small.chosen_mn / 128 - 1, 128, k)));

  // A window of 128 x 128 is a stage.
  const std::int64_t longest = max_windows_without_totals * stage_k;
  EXPECT_TRUE(is_chosen(bf16x6("128x128"), shape(1408, 1408, longest)));
  EXPECT_FALSE(is_chosen(bf16x6("128x128"), shape(1408, 1408, longest + stage_k)));
  EXPECT_TRUE(is_chosen(bf16x6("64x64"), shape(1408, 1408, longest + stage_k)));
  EXPECT_TRUE(is_chosen(bf16x6("128x128"), shape(2048, 2048, longest + stage_k)));
  // Each of its warpgroups has every other stage.
  const std::int64_t longest_of_small = 2 * small.most_windows * stage_k;
  EXPECT_TRUE(is_chosen(small, shape(1408, 1408, longest_of_small)));
  EXPECT_FALSE(is_chosen(small, shape(1408, 1408, longest_of_small + 2 * stage_k)));
  // A window of fp16x3's 128 x 128 is two stages. Long sums of few outputs are too long for it.
  const std::int64_t longest_of_wide = fp16x3().most_windows * 2 * stage_k;
  EXPECT_TRUE(is_chosen(fp16x3(), shape(1408, 1408, longest_of_wide)));
  EXPECT_FALSE(is_chosen(fp16x3(), shape(1408, 1408, longest_of_wide + 2 * stage_k)));
  EXPECT_TRUE(is_chosen(fp16x3(), shape(2048, 2048, longest_of_wide + 2 * stage_k)));
  // Windows of three stages give back too much where sums are short.
  const TileRow& three = fp16x3_tiles[std::size(fp16x3_tiles) - 2];
  ASSERT_EQ(three.tile.window, 3);
  EXPECT_TRUE(is_chosen(three, shape(few_outputs / 128, 128, k)));
  EXPECT_FALSE(is_chosen(three, shape(few_outputs / 128 - 1, 128, k)));
}

// A tile that splits an operand itself has its sums cut, so that no k is too long for it; where
// there are no tickets for so many tiles it is not chosen.
TEST(HopperTuning, LongSumsOfMakersAreCut) {
  std::mt19937 engine(seed_of(1));
  std::uniform_real_distribution<double> narrow(4, 7), log2_k(12, 18), share(0.02, 1);
  const auto drawn = [&](double log2) { return static_cast<std::int64_t>(std::exp2(log2)); };
  for (int i = 0; i < 200; ++i) {
    const std::int64_t m = drawn(narrow(engine)), k = drawn(log2_k(engine));
    const auto n = static_cast<std::int64_t>(share(engine) * few_outputs) / m;
    const Sgemm p = shape(m, n, k);
    for (const TileRow& row : bf16x6_tiles) {
      if (!row.tile.is_direct()) continue;
      SCOPED_TRACE(testing::Message() << row.name << " " << m << " x " << n << " x " << k);
      const Schedule schedule = fastest_schedule(row, p, h200()).schedule;
      const std::int64_t windows = row.tile.windows(longest_run(schedule));
      EXPECT_LE(windows, max_windows_without_totals);
      EXPECT_EQ(predicted_cost(row, p, h200()), choice_margin * predicted_us(row, p, h200()));
      if (schedule.blocks > h200().sm_count) {
        EXPECT_GT(2 * windows, max_windows_without_totals / 2) << "no shorter than they must be";
      }
    }
  }
  const TileRow& row = bf16x6("128x128b");
  const Sgemm many = shape(1, few_outputs - 1, 1 << 14);
  EXPECT_GT(predicted_cost(row, many, h200()), predicted_us(row, many, h200()) * choice_margin);
}

TEST(HopperTuning, SegmentsOfTheSplitPass) {
  const auto segments = [](const Sgemm& p) {
    return split_segments(SplitPass::sampled_fp16, Direct::none, p, h200());
  };
  EXPECT_EQ(segments(shape(512, 512, 512)), 16 / stages_at_once) << "as short as can be";
  EXPECT_EQ(segments(shape(64, 64, 1 << 20)), max_segments);
  EXPECT_EQ(segments(shape(512, 512, 1)), 1u);
  // Of 128 stages of 128 row blocks for 396 blocks: three segments are one round of 44 stages, six
  // two rounds of 22. In one round the slower operand counts.
  static_assert(slower_operand * (44 + segment_start_stages) > 2 * (22 + segment_start_stages));
  EXPECT_EQ(segments(shape(4096, 4096, 4096)), 6u);
  // 400 row blocks: the last round of any number is nearly empty, so many short items would do
  // best, were it not for their starts.
  EXPECT_EQ(segments(shape(12800, 12800, 4096)), 16u);
}

TEST(HopperTuning, BlocksSampleInOneRoundOfLongItems) {
  const auto cut = [](const Sgemm& p) { return CallPlan(fp16x3(), p, h200()).split; };
  const auto expect = [&](const Sgemm& p, int a, int b) {
    EXPECT_EQ(cut(p).a, a) << p.m;
    EXPECT_EQ(cut(p).b, b) << p.m;
    EXPECT_FALSE(cut(p).samples_apart) << p.m;
  };
  expect(shape(1536, 1536, 1536), 6, 10);
  Sgemm p = shape(2048, 2048, 2048);
  expect(p, 4, 8);
  p.op_b = Op::transpose;
  expect(p, 4, 8);
  p.op_a = Op::transpose;
  expect(p, 6, 6);
}

TEST(HopperTuning, TheSampleIsALaunchWhereOneRoundFitsBadly) {
  const Sgemm p = shape(3072, 3072, 3072);
  EXPECT_TRUE(CallPlan(fp16x3(), p, h200()).split.samples_apart);
  EXPECT_FALSE(CallPlan(bf16x6("128x128"), p, h200()).split.samples_apart);
  Sgemm triangle = p;
  triangle.diagonal_apart = true;
  EXPECT_FALSE(CallPlan(fp16x3(), triangle, h200()).split.samples_apart);
}

TEST(HopperTuning, ItemsOfASampledPassAreNotEmpty) {
  for (const Sgemm& p : {shape(64, 64, 32), shape(512, 20000, 700), shape(20000, 512, 5000),
                         shape(100000, 64, 4096), shape(64, 64, 1 << 20)}) {
    const SplitCut cut = cut_sampled_pass(p, h200());
    const std::int64_t stages = PackedLayout(p.m, p.k).stages;
    EXPECT_GE(cut.a, 1);
    EXPECT_GE(cut.b, 1);
    EXPECT_LE(cut.a, std::min<std::int64_t>(stages, max_segments));
    EXPECT_LE(cut.b, std::min<std::int64_t>(stages, max_segments));
  }
}

TEST(HopperTuning, SegmentsDifferByAStageAtMost) {
  for (const std::int64_t k : {1, 31, 32, 33, 1000, 4096, 5000}) {
    const PackedLayout layout(64, k);
    for (unsigned count = 1; count <= layout.stages; ++count) {
      const SplitItems items = split_items(layout, count);
      ASSERT_EQ(items.first_stage(0), 0u);
      ASSERT_EQ(items.first_stage(count), layout.stages);
      for (unsigned s = 0; s < count; ++s) {
        const unsigned own = items.first_stage(s + 1) - items.first_stage(s);
        ASSERT_GE(own, items.stages);
        ASSERT_LE(own, items.stages + 1);
      }
    }
  }
}

TEST(HopperTuning, BlocksOfTheSplitPass) {
  const PackedLayout large(1 << 20, 4096), small(64, 64);
  const SplitItems many[2] = {split_items(large, 2), split_items(large, 2)};
  const SplitItems few[2] = {split_items(small, 2), split_items(small, 2)};
  Device device = h200();
  EXPECT_EQ(split_blocks(SplitPass::sampled_fp16, 1, many, device) + term_blocks,
            132u * split_blocks_per_sm(SplitPass::sampled_fp16))
      << "all at one time";
  device.sm_count = 1;
  EXPECT_EQ(split_blocks(SplitPass::sampled_fp16, 1, many, device), 1u) << "no fewer";
  device.sm_count = 1000;
  EXPECT_EQ(split_blocks(SplitPass::sampled_fp16, 1, many, device), max_range_blocks)
      << "a range for each";
  EXPECT_EQ(split_blocks(SplitPass::sampled_fp16, 1, few, device), 4u);
  EXPECT_EQ(split_blocks(SplitPass::fp16, 3, few, device), 12u);
  EXPECT_EQ(split_blocks(SplitPass::sample, 1, few, device), 2u) << "whole rows";
  device.sm_count = 132;
  EXPECT_EQ(split_blocks(SplitPass::fp16, 1, many, device), max_range_blocks)
      << "more where none samples";
}

}  // namespace
}  // namespace kw::hopper
