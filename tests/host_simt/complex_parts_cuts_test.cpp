// Every row of cgemm_parts_* with few and with many parts of a tile, also those that no prediction
// chooses: blocks with parts of two tiles, and outputs that some threads add up.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "cgemm/kernels.hpp"
#include "cgemm/stream/parts_plan.hpp"
#include "check/verify_cgemm.hpp"
#include "support/h200.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

// A kernel's row has functions without a state.
struct Forced {
  int tile = 0;
  ComplexPartsSchedule schedule;
} forced;

std::optional<Plan<Cgemm>> plan_of_forced_cut(const Cgemm&, const Device&) {
  Plan<Cgemm> plan = {.workspace_bytes =
                          complex_parts_bytes(complex_parts_tiles[forced.tile], forced.schedule)};
  plan.data.set(forced.schedule);
  return plan;
}

Kernel<Cgemm> row_with_forced_cut() {
  const KernelList<Cgemm> kernels = on_host::cgemm_production();
  Kernel<Cgemm> kernel = *std::find_if(kernels.begin(), kernels.end(), [](const auto& row) {
    return row.name == std::string(complex_parts_tiles[forced.tile].name);
  });
  kernel.make_plan = plan_of_forced_cut;
  return kernel;
}

// Some tiles with edges, and a k that ends within a stage and has one for each part.
check::CgemmCase product_of_cut(const ComplexStreamConfig& config, std::mt19937& engine,
                                int parts) {
  const auto draw = [&](int sides) { return static_cast<std::int64_t>(engine()) % sides; };
  const auto op = [&] { return draw(2) == 0 ? Op::none : Op::transpose; };
  check::CgemmCase c;
  c.m = draw(2 * config.bm) + 1;
  c.n = draw(2 * config.bn) + 1;
  c.k = (parts + draw(3)) * config.bk + draw(config.bk) + 1;
  c.op_a = op(), c.op_b = op();
  c.conj_a = draw(2) == 0, c.conj_b = draw(2) == 0;
  c.lda_pad = draw(4), c.ldb_pad = draw(4), c.ldc_pad = draw(2);
  c.alpha = -1.5f, c.alpha_im = draw(2) == 0 ? 0.25f : 0;
  c.beta = draw(2) == 0 ? 0.5f : 0;
  c.batch = draw(4) == 0 ? 2 : 1;
  c.seed = seed_of(static_cast<unsigned>(parts));
  return c;
}

class ComplexPartsCuts : public testing::TestWithParam<int> {};

TEST_P(ComplexPartsCuts, GiveTheProduct) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  forced.tile = GetParam();
  const Kernel<Cgemm> kernel = row_with_forced_cut();
  const ComplexPartsTile& tile = complex_parts_tiles[GetParam()];
  std::mt19937 engine(seed_of(static_cast<unsigned>(GetParam())));
  for (const int parts : {2, 3, 9}) {
    const check::CgemmCase c = product_of_cut(tile.stream.config, engine, parts);
    check::CgemmTrial trial(bench, c);
    const int tiles = detail::shape_of_tiles(tile.stream.config, trial.problem())->tiles;
    // So that blocks have parts of two tiles, where there are two.
    const auto cut = cut_complex_parts(tile, trial.problem(), test::h200(), tiles * parts - 1);
    ASSERT_TRUE(cut) << describe(c);
    forced.schedule = cut->schedule;
    for (const int groups : {cut->schedule.groups, 4}) {
      forced.schedule.groups = groups;
      const check::VerifyResult result = trial.verify(kernel);
      EXPECT_TRUE(result.ok()) << cut->schedule.stream.blocks << " blocks, " << groups
                               << " groups, " << describe(c) << ": " << result.message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, ComplexPartsCuts,
                         testing::Range(0, static_cast<int>(std::size(complex_parts_tiles))));

}  // namespace
}  // namespace kw
