// What a launch of lean_tile needs, and its predicted time.
#include "sgemm/lean_plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tile_support.hpp"

namespace kw {
namespace {

Device lean_device() {
  Device device;
  device.sm_count = 132;
  device.shared_bytes_per_sm = 228 << 10;
  device.shared_bytes_per_block_optin = 227 << 10;
  return device;
}

// What the kernel takes for granted of a row of the table.
TEST(LeanPlan, TilesAreWhatTheKernelCanCompute) {
  for (const LeanTile& tile : lean_tiles) {
    SCOPED_TRACE(tile.name);
    const LeanTileConfig& c = tile.config;
    EXPECT_EQ(c.lanes_m * c.lanes_n, 32);
    EXPECT_EQ(c.tm % 4, 0);
    EXPECT_EQ(c.tn % 4, 0);
    EXPECT_EQ(c.bk % 8, 0) << "eight k of a line are turned at a time";
    EXPECT_EQ(c.bm() % (c.threads() / 8), 0);
    EXPECT_EQ(c.bn() % (c.threads() / 8), 0);
    EXPECT_GE(c.stages, 2);
    EXPECT_LE(c.threads() * c.blocks_per_sm, 2048);
    EXPECT_LE(c.blocks_per_sm * c.shared_bytes(), lean_device().shared_bytes_per_sm);
    const std::string size = std::to_string(c.bm()) + "x" + std::to_string(c.bn());
    EXPECT_EQ(tile.name, "lean_" + size);
  }
}

// No more blocks on an SM than it must have, where that is few; else what the blocks need.
TEST(LeanPlan, FewBlocksAreSpreadEvenly) {
  const LeanTileConfig& tile = test::tile_named(lean_tiles, "lean_64x64").config;
  const Device device = lean_device();
  EXPECT_EQ(tile.shared_bytes(), 4u * 3 * 16 * (68 + 68));
  const auto fit_on_sm = [&](const Sgemm& p) {
    const std::size_t asked = lean_shared_bytes_asked(tile, p, device);
    EXPECT_GE(asked, tile.shared_bytes());
    constexpr std::size_t reserved = 1024;  // by the driver, a block
    return device.shared_bytes_per_sm / (asked + reserved);
  };
  EXPECT_EQ(fit_on_sm(test::padded_product(640, 640, 100)), 1u) << "100 blocks";
  EXPECT_EQ(fit_on_sm(test::padded_product(640, 1280, 100)), 2u) << "200 blocks";
  EXPECT_EQ(fit_on_sm(test::padded_product(640, 64 * 66, 100)), 5u) << "660 blocks";
  EXPECT_EQ(lean_shared_bytes_asked(tile, test::padded_product(640, 64 * 67, 100), device),
            tile.shared_bytes())
      << "670 blocks, of which no more than five an SM fit";
}

TEST(LeanPlan, RefusesWhatItCannotCompute) {
  const LeanTileConfig& tile = test::tile_named(lean_tiles, "lean_64x64").config;
  Device device = lean_device();
  Sgemm p = test::padded_product(1 << 20, 1 << 20, 8);
  EXPECT_TRUE(lean_tile_supports(tile, p, device));
  p.batch = 9;
  EXPECT_FALSE(lean_tile_supports(tile, p, device)) << "2^28 x 9 blocks";
  p = test::padded_product(64, 64, 64);
  p.triangle = Triangle::lower;
  EXPECT_FALSE(lean_tile_supports(tile, p, device));
  p = test::padded_product(64, 64, 64);
  device.shared_bytes_per_block_optin = tile.shared_bytes() - 1;
  EXPECT_FALSE(lean_tile_supports(tile, p, device));
}

TEST(LeanPlan, ShareCopiedByFours) {
  const LeanTileConfig& tile = test::tile_named(lean_tiles, "lean_64x32").config;
  Sgemm p = test::padded_product(64, 32, 64);
  EXPECT_DOUBLE_EQ(lean_share_by_4(tile, p), 2.0 / 3) << "A lies along k";
  p.ldb = 33;
  EXPECT_EQ(lean_share_by_4(tile, p), 1);
  p.ldb = 32;
  p.op_a = Op::transpose;
  p.lda = 64;
  EXPECT_EQ(lean_share_by_4(tile, p), 0);
  p.lda = 65;
  EXPECT_DOUBLE_EQ(lean_share_by_4(tile, p), 2.0 / 3);
  p.lda = 64;
  p.op_b = Op::transpose;
  p.ldb = 64;
  EXPECT_DOUBLE_EQ(lean_share_by_4(tile, p), 1.0 / 3);
}

TEST(LeanPlan, ShareAlongK) {
  const LeanTileConfig& tile = test::tile_named(lean_tiles, "lean_64x32").config;
  Sgemm p = test::padded_product(64, 32, 64);
  EXPECT_DOUBLE_EQ(lean_share_along_k(tile, p), 2.0 / 3 - 0.5) << "of A alone";
  p.op_b = Op::transpose;
  EXPECT_DOUBLE_EQ(lean_share_along_k(tile, p), 0.5);
  p.op_a = Op::transpose;
  EXPECT_DOUBLE_EQ(lean_share_along_k(tile, p), 1.0 / 3 - 0.5) << "of B alone";
  p.op_b = Op::none;
  EXPECT_DOUBLE_EQ(lean_share_along_k(tile, p), -0.5);
}

// Two warps a block: an odd number of blocks leaves two of four schedulers with one warp more.
TEST(LeanPlan, OddNumbersOfSmallBlocksTakeLonger) {
  const LeanTile& small = test::tile_named(lean_tiles, "lean_64x32");
  EXPECT_DOUBLE_EQ(lean_rounds(small, 4), 4);
  EXPECT_DOUBLE_EQ(lean_rounds(small, 3), 3 + lean_uneven);
  EXPECT_DOUBLE_EQ(lean_rounds(small, 2.5), 3 + lean_uneven - 0.5 * lean_fewer)
      << "half of the multiprocessors have two";
  EXPECT_DOUBLE_EQ(lean_rounds(small, 25), small_rounds(25, 10, small.times.together))
      << "more than fit";
  EXPECT_DOUBLE_EQ(lean_rounds(small, 24.25),
                   small_rounds(24.25, 10, small.times.together) + 0.75 * lean_one_more)
      << "a quarter of the multiprocessors have 25";
  const LeanTile& large = test::tile_named(lean_tiles, "lean_64x64");
  EXPECT_DOUBLE_EQ(lean_rounds(large, 3), 3) << "a warp a scheduler";
}

TEST(LeanPlan, TimeGrowsWithTheWork) {
  for (const LeanTile& tile : lean_tiles) {
    SCOPED_TRACE(tile.name);
    const auto us = [&](const Sgemm& p) { return predict_lean_us(tile, p, lean_device()); };
    double last = 0;
    for (std::int64_t k = lean_min_k; k <= lean_max_k; k += 50) {
      const double now = us(test::padded_product(300, 300, k));
      EXPECT_GT(now, 1);
      EXPECT_GE(now, last) << k;
      last = now;
    }
    EXPECT_TRUE(std::isinf(us(test::padded_product(300, 300, lean_max_k + 1)))) << "not measured";
    EXPECT_TRUE(std::isinf(us(test::padded_product(300, 300, lean_min_k - 1)))) << "not measured";
    EXPECT_GT(us(test::padded_product(8000, 8000, 64)), us(test::padded_product(4000, 4000, 64)));
    EXPECT_GE(us(test::padded_product(4000, 4000, 64, 1)), us(test::padded_product(4000, 4000, 64)))
        << "rows that are not aligned";
    Sgemm batch = test::padded_product(64, 64, 64);
    batch.batch = 1000;
    EXPECT_TRUE(std::isinf(us(batch))) << "not measured";
  }
}

}  // namespace
}  // namespace kw
