// Every instance of `thin` in every cut that its blocks can have, also those that no prediction
// chooses on this machine: threads along rows and along k, sums in a warp, in a block and over
// blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <random>

#include "check/run_kernel.hpp"
#include "host_simt/host_simt.hpp"
#include "sgemm/kernels.hpp"
#include "sgemm/thin_plan.hpp"
#include "support/kernel_named.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

// A kernel's row has functions without a state.
ThinCut forced_cut;

std::optional<Plan<Sgemm>> plan_of_forced_cut(const Sgemm& p, const Device&) {
  ThinPlan own = thin_operands(p);
  cut_thin(own, p, forced_cut);
  Plan<Sgemm> plan = {.workspace_bytes = own.workspace_bytes(p.batch)};
  plan.data.set(own);
  return plan;
}

Kernel<Sgemm> thin_with_forced_cut() {
  Kernel<Sgemm> kernel = test::kernel_named(on_host::sgemm_production(), "thin");
  kernel.make_plan = plan_of_forced_cut;
  return kernel;
}

// Rows and k that end anywhere. Lines that are to be read four elements a load wherever they start
// do start anywhere.
check::SgemmCase product_of_cut(const ThinConfig& config, const ThinCut& cut, std::mt19937& engine,
                                unsigned number) {
  const auto draw = [&](std::int64_t sides) { return static_cast<std::int64_t>(engine() % sides); };
  const std::int64_t step = std::int64_t{config.depth} << (cut.threads_shift - cut.row_shift);
  const std::int64_t rows = draw(3 * config.rows << cut.row_shift) + 1;
  const std::int64_t width = std::max<std::int64_t>(1, config.width - draw(3));
  const bool wide_is_b = draw(2) == 0, shifts = cut.unaligned == ThinLoads::shifted;
  check::SgemmCase c;
  c.m = wide_is_b ? width : rows;
  c.n = wide_is_b ? rows : width;
  c.k = draw(8) == 0 ? config.chunk() + draw(2 * step) : draw(4 * step) + 1;
  c.op_a = draw(2) == 0 ? Op::transpose : Op::none;
  c.op_b = draw(2) == 0 ? Op::none : Op::transpose;
  const auto pad = [&](std::int64_t ld) {
    return shifts ? draw(3) + (4 - ld % 4) % 4 + 1 : draw(2) == 0 ? (4 - ld % 4) % 4 : draw(4);
  };
  c.lda_pad = pad(c.op_a == Op::none ? c.k : c.m);
  c.ldb_pad = pad(c.op_b == Op::none ? c.n : c.k);
  c.alpha = -1.5f;
  c.beta = draw(2) == 0 ? 0.5f : 0;
  c.batch = draw(4) == 0 ? 2 : 1;
  c.seed = seed_of(number);
  return c;
}

class ThinCuts : public testing::TestWithParam<int> {};

TEST_P(ThinCuts, GiveTheProduct) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  const Kernel<Sgemm> kernel = thin_with_forced_cut();
  const ThinConfig& config = thin_configs[GetParam()];
  std::mt19937 engine(seed_of(static_cast<unsigned>(GetParam())));
  unsigned number = 0;
  int shared = 0, shifted = 0;
  for (int threads_shift = 7; 1 << threads_shift <= config.threads; ++threads_shift) {
    for (int row_shift = 0; row_shift <= threads_shift; ++row_shift) {
      for (const std::int64_t parts : {1, 2, 3}) {
        for (const ThinLoads unaligned :
             {ThinLoads::single, ThinLoads::single, ThinLoads::shifted}) {
          forced_cut = {GetParam(), threads_shift, row_shift, parts, unaligned};
          const check::SgemmCase c = product_of_cut(config, forced_cut, engine, number++);
          check::SgemmTrial trial(bench, c);
          const ThinPlan operands = thin_operands(trial.problem());
          if (!is_cut(forced_cut)) continue;
          shared += plan_of_forced_cut(trial.problem(), bench.device())->workspace_bytes > 0;
          shifted += thin_loads(operands, forced_cut) == ThinLoads::shifted;
          const check::VerifyResult result = trial.verify(kernel);
          EXPECT_TRUE(result.ok()) << threads_shift << " " << row_shift << " " << parts << " "
                                   << describe(c) << ": " << result.message;
        }
      }
    }
  }
  EXPECT_GT(number, 10U);
  EXPECT_GT(shared, 5) << "blocks were to share rows";
  if (config.rows == 4) {
    EXPECT_GT(shifted, 2) << "lines were to start anywhere";  // 9 draws, of which few are not cut
  }
}

// Where a thread has all of k, sums of one sign have an error of 0.22 * sqrt(k), added one after
// the other.
TEST_P(ThinCuts, StepsAddUpApart) {
  const ThinConfig& config = thin_configs[GetParam()];
  if (config.width > 8) return;
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  forced_cut = {GetParam(), 7, 7, 1, ThinLoads::single};
  ASSERT_TRUE(is_cut(forced_cut));
  check::SgemmCase c;
  c.m = config.rows << 7;
  c.n = config.width;
  c.k = 2048;
  c.input = check::Input::unit;
  const check::VerifyResult result = check::SgemmTrial(bench, c).verify(thin_with_forced_cut());
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_LE(result.error.rms, 0.6 * 0.22 * std::sqrt(static_cast<double>(c.k)));
}

INSTANTIATE_TEST_SUITE_P(Instances, ThinCuts,
                         testing::Range(0, static_cast<int>(std::size(thin_configs))));

}  // namespace
}  // namespace kw
