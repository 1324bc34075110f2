// How reduce_columns cuts a matrix: every cut is complete and within its limits, and none can show
// in the results.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <tuple>

#include "check/reduce/case.hpp"
#include "reduce/columns/columns_plan.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

Reduce matrix_of(std::int64_t rows, std::int64_t cols, std::int64_t pad) {
  Reduce p;
  p.shape = ReduceShape::columns;
  p.rows = rows;
  p.cols = cols;
  p.ld = cols + pad;
  return p;
}

void expect_sound(const ColumnPlan& plan, const ColumnElement& element, int sm_count) {
  SCOPED_TRACE(testing::Message() << plan.rows << " x " << plan.cols << " in " << plan.ld
                                  << ", width " << element.width);
  // All columns, all rows, and positions enough for what lies before a boundary.
  EXPECT_GE(plan.strips * plan.strip_columns, plan.cols);
  EXPECT_LT((plan.strips - 1) * plan.strip_columns, plan.cols) << "a strip without columns";
  const std::int64_t chunks = plan.blocks * plan.side_by_side * plan.rounds;
  EXPECT_GE(chunks * column_chunk_rows, plan.rows);
  const std::int64_t extent = plan.rows_are_one ? column_lanes * plan.ld : plan.strip_columns;
  const std::int64_t skip = element.off_boundary ? element.width - 1 : 0;
  EXPECT_GE(std::int64_t{plan.packs} * element.width, extent + skip);
  // A thread for each pack and for each total.
  EXPECT_LE(plan.packs * (plan.rows_are_one ? 1 : column_lanes) * plan.side_by_side, plan.threads);
  EXPECT_LE(plan.strip_columns * plan.side_by_side, plan.threads);
  EXPECT_LE(plan.strip_columns << (plan.merge_shift - plan.each_shift), plan.threads);
  const bool is_alone = plan.blocks == 1 && plan.strips <= sm_count;
  EXPECT_LE(plan.threads, is_alone ? most_column_threads : column_threads);
  EXPECT_EQ(plan.threads % 32, 0);
  EXPECT_TRUE(std::has_single_bit(static_cast<unsigned>(plan.side_by_side)));
  // Items are subtrees of the order, all of a strip's chunks, each a block's alone.
  EXPECT_EQ(plan.rounds % plan.item_rounds(), 0);
  EXPECT_EQ(plan.rounds / plan.item_rounds() % 2, 1);
  const std::int64_t of_item =
      plan.has_one_item() ? plan.side_by_side * plan.rounds : std::int64_t{plan.item_rounds()};
  EXPECT_EQ(plan.item_count, ceil_div(column_chunk_count(plan.rows), of_item));
  EXPECT_GT(plan.item_count, (plan.blocks - 1) * plan.items_each());
  EXPECT_LE(plan.item_count, plan.blocks * plan.items_each());
  EXPECT_LE(plan.tickets(), static_cast<std::int64_t>(ticket_count));
  EXPECT_LE(plan.shared_bytes, std::size_t{48} << 10);
}

TEST(ColumnPlan, IsCompleteAndWithinItsLimits) {
  const ColumnElement elements[] = {{4, 16, 3, 8, 8, false},  {4, 16, 3, 8, 8, true},
                                    {4, 16, 2, 16, 24, true}, {2, 16, 2, 24, 24, true},
                                    {8, 16, 3, 4, 8, true},   {4, 8, 2, 16, 24, false},
                                    {8, 16, 2, 8, 16, false}, {2, 16, 2, 16, 16, false}};
  for (const std::int64_t rows : {0, 1, 7, 64, 65, 1000, 4099, 100003, 3000017, 1000000007}) {
    for (const std::int64_t cols : {1, 2, 3, 17, 31, 32, 33, 100, 125, 129, 1000, 7777, 5000003}) {
      for (const std::int64_t pad : {0, 1, 32, 5000}) {
        for (const ColumnElement& element : elements) {
          for (const int sm_count : {1, 4, 132}) {
            if (rows * cols > 20'000'000'000) continue;
            expect_sound(plan_columns(matrix_of(rows, cols, pad), element, sm_count), element,
                         sm_count);
          }
        }
      }
    }
  }
}

// Narrow matrices and wide ones alike: enough blocks for all SMs where there are enough elements.
TEST(ColumnPlan, GivesAllSmsWork) {
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{16000000, 1},
                                   {1000000, 17},
                                   {160000, 100},
                                   {100000, 160},
                                   {4000, 4000},
                                   {1000, 16000},
                                   {64, 250000}}) {
    const ColumnPlan plan = plan_columns(matrix_of(rows, cols, 0), {4, 16, 3, 8, 8, true}, 132);
    EXPECT_GE(plan.strips * plan.blocks, 120) << rows << " x " << cols;
  }
}

// One block with its SM for itself has few chunks side by side rather than one after the other.
TEST(ColumnPlan, GivesABlockThatIsAloneMoreThreads) {
  const ColumnElement element = {2, 16, 3, 8, 8, true};
  const ColumnPlan alone = plan_columns(matrix_of(1335, 3, 0), element, 132);
  EXPECT_EQ(alone.blocks * alone.strips, 1);
  EXPECT_EQ(alone.rounds, 1);
  EXPECT_GT(alone.threads, column_threads);
}

// The blocks that come first ask for their rows, but not of one round, of a strip that is one
// block's, or of narrow types.
TEST(ColumnPlan, AsksForRowsOfLargeMatrices) {
  const ColumnElement element = {4, 16, 3, 8, 8, false};
  const ColumnPlan large = plan_columns(matrix_of(100000, 1000, 0), element, 132);
  EXPECT_GE(large.asking, 132u);
  EXPECT_GT(large.rounds, 1);
  EXPECT_EQ(plan_columns(matrix_of(300, 30000, 0), element, 132).asking, 0u);
  EXPECT_EQ(plan_columns(matrix_of(47, 9453, 0), element, 132).asking, 0u);
  const ColumnElement narrow = {8, 16, 3, 4, 8, false};
  EXPECT_EQ(plan_columns(matrix_of(100000, 1000, 0), narrow, 132).asking, 0u);
}

// Of few rows always; of more only where all SMs have columns; of more than four chunks variances
// alone.
TEST(ColumnPlan, GivesThreadsWholeColumnsOfFewRows) {
  constexpr std::int64_t many = 1 << 20;
  for (const std::int64_t rows : {1, 8, 32}) {
    EXPECT_TRUE(are_low_columns(matrix_of(rows, 1, 0), 132)) << rows;
    EXPECT_TRUE(are_low_columns(matrix_of(rows, many, 3), 132)) << rows;
  }
  EXPECT_FALSE(are_low_columns(matrix_of(33, 1000, 0), 132));
  EXPECT_TRUE(are_low_columns(matrix_of(33, many, 0), 132));
  EXPECT_FALSE(are_low_columns(matrix_of(0, many, 0), 132));
  Reduce narrow = matrix_of(column_chunk_rows, many, 0);
  EXPECT_FALSE(are_low_columns(narrow, 132));
  narrow.type = DataType::int8;
  EXPECT_TRUE(are_low_columns(narrow, 132));
  for (const std::int64_t rows : {column_chunk_rows + 1, std::int64_t{160}}) {
    EXPECT_TRUE(are_low_columns(matrix_of(rows, many, 0), 132)) << rows;
    EXPECT_FALSE(are_low_columns(matrix_of(rows, 1000, 0), 132)) << rows;
  }
  EXPECT_TRUE(are_low_columns(matrix_of(72, 55820, 0), 132));
  EXPECT_TRUE(are_low_columns(matrix_of(200, 100000, 0), 132));
  EXPECT_FALSE(are_low_columns(matrix_of(200, many, 0), 132));
  EXPECT_FALSE(are_low_columns(matrix_of(225, 100000, 0), 132));
  Reduce of_eight = matrix_of(248, 132 * 340, 0);
  EXPECT_FALSE(are_low_columns(of_eight, 132));
  of_eight.type = DataType::float64;
  EXPECT_TRUE(are_low_columns(of_eight, 132));
  --of_eight.cols;
  EXPECT_FALSE(are_low_columns(of_eight, 132));
  of_eight.cols = many, ++of_eight.rows;
  EXPECT_FALSE(are_low_columns(of_eight, 132));
  Reduce of_int32 = matrix_of(256, 132 * 576, 0);
  EXPECT_FALSE(are_low_columns(of_int32, 132));
  of_int32.type = DataType::int32;
  EXPECT_TRUE(are_low_columns(of_int32, 132));
  of_int32.cols = 132 * 2501;
  EXPECT_FALSE(are_low_columns(of_int32, 132));
  Reduce wide = matrix_of(4 * column_chunk_rows, many, 0);
  wide.type = DataType::float16;
  EXPECT_FALSE(are_low_columns(wide, 132));
  wide.op = ReduceOp::argmax;
  EXPECT_TRUE(are_low_columns(wide, 132));
  ++wide.rows;
  EXPECT_FALSE(are_low_columns(wide, 132));
  wide.op = ReduceOp::variance;
  EXPECT_TRUE(are_low_columns(wide, 132));
  wide.rows = most_low_chunks * column_chunk_rows, wide.type = DataType::int8;
  EXPECT_TRUE(are_low_columns(wide, 132));
  ++wide.rows;
  EXPECT_FALSE(are_low_columns(wide, 132));
}

// The bytes of all results, by a device that is said to have so many SMs.
std::vector<std::byte> results_of(check::Workbench& bench, const Kernel<Reduce>& kernel,
                                  const Reduce& problem, int sm_count) {
  Device device = bench.device();
  device.sm_count = sm_count;
  const check::DeviceBuffer workspace(bench.runtime(), kernel.workspace_bytes(problem, device));
  const std::size_t bytes =
      static_cast<std::size_t>(problem.results()) * size_of(result_type(problem.op, problem.type));
  check::require(kernel.launch(
      problem, device, {workspace.data(), workspace.bytes(), bench.tickets()}, bench.stream()));
  bench.synchronize();
  std::vector<std::byte> results(bytes);
  check::require(bench.runtime().copy(results.data(), problem.out, bytes, bench.stream()));
  return results;
}

TEST(ReduceColumns, HowRowsAreCutCannotShow) {
  for (const Subject<Reduce>& subject : subjects<Reduce>()) {
    if (std::string_view(subject.kernel.name) != "reduce_columns") continue;
    const std::unique_ptr<Runtime> runtime = open_device(subject.device);
    check::Workbench bench(*runtime);
    for (const auto& [rows, cols, pad] : {std::tuple{1150, 130, 1},
                                          {5003, 3, 0},
                                          {9001, 1, 2},
                                          {50, 1301, 1},
                                          {33, 700, 0},
                                          {65, 1301, 1},
                                          {150, 700, 3},
                                          {160, 1030, 0},
                                          {1349, 2001, 1}}) {
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::variance, ReduceOp::argmax}) {
        check::ReduceCase c;
        c.op = op;
        c.shape = ReduceShape::columns;
        c.rows = rows;
        c.cols = cols;
        c.ld_pad = pad;
        c.misalign = 1;
        c.input = op == ReduceOp::argmax ? check::Input::integers : check::Input::normal;
        c.seed = run_seed();
        check::ReduceTrial trial(bench, c);
        const check::VerifyResult verified = trial.verify(subject.kernel);
        ASSERT_TRUE(verified.ok()) << describe(c) << ": " << verified.message;
        const auto few = results_of(bench, subject.kernel, trial.problem(), 1);
        for (const int sm_count : {2, 3, 5, 1000}) {  // with two and more, also odd runs of chunks
          const auto many = results_of(bench, subject.kernel, trial.problem(), sm_count);
          EXPECT_EQ(std::memcmp(few.data(), many.data(), few.size()), 0)
              << describe(c) << " on " << sm_count;
        }
      }
    }
  }
}

// Columns of up to eight chunks, a thread's each on a device of one SM.
TEST(ReduceColumns, ColumnsOfThreadsAndOfBlocks) {
  for (const Subject<Reduce>& subject : subjects<Reduce>()) {
    if (std::string_view(subject.kernel.name) != "reduce_columns") continue;
    const std::unique_ptr<Runtime> runtime = open_device(subject.device);
    check::Workbench bench(*runtime);
    constexpr auto variance = ReduceOp::variance;
    for (const auto& [op, type, rows, cols] : {std::tuple{variance, DataType::int8, 257, 400},
                                               {variance, DataType::int8, 330, 391},
                                               {variance, DataType::int8, 449, 400},
                                               {variance, DataType::int8, 512, 400},
                                               {variance, DataType::float16, 321, 1003},
                                               {variance, DataType::bfloat16, 384, 1001},
                                               {variance, DataType::float32, 224, 1501},
                                               {variance, DataType::int64, 193, 1500},
                                               {ReduceOp::sum, DataType::float64, 248, 340},
                                               {ReduceOp::min_max, DataType::float64, 247, 901},
                                               {ReduceOp::argmin, DataType::int64, 193, 351},
                                               {ReduceOp::mean, DataType::int32, 256, 577}}) {
      check::ReduceCase c;
      c.op = op, c.type = type, c.shape = ReduceShape::columns;
      c.rows = rows, c.cols = cols, c.ld_pad = 1, c.misalign = 1;
      c.seed = run_seed();
      check::ReduceTrial trial(bench, c);
      EXPECT_TRUE(are_low_columns(trial.problem(), 1));
      const check::VerifyResult verified = trial.verify(subject.kernel);
      ASSERT_TRUE(verified.ok()) << describe(c) << ": " << verified.message;
      EXPECT_EQ(results_of(bench, subject.kernel, trial.problem(), 1),
                results_of(bench, subject.kernel, trial.problem(), 1000))
          << describe(c);
    }
  }
}

// Chunks of every number of rows, at both ends of an array, off every boundary: what stands for
// elements that are not there never shows, and nothing beyond the array is read or written.
TEST(ReduceColumns, ChunksThatAreNotWhole) {
  using enum ReduceOp;
  constexpr std::pair<ReduceOp, DataType> kinds[] = {
      {sum, DataType::float32},      {min, DataType::float64},      {l2_norm, DataType::float64},
      {argmax, DataType::float32},   {max, DataType::int8},         {variance, DataType::float16},
      {l2_norm, DataType::float16},  {argmin, DataType::int64},     {max_norm, DataType::int64},
      {min_max, DataType::bfloat16}, {max_norm, DataType::float64}, {l2_norm, DataType::int32}};
  for (const Subject<Reduce>& subject : subjects<Reduce>()) {
    if (std::string_view(subject.kernel.name) != "reduce_columns") continue;
    const std::unique_ptr<Runtime> runtime = open_device(subject.device);
    check::Workbench bench(*runtime);
    std::uint64_t number = run_seed();
    for (const std::int64_t rows : {33, 40, 57, 63, 64, 65, 66, 72, 73, 95, 127, 129, 191, 700}) {
      for (const std::int64_t cols : {1, 2, 3, 9, 67, 260}) {
        for (const std::int64_t pad : {0, 1, 31}) {
          check::ReduceCase c;
          std::tie(c.op, c.type) = kinds[number % std::size(kinds)];
          c.shape = ReduceShape::columns;
          c.rows = rows;
          c.cols = cols;
          c.ld_pad = pad;
          c.misalign = static_cast<std::int64_t>(number / std::size(kinds) % 9);
          c.guard = number % 2 == 0 ? 0 : 1024;
          c.input = check::Input::normal;
          if (c.op == argmax || c.op == argmin) c.input = check::Input::integers;
          c.seed = number++;
          const check::VerifyResult verified = check::ReduceTrial(bench, c).verify(subject.kernel);
          EXPECT_TRUE(verified.ok()) << describe(c) << ": " << verified.message;
        }
      }
    }
  }
}

}  // namespace
}  // namespace kw
