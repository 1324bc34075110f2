// Tiles, and rows and columns beside them, in one launch: each of the tiles that have such blocks,
// also where no prediction chooses them.
#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <random>
#include <string_view>

#include "check/run_kernel.hpp"
#include "host_simt/host_simt.hpp"
#include "sgemm/ragged_plan.hpp"
#include "support/production_row.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"
#include "workspace_parts.hpp"

namespace kw {
namespace {

// A kernel's row has functions without a state.
RaggedData forced;
std::int64_t forced_parts = 1;  // of k, of blocks that share rows

std::optional<Plan<Sgemm>> plan_of_forced_tile(const Sgemm& p, const Device& device) {
  const RaggedParts parts(p, forced.cut);
  const Kernel<Sgemm>& tiles = test::production_row(beside_tiles[forced.tile]);
  std::optional<Plan<Sgemm>> plan(std::in_place);
  plan->data.set(forced);
  plan->parts.push_back({&tiles, *plan_for(tiles, parts.alone(0), device)});
  for (int i = 1; i < parts.count; ++i) {
    ThinPlan own = plan_beside(parts.alone(i), device).plan;
    cut_thin(own, parts.alone(i),
             {beside_config, 8, own.row_shift, forced_parts, ThinLoads::shifted});
    Plan<Sgemm>& part = plan->parts.emplace_back().plan;
    part.workspace_bytes = own.workspace_bytes(1);
    part.data.set(own);
  }
  for (const Choice<Sgemm>& part : plan->parts)
    plan->workspace_bytes += whole_part(part.plan.workspace_bytes);
  return plan;
}

class Beside : public testing::TestWithParam<int> {};

TEST_P(Beside, RowsAndColumnsAreComputedInTheTilesLaunch) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  Kernel<Sgemm> kernel = test::production_row("ragged");
  kernel.make_plan = plan_of_forced_tile;
  kernel.complete_plan = nullptr;
  const StreamTileConfig& config = stream_tiles[row_of_tile(beside_tiles[GetParam()])].config;
  std::mt19937 engine(seed_of(static_cast<unsigned>(GetParam())));
  const auto draw = [&](std::int64_t sides) { return static_cast<std::int64_t>(engine() % sides); };
  int shared = 0;
  for (unsigned number = 0; number < 6; ++number) {
    check::SgemmCase c;
    c.m = config.bm + 32 * draw(3) + (number % 3 == 0 ? 0 : draw(8) + 1);
    c.n = config.bn + 32 * draw(3) + (number % 3 == 1 ? 0 : draw(8) + 1);
    c.k = number % 2 == 0 ? 1500 + draw(700) : draw(200) + 1;
    c.op_a = draw(2) == 0 ? Op::transpose : Op::none;
    c.op_b = draw(2) == 0 ? Op::none : Op::transpose;
    c.lda_pad = draw(5), c.ldb_pad = draw(5), c.ldc_pad = draw(5);
    c.alpha = -1.5f;
    c.beta = draw(2) == 0 ? 0.5f : 0;
    c.seed = seed_of(number);
    forced = {{number % 3 != 0, number % 3 != 1}, GetParam()};
    forced_parts = number < 3 ? 3 : 1;
    check::SgemmTrial trial(bench, c);
    const auto plan = plan_of_forced_tile(trial.problem(), bench.device());
    shared += plan->parts.back().plan.workspace_bytes > 0;
    const check::VerifyResult result = trial.verify(kernel);
    EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
  }
  EXPECT_GT(shared, 0) << "blocks were to share rows";
}

INSTANTIATE_TEST_SUITE_P(Tiles, Beside,
                         testing::Range(0, static_cast<int>(std::size(beside_tiles))));

}  // namespace
}  // namespace kw
