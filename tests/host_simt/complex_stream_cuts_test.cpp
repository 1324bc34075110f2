// Every complex stream tile in every way that its tiles can be cut, also those that no prediction
// chooses: whole tiles in turns, shares of k among blocks, and clusters.
#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "cgemm/stream/plan.hpp"
#include "complex_cuts.hpp"
#include "support/h200.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

// A kernel's row has functions without a state.
struct Forced {
  int tile = 0;
  StreamSchedule schedule;
} forced;

std::optional<Plan<Cgemm>> plan_of_forced_cut(const Cgemm&, const Device&) {
  const ComplexStreamConfig& config = complex_stream_tiles[forced.tile].config;
  Plan<Cgemm> plan = {.workspace_bytes = complex_stream_workspace_bytes(config, forced.schedule)};
  plan.data.set(forced.schedule);
  return plan;
}

// Some tiles with edges, and a k that ends within a stage; of the first one k has stages enough to
// be shared.
check::CgemmCase product_of_cut(const ComplexStreamConfig& config, std::mt19937& engine,
                                unsigned number) {
  const auto draw = [&](int sides) { return static_cast<std::int64_t>(engine()) % sides; };
  check::CgemmCase c;
  c.m = config.bm + draw(config.bm) + 1;
  c.n = config.bn + draw(config.bn) + 1;
  c.k = (number == 0 ? 5 : draw(6)) * config.bk + draw(config.bk) + 1;
  test::draw_call(c, engine, number);
  return c;
}

// Some SMs fewer than tiles, and more.
std::vector<StreamSchedule> cuts_of(const ComplexStreamConfig& config, const Cgemm& p) {
  std::vector<StreamSchedule> cuts;
  Device device = test::h200();
  const StreamSchedule shape = detail::shape_of_tiles(config, p).value();
  const auto add = [&](const StreamSchedule& cut) { cuts.push_back(cut); };
  each_complex_stream_cut(config, shape, device, add);
  device.sm_count = 3;
  each_complex_stream_cut(config, shape, device, add);
  return cuts;
}

class ComplexStreamCuts : public testing::TestWithParam<int> {};

TEST_P(ComplexStreamCuts, GiveTheProduct) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  forced.tile = GetParam();
  const Kernel<Cgemm> kernel =
      test::row_with_plan(complex_stream_tiles[forced.tile].name, plan_of_forced_cut);
  const ComplexStreamConfig& config = complex_stream_tiles[GetParam()].config;
  std::mt19937 engine(seed_of(static_cast<unsigned>(GetParam())));
  int whole = 0, shared = 0, clusters = 0;
  for (unsigned number = 0; number < 4; ++number) {
    const check::CgemmCase c = product_of_cut(config, engine, number);
    check::CgemmTrial trial(bench, c);
    for (const StreamSchedule& cut : cuts_of(config, trial.problem())) {
      forced.schedule = cut;
      (cut.in_clusters() ? clusters : cut.whole_tiles < cut.tiles ? shared : whole) += 1;
      const check::VerifyResult result = trial.verify(kernel);
      EXPECT_TRUE(result.ok()) << cut.blocks << " blocks, " << cut.whole_tiles
                               << " whole tiles, clusters of " << cut.cluster << ", " << describe(c)
                               << ": " << result.message;
    }
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(shared, 0);
  EXPECT_EQ(clusters > 0, config.clusters);
}

INSTANTIATE_TEST_SUITE_P(Tiles, ComplexStreamCuts,
                         testing::Range(0, static_cast<int>(std::size(complex_stream_tiles))));

}  // namespace
}  // namespace kw
