// The split kernels on host SIMT where a call is cut: into sub-problems that fit the workspace,
// into k-splits for blocks that would idle; and which tile is chosen.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "check/run_kernel.hpp"
#include "hopper_subjects.hpp"
#include "host_simt/host_simt.hpp"
#include "sgemm/hopper/plan.hpp"
#include "support/kept_options.hpp"

namespace kw {
namespace {

using check::VerifyResult;

// A kernel with less workspace than its plan asks for. One at a time: functions of a row have no
// state of their own.
class Squeezed {
 public:
  using Bytes = std::size_t (*)(const Plan<Sgemm>&);
  static Kernel<Sgemm> row(const Kernel<Sgemm>& kernel, Bytes bytes) {
    kernel_ = kernel;
    bytes_ = bytes;
    Kernel<Sgemm> made = kernel;
    made.make_plan = make_plan;
    made.complete_plan = nullptr;
    made.launch_plan = [](const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                          Workspace workspace, Stream stream) {
      return launch_planned(plan.parts[0], p, device, workspace, stream);
    };
    made.path_taken = [](const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                         const PathWords& words) {
      return kernel_.path_taken(p, device, plan.parts[0].plan, words);
    };
    return made;
  }

 private:
  static std::optional<Plan<Sgemm>> make_plan(const Sgemm& p, const Device& device) {
    const auto whole = plan_for(kernel_, p, device);
    if (!whole) return std::nullopt;
    Plan<Sgemm> plan;
    plan.workspace_bytes = bytes_(*whole);
    plan.parts.push_back({&kernel_, *whole});
    return plan;
  }

  static inline Kernel<Sgemm> kernel_;
  static inline Bytes bytes_;
};

// The smallest workspace: one block of 64 rows of A and of B at a time.
class HopperSubProblems : public testing::TestWithParam<Kernel<Sgemm>> {
 protected:
  void expect_right(const check::SgemmCase& c) {
    const Kernel<Sgemm> squeezed = Squeezed::row(
        GetParam(), [](const Plan<Sgemm>& plan) { return plan.needed_workspace_bytes(); });
    const VerifyResult result = check::verify_sgemm(*runtime_, squeezed, c);
    EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
    check::Workbench bench(*runtime_);
    const Sgemm problem = check::SgemmTrial(bench, c).problem();
    EXPECT_LT(plan_for(squeezed, problem, runtime_->device())->workspace_bytes,
              plan_for(GetParam(), problem, runtime_->device())->workspace_bytes);
  }

  std::unique_ptr<Runtime> runtime_ = open_host_simt();
};

TEST_P(HopperSubProblems, OfMAndN) {
  for (const Op op : {Op::none, Op::transpose}) {
    check::SgemmCase c;
    c.m = op == Op::none ? 130 : 65;
    c.n = op == Op::none ? 70 : 200;
    c.k = 40;
    c.op_a = c.op_b = op;
    c.lda_pad = 4;
    c.ldb_pad = c.ldc_pad = 3;
    c.alpha = -1.5f;
    c.beta = op == Op::none || !takes_c(GetParam()) ? 0.0f : 1.0f;
    expect_right(c);
  }
}

TEST_P(HopperSubProblems, OfABatch) {
  check::SgemmCase c;
  c.m = 70;
  c.n = 66;
  c.k = 40;
  c.batch = 3;
  c.gap = 8;
  expect_right(c);
  c.by_pointers = true;
  c.scalars_on_device = takes_c(GetParam());  // beta is not known else
  c.beta = takes_c(GetParam()) ? -1.5f : 0.0f;
  expect_right(c);
}

TEST_P(HopperSubProblems, FailWithoutRoomForOne) {
  const Kernel<Sgemm> starved =
      Squeezed::row(GetParam(), [](const Plan<Sgemm>&) { return std::size_t{256}; });
  check::SgemmCase c;
  c.m = c.n = c.k = 100;
  const VerifyResult result = check::verify_sgemm(*runtime_, starved, c);
  EXPECT_EQ(result.outcome, check::Outcome::error);
  EXPECT_NE(result.message.find("larger workspace"), std::string::npos) << result.message;
}

// Few tiles and a long k: blocks that compute a part of k each, added up by whichever is last.
class HopperKSplits : public testing::TestWithParam<Kernel<Sgemm>> {
 protected:
  HopperKSplits() { host_simt::options().workers = 4; }

  const hopper::TileRow& row() const {
    for (const hopper::TileRow& row : hopper::bf16x6_tiles)
      if (GetParam().name == std::string_view(row.name)) return row;
    for (const hopper::TileRow& row : hopper::fp16x3_tiles)
      if (GetParam().name == std::string_view(row.name)) return row;
    throw std::logic_error("no tile has this name");
  }

 private:
  const test::KeptOptions kept_;
};

TEST_P(HopperKSplits, AddUpInAnyOrder) {
  const hopper::Tile& tile = row().tile;
  for (const auto order :
       {host_simt::Order::forward, host_simt::Order::reverse, host_simt::Order::random}) {
    host_simt::options().order = order;
    const std::unique_ptr<Runtime> runtime = open_host_simt();
    bool cuts = false;
    // One tile in parts; three for four blocks; five and six, in two parts at most; a batch.
    for (const int tiles : {1, 3, 6, 5, 7}) {
      check::SgemmCase c;
      c.m = tile.bm() - 3;
      c.n = tiles * tile.bn - 2;
      c.k = tiles == 3 ? 1111 : tiles == 5 ? 1600 : 600;
      c.batch = tiles == 7 ? 7 : 1;
      if (tiles == 7) c.n = 30;
      c.alpha = -1.5f;
      c.beta = takes_c(GetParam()) ? 0.5f : 0.0f;
      check::Workbench bench(*runtime);
      const Sgemm problem = check::SgemmTrial(bench, c).problem();
      const hopper::Schedule schedule =
          fastest_schedule(row(), problem, runtime->device()).schedule;
      // All of them in the order that differs from run to run, the first that is cut in the others.
      if (order != host_simt::Order::random && (cuts || schedule.slots() == 0)) continue;
      cuts |= schedule.slots() > 0;
      const VerifyResult result = check::verify_sgemm(*runtime, GetParam(), c);
      EXPECT_TRUE(result.ok()) << to_string(order) << " " << describe(c) << ": " << result.message;
    }
    // Under AddressSanitizer there is one worker, and so one multiprocessor, whatever was asked.
    EXPECT_EQ(cuts, runtime->device().sm_count > 1);
  }
}

// Where makers have a long k and outputs are few, parts of k are more than multiprocessors.
class HopperShortRuns : public HopperKSplits {};

TEST_P(HopperShortRuns, AddUpMorePartsThanMultiprocessors) {
  host_simt::options().workers = 2;
  host_simt::options().order = host_simt::Order::random;
  const std::unique_ptr<Runtime> runtime = open_host_simt();
  const hopper::Tile& tile = row().tile;
  const int sms = runtime->device().sm_count;
  check::SgemmCase c;
  c.m = tile.bm() - 3;
  c.n = tile.bn - 2;
  c.k = tile.stages_of(hopper::max_windows_without_totals + 1) * sms * hopper::stage_k + 45;
  check::Workbench bench(*runtime);
  const Sgemm problem = check::SgemmTrial(bench, c).problem();
  const hopper::Schedule schedule = fastest_schedule(row(), problem, runtime->device()).schedule;
  EXPECT_GT(schedule.blocks, sms);
  EXPECT_LE(tile.windows(longest_run(schedule)), hopper::max_windows_without_totals);
  const VerifyResult result = check::verify_sgemm(*runtime, GetParam(), c);
  EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
}

// wgmma leaves a thread q of four the columns 2 * q and 2 * q + 1 of each 8: of a packed B, whose
// neighbouring groups hold 16 columns, those are four that lie side by side in C.
TEST(HopperPackedLayout, GivesAThreadFourNeighbouringColumns) {
  std::vector<int> column_at(hopper::block_rows, -1);
  for (int column = 0; column < hopper::block_rows; ++column)
    column_at.at(static_cast<std::size_t>(hopper::packed_column(column))) = column;
  for (int group = 0; group < hopper::block_rows; group += 16) {
    for (int q = 0; q < 4; ++q) {
      for (int i = 0; i < 4; ++i) {
        const int place = group + i / 2 * 8 + 2 * q + i % 2;
        EXPECT_EQ(column_at[static_cast<std::size_t>(place)], group + 4 * q + i);
      }
    }
  }
}

const hopper::TileRow& fastest_tile(std::int64_t m, std::int64_t n, std::int64_t k) {
  Sgemm problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  Device device;
  device.sm_count = 132;
  return *std::min_element(std::begin(hopper::bf16x6_tiles), std::end(hopper::bf16x6_tiles),
                           [&](const hopper::TileRow& x, const hopper::TileRow& y) {
                             return predicted_cost(x, problem, device) <
                                    predicted_cost(y, problem, device);
                           });
}

// Where the vendor cuts k, a long k is for the tile that adds sums of sums.
TEST(HopperChoice, FewOutputsWithALongKTakeTheMoreExactTile) {
  EXPECT_STREQ(fastest_tile(1408, 1408, 4096).name, "hopper_bf16x6_128x128");
  EXPECT_STREQ(fastest_tile(1408, 1408, 65536).name, "hopper_bf16x6_64x64");
  EXPECT_TRUE(has_totals(hopper::bf16x6_scheme, fastest_tile(1408, 1408, 65536).tile));
  EXPECT_FALSE(has_totals(hopper::bf16x6_scheme, fastest_tile(4096, 4096, 65536).tile));
}

// Some hundred rounds of tiles of two stages: what a tile costs beside its products counts.
// Measured 0.39 ms with 128 x 128, 0.63 with 64 x 128.
TEST(HopperChoice, ManyOutputsWithAShortKTakeATileThatEndsSoon) {
  for (const hopper::TileRow* const row :
       {&fastest_tile(16384, 16384, 64), &fastest_tile(8192, 8192, 128)}) {
    EXPECT_FALSE(row->tile.shares_rows);
  }
}

// Tiles for each of the SMs, instead of long parts of k.
TEST(HopperChoice, SmallProductsTakeSmallTiles) {
  const hopper::Tile& smallest = fastest_tile(512, 512, 512).tile;
  EXPECT_LE(smallest.bm() * smallest.bn, 64 * 64);
  EXPECT_STREQ(fastest_tile(640, 640, 640).name, "hopper_bf16x6_64x64");
  EXPECT_STREQ(fastest_tile(1024, 1024, 1024).name, "hopper_bf16x6_64x128");
}

INSTANTIATE_TEST_SUITE_P(Registry, HopperKSplits, testing::ValuesIn(split_kernels()), kernel_name);
INSTANTIATE_TEST_SUITE_P(Registry, HopperShortRuns, testing::ValuesIn(direct_kernels()),
                         kernel_name);
INSTANTIATE_TEST_SUITE_P(Registry, HopperSubProblems, testing::ValuesIn(split_kernels()),
                         kernel_name);

}  // namespace
}  // namespace kw
