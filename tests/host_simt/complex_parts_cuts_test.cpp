// Every row of cgemm_parts_* with few and with many parts of a tile, also those that no prediction
// chooses: blocks with parts of two tiles, and outputs that some threads add up. And how they cut
// what they compute: every iteration of every tile belongs to one block, and the parts of a tile
// have places of their own, side by side.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "cgemm/stream/parts_plan.hpp"
#include "complex_cuts.hpp"
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

// Some tiles with edges, and a k that ends within a stage and has one for each part.
check::CgemmCase product_of_cut(const ComplexStreamConfig& config, std::mt19937& engine,
                                int parts) {
  const auto draw = [&](int sides) { return static_cast<std::int64_t>(engine()) % sides; };
  check::CgemmCase c;
  c.m = draw(2 * config.bm) + 1;
  c.n = draw(2 * config.bn) + 1;
  c.k = (parts + draw(3)) * config.bk + draw(config.bk) + 1;
  test::draw_call(c, engine, static_cast<unsigned>(parts));
  return c;
}

class ComplexPartsCuts : public testing::TestWithParam<int> {};

TEST_P(ComplexPartsCuts, GiveTheProduct) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  forced.tile = GetParam();
  const Kernel<Cgemm> kernel =
      test::row_with_plan(complex_parts_tiles[forced.tile].name, plan_of_forced_cut);
  const ComplexPartsTile& tile = complex_parts_tiles[GetParam()];
  std::mt19937 engine(seed_of(static_cast<unsigned>(GetParam())));
  for (const int parts : {2, 3, 9}) {
    const check::CgemmCase c = product_of_cut(tile.stream.config, engine, parts);
    check::CgemmTrial trial(bench, c);
    const int tiles = detail::shape_of_tiles(tile.stream.config, trial.problem())->tiles;
    // So that blocks have parts of two tiles, where there are two.
    const int blocks = tiles * parts - (tiles > 1 ? 1 : 0);
    const auto cut = cut_complex_parts(tile, trial.problem(), test::h200(), blocks);
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

Cgemm product_for_parts(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
  Cgemm p;
  p.m = m, p.n = n, p.k = k, p.batch = batch;
  p.lda = k, p.ldb = n, p.ldc = n;
  p.stride_a = m * k, p.stride_b = k * n, p.stride_c = m * n;
  return p;
}

TEST(ComplexPartsPlan, EveryIterationBelongsToOneBlockAndThePartsOfATileLieSideBySide) {
  int plans = 0;
  for (const ComplexPartsTile& tile : complex_parts_tiles)
    for (const Cgemm& p : {product_for_parts(233, 74, 2265), product_for_parts(100, 100, 100000),
                           product_for_parts(17, 1500, 3333), product_for_parts(40, 50, 9000, 3)}) {
      SCOPED_TRACE(testing::Message() << tile.name << ", " << p.m << " x " << p.n << " x " << p.k);
      const auto plan = plan_complex_parts(tile, p, test::h200());
      if (!plan) continue;
      ++plans;
      const ComplexPartsSchedule& s = plan->schedule;
      std::map<int, int> covered;  // iterations of a tile
      std::map<int, std::set<int>> stored, read;
      std::set<int> slots;
      for (int block = 0; block < s.stream.blocks; ++block)
        for (StreamWork work = s.stream.first(block); work.valid();
             work = s.stream.next(work, block)) {
          covered[work.tile] += work.end - work.begin;
          EXPECT_TRUE(slots.insert(s.slot(work.tile, block)).second) << "block " << block;
          stored[work.tile].insert(s.slot(work.tile, block));
        }
      EXPECT_EQ(static_cast<int>(covered.size()), s.stream.tiles);
      for (const auto& [index, iterations] : covered) EXPECT_EQ(iterations, s.stream.iterations);
      EXPECT_LT(*slots.rbegin(), s.slots());
      for (int index = 0; index < s.stream.tiles; ++index) {
        const StreamParts all = s.parts(index);
        for (int i = 0; i < all.count; ++i) read[index].insert(s.slot(index, all.first_block) + i);
      }
      EXPECT_EQ(stored, read);
    }
  EXPECT_GT(plans, 0);
}

TEST(ComplexPartsPlan, WholeMatricesOfFewOutputs) {
  const ComplexPartsTile& tile = complex_parts_tiles[0];
  ASSERT_TRUE(plan_complex_parts(tile, product_for_parts(100, 100, 100000), test::h200()));
  EXPECT_FALSE(plan_complex_parts(tile, product_for_parts(8192, 8192, 100000), test::h200()));
  EXPECT_FALSE(plan_complex_parts(tile, product_for_parts(100, 100, 0), test::h200()));
  Cgemm triangle = product_for_parts(100, 100, 100000);
  triangle.triangle = Triangle::lower;
  EXPECT_FALSE(plan_complex_parts(tile, triangle, test::h200()));
}

// cgemm_parts_64x64 has the tile of cgemm_stream_64x64; a narrow one, which stream.cu has not, says
// its own sides.
TEST(ComplexPartsPlan, EachRowHasItsTile) {
  for (const ComplexPartsTile& tile : complex_parts_tiles) {
    const ComplexStreamConfig& config = tile.stream.config;
    std::string of = tile.name;
    if (!tile.is_narrow()) {
      of.replace(of.find("parts"), 5, "stream");
      EXPECT_EQ(of, tile.stream.name);
    } else {
      EXPECT_NE(of.find(std::to_string(config.bm) + "x" + std::to_string(config.bn)), of.npos);
    }
    EXPECT_FALSE(config.clusters || config.staged) << tile.name;
  }
}

}  // namespace
}  // namespace kw
