// The timing core and what surrounds it: statistics, rotation of operands, order of calls, shapes.
#include <gtest/gtest.h>

#include "bench/contest.hpp"
#include "bench/operand_sets.hpp"
#include "bench/row.hpp"
#include "bench/statistics.hpp"
#include "bench/table.hpp"
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

TEST(OperandSets, ColdSetsExceedFourTimesTheL2) {
  const std::vector<OperandShape> operands = {{100, 100, 100, {}}, {100, 100, 104, {}}};
  constexpr std::size_t l2_bytes = 1 << 20;
  const std::int64_t count = cold_set_count(l2_bytes, operands);
  EXPECT_GT(OperandSets::bytes(operands, count), 4 * l2_bytes);
  EXPECT_LE(OperandSets::bytes(operands, count - 1), 4 * l2_bytes);
  EXPECT_EQ(cold_set_count(1, operands), 2);
}

TEST(OperandSets, HoldTheSameValuesApart) {
  const std::unique_ptr<Runtime> runtime = open_device("cpu");
  check::Workbench bench(*runtime);
  const check::InputStream values{check::Input::uniform, 3, check::Operand::b};
  const OperandSets sets(bench, {{4, 5, 7, {}}, {3, 3, 3, values}}, 3);
  for (std::int64_t set = 0; set < 3; ++set) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(sets.data(set, 1)) % 256, 0u);
    for (std::int64_t i = 0; i < 9; ++i) {
      EXPECT_EQ(sets.data(set, 1)[i], check::input_value(values, i));
    }
  }
  EXPECT_GE(sets.data(1, 0) - sets.data(0, 1), 9);
}

class Contests : public testing::Test {
 protected:
  Contests() : runtime_(open_device("cpu")), bench_(*runtime_), telemetry_(runtime_->device()) {}

  Contestant contestant(char name) {
    Contestant made;
    made.name = std::string(1, name);
    made.first_call_us = 1;
    made.call = [this, name](std::int64_t set, Stream) {
      order_ += name;
      sets_.push_back(set);
      return Status::success();
    };
    return made;
  }

  void run(std::vector<Contestant>& contestants, const ContestOptions& options) {
    run_contest(bench_, contestants, options, telemetry_,
                [this](double done) { progress_.push_back(done); });
  }

  std::unique_ptr<Runtime> runtime_;
  check::Workbench bench_;
  Telemetry telemetry_;
  std::string order_;
  std::vector<std::int64_t> sets_;
  std::vector<double> progress_;
};

TEST_F(Contests, TakeTurnsAfterAWarmUp) {
  std::vector<Contestant> three = {contestant('A'), contestant('B'), contestant('C')};
  ContestOptions options;
  options.budget_ms = 1e-9;
  run(three, options);
  EXPECT_EQ(order_,
            "ABC"
            "ABCABCABC");
  for (const Contestant& c : three) {
    EXPECT_EQ(c.samples_us.size(), 3u);
    EXPECT_EQ(c.timing, "clock");
  }
  EXPECT_EQ(progress_.back(), 1);
}

TEST_F(Contests, KeepRepeatingUntilTheBudgetIsSpent) {
  std::vector<Contestant> one = {contestant('A')};
  ContestOptions options;
  options.budget_ms = 1e9;
  options.max_repeats = 50;
  run(one, options);
  EXPECT_EQ(one[0].samples_us.size(), 50u);
}

TEST_F(Contests, LongCallsAreWarmedUpByTheVerificationAlone) {
  std::vector<Contestant> one = {contestant('A')};
  one[0].first_call_us = 1e6;
  ContestOptions options;
  options.budget_ms = 1e-9;
  run(one, options);
  EXPECT_EQ(order_, "AAA");
}

TEST_F(Contests, NeverMeetTheSameOperandsTwiceInARow) {
  std::vector<Contestant> two = {contestant('A'), contestant('B')};
  ContestOptions options;
  options.budget_ms = 1e-9;
  options.buffer_sets = 3;
  run(two, options);
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    EXPECT_EQ(sets_[i], static_cast<std::int64_t>(i % 3));
  }
}

TEST_F(Contests, PassLaunchErrorsOn) {
  std::vector<Contestant> one = {contestant('A')};
  one[0].call = [](std::int64_t, Stream) {
    return Status::failure(StatusCode::device_error, "lost");
  };
  EXPECT_THROW(run(one, {}), Error);
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
