// Two parts of a product in launches that do not wait for each other, also where no prediction
// chooses them.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string_view>

#include "check/run_kernel.hpp"
#include "host_simt/host_simt.hpp"
#include "sgemm/side_by_side_plan.hpp"
#include "support/kept_options.hpp"
#include "support/production_row.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"
#include "workspace_parts.hpp"

namespace kw {
namespace {

// A kernel's row has functions without a state.
SideBySideCut forced;
std::string_view forced_tiles[2];

std::optional<Plan<Sgemm>> plan_of_forced_cut(const Sgemm& p, const Device& device) {
  const SideBySideParts parts(p, forced);
  std::optional<Plan<Sgemm>> plan(std::in_place);
  plan->data.set(forced);
  for (int i = 0; i < 2; ++i) {
    const Kernel<Sgemm>& tile = test::production_row(forced_tiles[i]);
    plan->parts.push_back(
        {&tile, *plan_for(tile, parts.part[i], device_of_part(device, forced, i))});
    plan->workspace_bytes += whole_part(plan->parts.back().plan.workspace_bytes);
  }
  return plan;
}

TEST(SideBySide, PartsAreComputedBesideEachOther) {
  const test::KeptOptions kept;
  host_simt::options().workers = 37;  // as many multiprocessors
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  Kernel<Sgemm> kernel = test::production_row("side_by_side");
  kernel.make_plan = plan_of_forced_cut;
  std::mt19937 engine(seed_of(11));
  const auto draw = [&](std::int64_t sides) { return static_cast<std::int64_t>(engine() % sides); };
  int shared = 0;
  for (unsigned number = 0; number < 8; ++number) {
    check::SgemmCase c;
    c.m = 130 + draw(120);
    c.n = 130 + draw(120);
    c.k = number % 2 == 0 ? 700 + draw(700) : draw(200) + 1;
    c.op_a = draw(2) == 0 ? Op::transpose : Op::none;
    c.op_b = draw(2) == 0 ? Op::none : Op::transpose;
    c.lda_pad = draw(5), c.ldb_pad = draw(5), c.ldc_pad = draw(5);
    c.alpha = -1.5f;
    c.beta = draw(2) == 0 ? 0.5f : 0;
    c.seed = seed_of(number);
    forced = {number % 4 < 2, 128, 1 + static_cast<int>(draw(bench.device().sm_count - 1))};
    forced_tiles[0] = number < 4 ? "stream_128x128" : "stream_64x256";
    forced_tiles[1] = forced.rows ? "stream_48x128" : "stream_128x48";
    check::SgemmTrial trial(bench, c);
    const auto plan = plan_of_forced_cut(trial.problem(), bench.device());
    for (const Choice<Sgemm>& part : plan->parts) shared += part.plan.workspace_bytes > 0;
    const check::VerifyResult result = trial.verify(kernel);
    EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
  }
  EXPECT_GT(shared, 2) << "tiles were to be shared by blocks";
}

}  // namespace
}  // namespace kw
