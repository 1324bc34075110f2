// Every instance of cgemm_thin in every cut that its blocks can have, also those that no prediction
// chooses: warps along rows and along k, sums over lanes, warps and blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <string>

#include "cgemm/thin_plan.hpp"
#include "complex_cuts.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

// A kernel's row has functions without a state.
struct ForcedCut {
  int config = 0, k_warps = 1;
  std::int64_t parts = 1;
} forced_cut;

std::optional<Plan<Cgemm>> plan_of_forced_cut(const Cgemm& p, const Device&) {
  ComplexThinPlan own = complex_thin_operands(p);
  own.config = forced_cut.config;
  own.k_warps = forced_cut.k_warps;
  cut_complex_thin(own, p, forced_cut.parts);
  Plan<Cgemm> plan = {.workspace_bytes = own.workspace_bytes(p.batch)};
  plan.data.set(own);
  return plan;
}

// Rows and k that end anywhere, with some chunks of the narrow operand, and a step for each part at
// least.
check::CgemmCase product_of_cut(const ComplexThinConfig& config, std::mt19937& engine,
                                unsigned number) {
  const auto draw = [&](int sides) { return static_cast<std::int64_t>(engine()) % sides; };
  const std::int64_t rows = draw(2 * config.block_rows(forced_cut.k_warps)) + config.width + 1;
  const std::int64_t width = std::max<std::int64_t>(1, config.width - draw(3));
  const bool wide_is_b = draw(2) == 0;
  check::CgemmCase c;
  c.m = wide_is_b ? width : rows;
  c.n = wide_is_b ? rows : width;
  const int step = config.step(forced_cut.k_warps);
  c.k = draw(2) == 0 ? config.chunk() + draw(2 * config.chunk()) : draw(4 * step) + 1;
  c.k += (forced_cut.parts - 1) * step;
  c.op_a = wide_is_b ? (draw(2) == 0 ? Op::transpose : Op::none)
                     : (config.along_k ? Op::none : Op::transpose);
  c.op_b = wide_is_b ? (config.along_k ? Op::transpose : Op::none)
                     : (draw(2) == 0 ? Op::transpose : Op::none);
  c.conj_a = draw(2) == 0;
  c.conj_b = draw(2) == 0;
  c.lda_pad = draw(4);
  c.ldb_pad = draw(4);
  c.ldc_pad = draw(2);
  c.alpha = -1.5f, c.alpha_im = 0.25f;
  c.beta = draw(2) == 0 ? 0.5f : 0;
  c.batch = draw(4) == 0 ? 2 : 1;
  c.seed = seed_of(number);
  return c;
}

class ComplexThinCuts : public testing::TestWithParam<int> {};

TEST_P(ComplexThinCuts, GiveTheProduct) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  const Kernel<Cgemm> kernel = test::row_with_plan("cgemm_thin", plan_of_forced_cut);
  const ComplexThinConfig& config = complex_thin_configs[GetParam()];
  std::mt19937 engine(seed_of(static_cast<unsigned>(GetParam())));
  unsigned number = 0;
  for (int k_warps = 1; can_be_cut(config, k_warps); k_warps *= 2) {
    for (const std::int64_t parts : {1, 1, 2, 5}) {
      forced_cut = {GetParam(), k_warps, parts};
      const check::CgemmCase c = product_of_cut(config, engine, number++);
      check::CgemmTrial trial(bench, c);
      EXPECT_EQ(plan_of_forced_cut(trial.problem(), bench.device())->workspace_bytes > 0, parts > 1)
          << describe(c);
      const check::VerifyResult result = trial.verify(kernel);
      EXPECT_TRUE(result.ok()) << k_warps << " warps along k, " << parts << " parts, "
                               << describe(c) << ": " << result.message;
    }
  }
  EXPECT_GE(number, 4U);
}

INSTANTIATE_TEST_SUITE_P(Instances, ComplexThinCuts,
                         testing::Range(0, static_cast<int>(std::size(complex_thin_configs))));

}  // namespace
}  // namespace kw
