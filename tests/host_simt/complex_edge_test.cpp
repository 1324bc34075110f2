// Every row of cgemm_edge_*, with rows that are left to the smaller tiles and without.
#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <random>

#include "cgemm/stream/edge_plan.hpp"
#include "complex_cuts.hpp"
#include "support/h200.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

class ComplexEdge : public testing::TestWithParam<int> {};

// Few rows behind whole tiles, none, as many as are left to smaller tiles, and one more.
TEST_P(ComplexEdge, GivesTheProduct) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  const ComplexEdgeTile& tile = complex_edge_tiles[GetParam()];
  const KernelList<Cgemm> rows = on_host::cgemm_production();
  const Kernel<Cgemm>& kernel = test::kernel_named(rows, tile.name);
  std::mt19937 engine(seed_of(static_cast<unsigned>(GetParam())));
  const auto draw = [&](int sides) { return static_cast<std::int64_t>(engine()) % sides; };
  for (const int behind : {1, 0, tile.rest.bm, tile.rest.bm + 1}) {
    check::CgemmCase c;
    c.m = (draw(2) + 1) * tile.whole.bm + behind;
    c.n = tile.rest.bn + draw(tile.rest.bn) + 1;
    c.k = draw(4) * tile.whole.bk + draw(tile.whole.bk) + complex_stream_least_k;
    test::draw_call(c, engine, static_cast<unsigned>(behind));
    check::CgemmTrial trial(bench, c);
    const auto plan = plan_complex_edge(tile, trial.problem(), test::h200());
    ASSERT_TRUE(plan) << describe(c);
    EXPECT_EQ(plan->rest.blocks > 0, behind > 0 && behind <= tile.rest.bm) << describe(c);
    const check::VerifyResult result = trial.verify(kernel);
    EXPECT_TRUE(result.ok()) << plan->whole.blocks << " and " << plan->rest.blocks << " blocks, "
                             << describe(c) << ": " << result.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, ComplexEdge,
                         testing::Range(0, static_cast<int>(std::size(complex_edge_tiles))));

}  // namespace
}  // namespace kw
