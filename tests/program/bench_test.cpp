// What surrounds the timing core: statistics, shapes, rotation of operands, rows and tables.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "bench/operand_sets.hpp"
#include "bench/problems.hpp"
#include "bench/row.hpp"
#include "bench/statistics.hpp"
#include "bench/table.hpp"
#include "commands/reduce_options.hpp"
#include "kernels.hpp"
#include "program.hpp"
#include "shapes.hpp"

namespace kw::bench {
namespace {

TEST(Statistics, OfKnownSamples) {
  const TimeStatistics found = summarise_times({5, 1, 4, 2, 3});
  EXPECT_EQ(found.min, 1);
  EXPECT_EQ(found.median, 3);
  EXPECT_EQ(found.mean, 3);
  EXPECT_EQ(found.max, 5);
  EXPECT_EQ(found.iqr, 2);
  EXPECT_EQ(found.repeats, 5);
  EXPECT_EQ(summarise_times({1, 2, 3, 10}).median, 2.5);
  EXPECT_EQ(summarise_times({7}).iqr, 0);
}

TEST(Shapes, AreReadInBothForms) {
  EXPECT_EQ(parse_shapes("8,2x3x4", 3, 1), (std::vector<Shape>{{8, 8, 8}, {2, 3, 4}}));
  EXPECT_EQ(parse_shapes("8,2x3", 2, 1), (std::vector<Shape>{{8, 8, 0}, {2, 3, 0}}));
  EXPECT_THROW(parse_shapes("", 3, 1), UsageError);
  EXPECT_THROW(parse_shapes("8,", 3, 1), UsageError);
}

TEST(Shapes, ClassicSweepIsTheFifteenSquares) {
  const std::vector<Shape> shapes = sweep("classic");
  ASSERT_EQ(shapes.size(), 15u);
  EXPECT_EQ(shapes.front(), (Shape{128, 128, 128}));
  EXPECT_EQ(shapes.back(), (Shape{16384, 16384, 16384}));
  EXPECT_GE(sweep("skinny").size(), 10u);
  EXPECT_GE(sweep("odd").size(), 6u);
}

TEST(Shapes, PowersOfTwoMayBeTypedAsSuch) {
  EXPECT_EQ(parse_shapes("2^10", 3, 1), (std::vector<Shape>{{1024, 1024, 1024}}));
  EXPECT_EQ(parse_shapes("2^0x2^40", 2, 1), (std::vector<Shape>{{1, std::int64_t{1} << 40, 0}}));
  EXPECT_THROW(parse_shapes("2^41", 3, 1), UsageError);
  EXPECT_THROW(parse_shapes("2^-1", 3, 1), UsageError);
}

// Its usual lengths end at 2^16.
Device slow_device() {
  Device device;
  device.kind = DeviceKind::host_simt;
  return device;
}

TEST(Reductions, SweepsHoldWhatTheyPromise) {
  ReduceChoice choice;
  choice.sweep = "classic";
  const auto classic = chosen_reductions(choice, slow_device(), check::Input::unit, 7).cases;
  ASSERT_EQ(classic.size(), 21u) << "2^10 to 2^30, whatever is usual on the device";
  for (std::size_t i = 0; i < classic.size(); ++i) {
    EXPECT_EQ(classic[i].cols, std::int64_t{1} << (10 + i));
    EXPECT_EQ(classic[i].shape, ReduceShape::whole);
    EXPECT_EQ(classic[i].input, check::Input::unit);
    EXPECT_EQ(classic[i].seed, 7u);
  }
  choice.sweep = "odd";
  for (const check::ReduceCase& c :
       chosen_reductions(choice, slow_device(), check::Input::unit, 1).cases) {
    EXPECT_FALSE(std::has_single_bit(static_cast<std::uint64_t>(c.cols))) << c.cols;
  }
  choice.sweep = "shapes";
  EXPECT_EQ(chosen_reductions(choice, slow_device(), check::Input::unit, 1).cases.size(), 6u);
  choice.sweep.clear();
  EXPECT_EQ(chosen_reductions(choice, slow_device(), check::Input::unit, 1).cases.size(), 7u);
}

TEST(Reductions, ShapesTimesOperationsTimesTypes) {
  ReduceChoice choice;
  choice.ops = "variance,sum";
  choice.types = "int8,float16,float64";
  choice.shape = "100,30x20";
  choice.correction = 1;
  choice.misalign = 2;
  const auto cases = chosen_reductions(choice, slow_device(), check::Input::uniform, 1).cases;
  ASSERT_EQ(cases.size(), 12u);
  EXPECT_EQ(cases[0].correction, 1);
  EXPECT_EQ(cases.back().correction, 0) << "sums have none";
  EXPECT_EQ(size_text(cases[0]), "100+2");
  EXPECT_EQ(size_text(cases[1]), "30x20 rows+2");
  choice.ops = choice.types = "all";
  EXPECT_EQ(chosen_reductions(choice, slow_device(), check::Input::uniform, 1).cases.size(),
            12u * 7u * 2u);
}

TEST(OperandSets, ColdSetsExceedFourTimesTheCacheOrAreMany) {
  const std::vector<float> memory(20000);
  const std::vector<Operand> operands = {{memory.data(), 40000}, {memory.data(), 41600}};
  constexpr std::size_t cache_bytes = 1 << 20;
  const std::int64_t count = cold_set_count(cache_bytes, operands);
  EXPECT_GT(OperandSets::bytes(operands, count), cold_factor * cache_bytes);
  EXPECT_LE(OperandSets::bytes(operands, count - 1), cold_factor * cache_bytes);
  EXPECT_EQ(cold_set_count(1, operands), 2);
  EXPECT_EQ(cold_set_count(cache_bytes, {{memory.data(), 4}}), max_cold_sets);
}

TEST(OperandSets, HoldTheSameValuesApartAndAsFarPastABoundary) {
  const std::unique_ptr<Runtime> runtime = open_device("cpu");
  check::Workbench bench(*runtime);
  const check::DeviceBuffer from(*runtime, 1000);
  for (int i = 0; i < 1000; ++i) from.as<char>()[i] = static_cast<char>(i);
  const std::vector<Operand> operands = {
      {from.as<char>(), 300}, {nullptr, 0}, {from.as<char>() + 3, 997}};
  const OperandSets sets(bench, operands, 3);
  for (std::int64_t set = 0; set < 3; ++set) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(sets.data<char>(set, 0)) % 256, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(sets.data<char>(set, 2)) % 256, 3u);
    EXPECT_EQ(std::memcmp(sets.data<char>(set, 0), operands[0].from, 300), 0);
    EXPECT_EQ(std::memcmp(sets.data<char>(set, 2), operands[2].from, 997), 0);
    EXPECT_GE(sets.data<char>(set, 2) - sets.data<char>(set, 0), 300);
  }
  EXPECT_GE(sets.data<char>(1, 0) - sets.data<char>(0, 2), 997);
}

TEST(OperandSets, HoldAllOfAReduction) {
  const std::unique_ptr<Runtime> runtime = open_device("cpu");
  check::Workbench bench(*runtime);
  check::ReduceCase c;
  c.shape = ReduceShape::segments;
  c.segments = 50;
  c.type = DataType::float16;
  c.misalign = 3;
  check::ReduceTrial trial(bench, c);
  const Reduce& problem = trial.problem();
  const OperandSets sets(bench, operands(problem), 2);
  for (std::int64_t set = 0; set < 2; ++set) {
    const Reduce moved = on_set(problem, sets, set);
    EXPECT_NE(moved.out, problem.out);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(moved.data) % 256, 6u);
    EXPECT_EQ(std::memcmp(moved.data, problem.data, static_cast<std::size_t>(2 * problem.cols)), 0);
    EXPECT_EQ(std::memcmp(moved.offsets, problem.offsets, 51 * sizeof(std::int64_t)), 0);
  }
}

Row timed_row(const char* kernel, const char* role, const char* parent, double median_us) {
  Row row;
  row.op = "sgemm";
  row.kernel = kernel;
  row.role = role;
  row.parent = parent;
  row.m = row.n = 8;
  row.k = 8;
  row.time_us = TimeStatistics{median_us, median_us, median_us, median_us, 0, 3};
  row.gflops = 1 / median_us;
  row.verified = true;
  return row;
}

TEST(Rows, RatiosAreMediansOfTheSameProblem) {
  std::vector<Row> rows = {timed_row("first", "rung", "", 8),
                           timed_row("second", "rung", "first", 4),
                           timed_row("vendor", "peer", "", 2)};
  fill_ratios(rows);
  EXPECT_EQ(rows[0].vs_peer, 0.25);
  EXPECT_EQ(rows[0].vs_previous, std::nullopt);
  EXPECT_EQ(rows[1].vs_previous, 2.0);
  EXPECT_EQ(rows[1].peer, "vendor");
  EXPECT_EQ(rows[2].vs_peer, 1.0);
}

TEST(Rows, WithoutATimeThereIsNoRatio) {
  std::vector<Row> rows = {timed_row("first", "rung", "", 8),
                           timed_row("second", "rung", "first", 4),
                           timed_row("vendor", "peer", "", 2)};
  rows[0].time_us.reset();
  rows[2].time_us.reset();
  fill_ratios(rows);
  EXPECT_EQ(rows[1].vs_previous, std::nullopt);
  EXPECT_EQ(rows[1].vs_peer, std::nullopt);
  EXPECT_EQ(rows[0].peer, std::nullopt);
}

TEST(Tables, MarkTheBestOfEachProblem) {
  const std::string table =
      problem_table({timed_row("slow", "rung", "", 8), timed_row("fast", "rung", "slow", 4)});
  EXPECT_NE(table.find("\n*  fast"), std::string::npos) << table;
  EXPECT_EQ(table.find("*  slow"), std::string::npos) << table;
}

TEST(Tables, ShowWhyARowHasNoTime) {
  Row wrong = timed_row("wrong", "rung", "", 8);
  wrong.time_us.reset();
  wrong.gflops.reset();
  wrong.verified = false;
  wrong.message = "3 of 64 elements wrong";
  const std::string table = problem_table({wrong});
  EXPECT_NE(table.find("NO"), std::string::npos) << table;
  EXPECT_NE(table.find("3 of 64 elements wrong"), std::string::npos) << table;
}

}  // namespace
}  // namespace kw::bench
