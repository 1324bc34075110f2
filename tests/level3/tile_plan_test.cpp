// What level3_tile and level3_few take, and which problems of an H200 are theirs.
#include "level3/tile_plan.hpp"

#include <gtest/gtest.h>

#include <string>

#include "level3/few_plan.hpp"
#include "level3/kernels.hpp"
#include "level3/lean_plan.hpp"
#include "select.hpp"
#include "support/h200.hpp"

namespace kw {
namespace {

Level3 level3_problem(Routine routine, std::int64_t m, std::int64_t n, std::int64_t k) {
  Level3 p;
  p.routine = routine;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = reinterpret_cast<const float*>(std::uintptr_t{256});
  p.b = reinterpret_cast<const float*>(std::uintptr_t{1} << 40);
  p.c = reinterpret_cast<float*>(std::uintptr_t{1} << 44);
  p.lda = p.updates_triangle() ? k : p.on_left ? m : n;
  p.ldb = p.updates_triangle() ? k : n;
  p.ldc = n;
  return p;
}

TEST(Level3TilePlan, CountsTilesOfATriangleAndOfAll) {
  constexpr Level3TileConfig tile = level3_tiles[1].config;
  EXPECT_EQ(level3_tile_count(tile, level3_problem(Routine::syrk, 129, 129, 5)).all, 6);
  EXPECT_EQ(level3_tile_count(tile, level3_problem(Routine::trmm, 129, 65, 129)).all, 6);
  EXPECT_EQ(level3_tile_count(tile, level3_problem(Routine::symm, 64, 1, 64)).all, 1);
}

TEST(Level3TilePlan, TakesSumsOfOneAccumulatorAndWhatNoOtherBlockOverwrites) {
  constexpr Level3TileConfig tile = level3_tiles[0].config;
  const std::int64_t longest = level3_tile_longest_sum;
  EXPECT_TRUE(level3_tile_supports(tile, level3_problem(Routine::syrk, 9, 9, longest)));
  EXPECT_FALSE(level3_tile_supports(tile, level3_problem(Routine::syrk, 9, 9, longest + 1)));
  EXPECT_FALSE(level3_tile_supports(tile, level3_problem(Routine::syr2k, 9, 9, longest / 2 + 1)));
  EXPECT_FALSE(level3_tile_supports(tile, level3_problem(Routine::trsm, 9, 9, 9)));
  Level3 p = level3_problem(Routine::trmm, tile.side, 500, tile.side);
  p.b = p.c;
  EXPECT_TRUE(level3_tile_supports(tile, p));
  p.k = p.m = tile.side + 1;
  EXPECT_FALSE(level3_tile_supports(tile, p));
}

LeanUpdate lean_update(std::int64_t m, std::int64_t n, std::int64_t k, int products = 1) {
  LeanUpdate update{{}, products};
  Sgemm& p = update.product;
  p.m = m, p.n = n, p.k = k;
  p.op_b = Op::transpose;
  p.lda = p.ldb = k, p.ldc = n;
  p.triangle = Triangle::lower;
  return update;
}

TEST(Level3LeanPlan, TakesUpdatesWhoseOperandsLieAlike) {
  const LeanTileConfig& tile = level3_leans[0].config;
  EXPECT_EQ(tile.bm(), tile.bn()) << "tiles of a triangle are squares";
  EXPECT_EQ(lean_update_tiles(tile, lean_update(129, 129, 5).product).count(), 6);
  EXPECT_EQ(lean_update_tiles(tile, lean_update(200, 100, 5).product).count(), 7)
      << "a triangle of two, and two rows below it";
  LeanUpdate update = lean_update(500, 500, 100, 2);
  EXPECT_TRUE(lean_update_supports(tile, update));
  update.product.op_b = Op::none;
  EXPECT_FALSE(lean_update_supports(tile, update));
  update.product.op_a = Op::transpose;
  EXPECT_TRUE(lean_update_supports(tile, update));
  update.product.triangle = Triangle::none;
  EXPECT_FALSE(lean_update_supports(tile, update));
  update = lean_update(500, 500, level3_tile_longest_sum / 2, 2);
  EXPECT_TRUE(lean_update_supports(tile, update));
  ++update.product.k;
  EXPECT_FALSE(lean_update_supports(tile, update));
  update.products = 1;
  EXPECT_TRUE(lean_update_supports(tile, update));
  update.product.k_range = KRange::to_row;
  EXPECT_FALSE(lean_update_supports(tile, update));
}

// Blocks that fit side by side lie evenly.
TEST(Level3LeanPlan, FewBlocksAreSpreadEvenly) {
  Device device = test::h200();
  device.shared_bytes_per_sm = 228 << 10;
  const LeanTileConfig& tile = level3_leans[0].config;
  constexpr std::size_t reserved = 1024;  // by the driver, a block
  EXPECT_EQ(device.shared_bytes_per_sm /
                (lean_update_shared_bytes(tile, {.tiles = 378}, device) + reserved),
            3u);
  EXPECT_EQ(lean_update_shared_bytes(tile, {.tiles = 820}, device), tile.shared_bytes())
      << "no more than five a multiprocessor fit";
  EXPECT_LT(lean_update_shared_bytes(tile, {.tiles = 378}, device),
            lean_update_shared_bytes(tile, {.tiles = 130}, device));
}

TEST(Level3LeanPlan, CutsTheTilesThatAreLeftOver) {
  const Device device = test::h200();
  const auto cut_of = [&](std::int64_t m, std::int64_t k) {
    return plan_lean_update(level3_leans[0], lean_update(m, m, k), device).cut;
  };
  EXPECT_EQ(cut_of(2273, 371).cut, 666 - 5 * 132) << "666 tiles";
  EXPECT_GT(cut_of(2273, 371).parts, 2);
  EXPECT_EQ(cut_of(1123, 511).cut, 171) << "all, so that no multiprocessor has two and most one";
  EXPECT_EQ(cut_of(1391, 79).cut, 0) << "two a multiprocessor";
  EXPECT_EQ(cut_of(2273, 9).cut, 0) << "a stage";
}

TEST(Level3TilePlan, CountsOperandsAlongK) {
  Level3 p = level3_problem(Routine::syrkx, 9, 9, 9);
  EXPECT_EQ(level3_operands_along_k(p), 2);
  p.op_a = p.op_b = Op::transpose;
  EXPECT_EQ(level3_operands_along_k(p), 0);
  p = level3_problem(Routine::trmm, 9, 9, 9);
  EXPECT_EQ(level3_operands_along_k(p), 1);
  p.on_left = false;
  EXPECT_EQ(level3_operands_along_k(p), 1);
  p.op_a = Op::transpose;
  EXPECT_EQ(level3_operands_along_k(p), 2);
  EXPECT_EQ(level3_operands_along_k(level3_problem(Routine::symm, 9, 9, 9)), 0.5);
}

TEST(Level3Few, TakesUpdatesWithAKOfAFew) {
  EXPECT_TRUE(level3_few_supports(level3_problem(Routine::syrk, 9, 9, few_longest_sum)));
  EXPECT_FALSE(level3_few_supports(level3_problem(Routine::syrk, 9, 9, few_longest_sum + 1)));
  EXPECT_FALSE(level3_few_supports(level3_problem(Routine::syr2k, 9, 9, few_longest_sum / 2 + 1)));
  EXPECT_FALSE(level3_few_supports(level3_problem(Routine::trmm, 9, 9, 9)));
  EXPECT_EQ(few_tiles(level3_problem(Routine::syrk, 65, 65, 1)), 6);
}

#ifdef KW_HAVE_HOST_SIMT
std::string chosen(const Level3& p) {
  Device device = test::h200();
  device.kind = DeviceKind::host_simt;
  static const KernelList<Level3> kernels = on_host::level3_production();
  return select_kernel(p, device, kernels, Math::fp32)->kernel->name;
}

TEST(Level3LeanPlan, UpdatesWithAKOfDozensAreLean) {
  EXPECT_EQ(chosen(level3_problem(Routine::syr2k, 3677, 3677, 64)), "level3_lean_8x8");
  EXPECT_EQ(chosen(level3_problem(Routine::syrkx, 5444, 5444, 32)), "level3_lean_8x8");
}

// The products of rank_update wait for what they read of C.
TEST(Level3LeanPlan, UpdatesThatReadCAreLeanWhereProductsWouldWaitForIt) {
  Level3 p = level3_problem(Routine::syr2k, 5370, 5370, 203);
  EXPECT_EQ(chosen(p), "rank_update");
  p.beta = 0.5F;
  EXPECT_EQ(chosen(p), "level3_lean");
  p = level3_problem(Routine::syrk, 4363, 4363, 88);
  p.beta = 0.5F;
  EXPECT_EQ(chosen(p), "level3_lean");
}

TEST(Level3TilePlan, ShortUpdatesAndSmallTrianglesAreTiles) {
  EXPECT_EQ(chosen(level3_problem(Routine::syr2k, 5681, 5681, 15)).substr(0, 12), "level3_64x64");
  EXPECT_EQ(chosen(level3_problem(Routine::syrk, 118, 118, 1)), "level3_few");
  EXPECT_EQ(chosen(level3_problem(Routine::syrk, 300, 300, 40)), "level3_32x32");
  EXPECT_EQ(chosen(level3_problem(Routine::trmm, 72, 34, 72)), "level3_32x32");
  EXPECT_EQ(chosen(level3_problem(Routine::symm, 64, 64, 64)), "level3_32x32");
  EXPECT_EQ(chosen(level3_problem(Routine::syrk, 4096, 4096, 1024)), "rank_update");
  EXPECT_EQ(chosen(level3_problem(Routine::trmm, 8, 10474, 8)), "level3_lines");
  Level3 right = level3_problem(Routine::trmm, 2007, 24, 24);
  right.on_left = false;
  EXPECT_EQ(chosen(right), "level3_lines");
  EXPECT_EQ(chosen(level3_problem(Routine::trmm, 2048, 2048, 2048)), "triangle_product");
  EXPECT_EQ(chosen(level3_problem(Routine::symm, 1024, 1024, 1024)), "triangle_product");
}
#endif

}  // namespace
}  // namespace kw
