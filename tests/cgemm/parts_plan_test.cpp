// How the complex parts.cu cuts a product: every iteration of every tile belongs to one block, and
// the parts of a tile have places of their own, side by side.
#include "cgemm/stream/parts_plan.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "support/h200.hpp"

namespace kw {
namespace {

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

// cgemm_parts_64x64 has the tile of cgemm_stream_64x64.
TEST(ComplexPartsPlan, EachRowHasItsTile) {
  for (const ComplexPartsTile& tile : complex_parts_tiles) {
    std::string of = tile.name;
    of.replace(of.find("parts"), 5, "stream");
    EXPECT_EQ(of, tile.stream.name);
    EXPECT_FALSE(tile.stream.config.clusters || tile.stream.config.staged) << tile.name;
  }
}

}  // namespace
}  // namespace kw
