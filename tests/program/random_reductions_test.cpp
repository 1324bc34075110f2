// The sweep of reductions at random, and what many reductions come to.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "bench/reduction_summary.hpp"
#include "commands/reduce_options.hpp"
#include "program.hpp"
#include "support/run_seed.hpp"
#include "sweeps/random_reductions.hpp"

namespace kw {
namespace {

using bench::ReductionSummary;
using bench::Row;
using check::ReduceCase;

TEST(RandomReductions, DrawEverythingWithinTheirBounds) {
  std::set<ReduceOp> ops;
  std::set<DataType> types;
  std::map<ReduceShape, int> shapes;
  int misaligned = 0, padded = 0, tall = 0, wide = 0;
  for (const std::uint64_t seed : {1u, 2u, seed_of(7)}) {
    for (const ReduceCase& c : random_reductions(seed, 240)) {
      ops.insert(c.op);
      types.insert(c.type);
      ++shapes[c.shape];
      misaligned += c.misalign > 0;
      padded += c.ld_pad > 0;
      EXPECT_GE(expected_elements(c), 900) << describe(c);  // of extents that are rounded down
      EXPECT_LE(expected_elements(c), 1'000'100'000) << describe(c);
      if (c.shape != ReduceShape::rows && c.shape != ReduceShape::columns) continue;
      EXPECT_LE(c.rows, 8200 * c.cols) << describe(c);
      EXPECT_LE(c.cols, 8200 * c.rows) << describe(c);
      tall += c.rows > 100 * c.cols;
      wide += c.cols > 100 * c.rows;
    }
  }
  EXPECT_EQ(ops.size(), 12u);
  EXPECT_EQ(types.size(), 7u);
  for (const auto& [shape, count] : shapes) EXPECT_GE(count, 110) << to_string(shape);  // 180
  EXPECT_GE(misaligned, 280);                                                           // 360
  EXPECT_GE(padded, 110);                                                               // 180
  EXPECT_GE(tall, 30);
  EXPECT_GE(wide, 30);
}

TEST(RandomReductions, FollowFromTheSeedInEqualThirds) {
  const std::uint64_t seed = seed_of(8);
  const std::vector<ReduceCase> all = random_reductions(seed, 60);
  const std::vector<ReduceCase> fewer = random_reductions(seed, 20);
  for (std::size_t i = 0; i < fewer.size(); ++i) EXPECT_EQ(describe(all[i]), describe(fewer[i]));
  std::map<bench::Third, int> thirds;
  for (const ReduceCase& c : all) ++thirds[third_of(c)];
  for (const auto& [third, count] : thirds) EXPECT_EQ(count, 20) << bench::to_string(third);
  EXPECT_NE(describe(all[0]), describe(random_reductions(seed + 1, 1)[0]));
}

TEST(RandomReductions, KeepTheirNumbersWhereLargeOnesAreLeftOut) {
  ReduceChoice choice;
  choice.sweep = "random";
  choice.count = 30;
  choice.max_elements = 100000;
  const ChosenReductions chosen = chosen_reductions(choice, Device{}, check::Input::unit, 3);
  ASSERT_EQ(chosen.cases.size(), chosen.labels.size());
  ASSERT_LT(chosen.cases.size(), 30u);
  EXPECT_NE(chosen.left_out.find("more than 100000 elements"), std::string::npos);
  const std::vector<ReduceCase> all = random_reductions(3, 30);
  for (std::size_t i = 0; i < chosen.cases.size(); ++i) {
    EXPECT_LE(expected_elements(chosen.cases[i]), 100000);
    EXPECT_EQ(chosen.cases[i].cols, all[static_cast<std::size_t>(chosen.labels[i].number)].cols);
  }
}

TEST(RandomReductions, RefuseWhatTheyDraw) {
  ReduceChoice choice;
  choice.sweep = "random";
  choice.ops = "max";
  EXPECT_THROW(chosen_reductions(choice, Device{}, check::Input::unit, 3), UsageError);
  choice.ops = ReduceChoice().ops;
  choice.sweep = "odd";
  choice.count = 3;
  EXPECT_THROW(chosen_reductions(choice, Device{}, check::Input::unit, 3), UsageError);
}

// A timed row of reduction `number`, of so many MiB.
Row timed(std::int64_t number, const char* shape, double mib, double us, const char* dtype) {
  Row row;
  row.op = "reduce";
  row.kernel = "reduce_any";
  row.role = to_string(Role::production);
  row.reduction = bench::ReductionRow{};
  row.reduction->label = std::to_string(number);
  row.reduction->reduce_op = "sum";
  row.reduction->shape = shape;
  row.reduction->dtype = dtype;
  row.sweep = bench::SweepRow{};
  row.sweep->number = number;
  row.sweep->third = us < 4 ? "short" : "long";
  row.time_us = bench::TimeStatistics{us, us, us, us, 0, 3};
  row.gbs = mib * (1 << 20) * 1e-3 / us;
  row.of_peak = *row.gbs / 4000;
  return row;
}

Row peer_of(Row row, double us) {
  row.kernel = "vendor" + std::to_string(us);
  row.role = to_string(Role::peer);
  row.time_us->median = us;
  return row;
}

TEST(ReductionSummary, TakesTheFastestPeerAndTheBarOfTheSize) {
  const Row array = timed(0, "whole", 64, 20, "float32");     // 0.84 of the bandwidth
  const Row columns = timed(1, "columns", 128, 40, "int64");  // 0.84, under the bar
  const Row rows = timed(2, "rows", 512, 200, "int8");        // a narrow type has no bar
  const Row segments = timed(3, "segments", 1, 3, "float32");
  const std::vector<Row> all = {
      array, peer_of(array, 40), peer_of(array, 30), columns,
      rows,  peer_of(rows, 190), segments,           peer_of(segments, 2.8)};
  const std::vector<ReductionSummary> found = summarise_reductions(all);
  const ReductionSummary& total = found.back();
  EXPECT_EQ(total.group, "all");
  EXPECT_EQ(total.reductions, 4);
  EXPECT_EQ(total.with_peer, 3);
  EXPECT_NEAR(*total.least, 0.95, 1e-12);
  EXPECT_EQ(total.least_at, "sum int8 2");
  EXPECT_NEAR(*total.mean, std::cbrt(1.5 * 0.95), 1e-12) << "0.3 us of slack under 4 us";
  EXPECT_EQ(total.below, 1);
  EXPECT_EQ(total.far_below, 0);
  EXPECT_EQ(total.large, 2);
  EXPECT_EQ(total.below_bar, 1);
  EXPECT_EQ(total.least_share_at, "sum float32 0");
  std::set<std::string> groups;
  for (const ReductionSummary& each : found) groups.insert(each.group);
  EXPECT_EQ(groups, (std::set<std::string>{"short", "long", "whole", "rows", "columns", "segments",
                                           "all"}));
  const std::string table = reduction_table(all);
  EXPECT_NE(table.find("sum int8 2"), std::string::npos) << table;
  EXPECT_TRUE(bench::reduction_table({}).empty());
}

}  // namespace
}  // namespace kw
