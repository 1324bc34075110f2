// What a launch of small_tile needs, and its predicted time.
#include "sgemm/small_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tile_support.hpp"

namespace kw {
namespace {

Device small_device(std::size_t shared_bytes) {
  Device device;
  device.sm_count = 132;
  device.shared_bytes_per_block_optin = shared_bytes;
  return device;
}

// What the kernel takes for granted of a row of the table.
TEST(SmallPlan, TilesAreWhatTheKernelCanCompute) {
  for (const SmallTile& tile : small_tiles) {
    SCOPED_TRACE(tile.name);
    const SmallTileConfig& c = tile.config;
    EXPECT_EQ(c.bm % c.tm, 0);
    EXPECT_EQ(c.bn % c.tn, 0);
    EXPECT_EQ(c.tm % 4, 0);
    EXPECT_EQ(c.tn % 4, 0);
    EXPECT_EQ(c.bk % 16, 0);
    EXPECT_EQ(c.tm % c.parts_k, 0);
    EXPECT_EQ(c.threads_of_part() % 32, 0) << "a warp has one part of k";
    EXPECT_EQ(c.threads() & (c.threads() - 1), 0) << "a power of two of them copies a line";
    EXPECT_GE(c.threads(), std::max({c.bm, c.bn, c.bk})) << "a step copies a whole line";
    EXPECT_TRUE(4 % c.rows_of_part() == 0 || c.rows_of_part() % 4 == 0)
        << "the rows that a thread stores lie one behind the other";
    EXPECT_GE(c.stages, 2);
    EXPECT_LE(c.threads() * c.blocks_per_sm, 2048);
    const std::string size = std::to_string(c.bm) + "x" + std::to_string(c.bn);
    EXPECT_EQ(std::string(tile.name).find("small_" + size), 0u);
  }
}

TEST(SmallPlan, SharedMemoryHoldsTheStagesThatKFillsAndThePartsOfK) {
  const SmallTileConfig& whole = test::tile_named(small_tiles, "small_64x64").config;
  // Lines of 32 k and 4 of padding for A, lines of 64 columns and 4 for B.
  constexpr std::size_t stage = 4 * (64 * 36 + 32 * 68);
  EXPECT_EQ(small_shared_bytes(whole, test::padded_product(64, 64, 0)), stage);
  EXPECT_EQ(small_shared_bytes(whole, test::padded_product(64, 64, 32)), stage);
  EXPECT_EQ(small_shared_bytes(whole, test::padded_product(64, 64, 33)), 2 * stage);
  EXPECT_EQ(small_shared_bytes(whole, test::padded_product(64, 64, 3000)), 2 * stage);
  const SmallTileConfig& parts = test::tile_named(small_tiles, "small_32x32k64").config;
  EXPECT_EQ(small_shared_bytes(parts, test::padded_product(32, 32, 1)),
            std::size_t{4 * (32 * 68 + 64 * 36)});
  EXPECT_EQ(small_shared_bytes(test::tile_named(small_tiles, "small_16x64k64").config,
                               test::padded_product(16, 64, 1)),
            std::size_t{4 * (16 * 68 + 64 * 68)});
}

// No more blocks on an SM than it must have, where that is few; else what the blocks need.
TEST(SmallPlan, FewBlocksAreSpreadEvenly) {
  const SmallTileConfig& tile = test::tile_named(small_tiles, "small_32x32").config;
  Device device = small_device(227 << 10);
  device.shared_bytes_per_sm = 228 << 10;
  const auto fit_on_sm = [&](const Sgemm& p) {
    const std::size_t asked = small_shared_bytes_asked(tile, p, device);
    EXPECT_GE(asked, small_shared_bytes(tile, p));
    constexpr std::size_t reserved = 1024;  // by the driver, a block
    return device.shared_bytes_per_sm / (asked + reserved);
  };
  const std::size_t needed = small_shared_bytes(tile, test::padded_product(32, 32, 100));
  EXPECT_EQ(fit_on_sm(test::padded_product(320, 320, 100)), 1u) << "100 blocks";
  EXPECT_EQ(fit_on_sm(test::padded_product(320, 640, 100)), 2u) << "200 blocks";
  EXPECT_EQ(fit_on_sm(test::padded_product(320, 1056, 100)), 3u) << "330 blocks";
  EXPECT_EQ(fit_on_sm(test::padded_product(320, 2080, 100)), 5u) << "650 blocks";
  EXPECT_EQ(fit_on_sm(test::padded_product(320, 3360, 100)), 8u) << "1050 blocks";
  EXPECT_EQ(fit_on_sm(test::padded_product(320, 1056, 5)), 3u) << "330 blocks of hardly any k";
  const SmallTileConfig& few = test::tile_named(small_tiles, "small_64x128").config;
  EXPECT_EQ(small_shared_bytes_asked(few, test::padded_product(640, 128 * 40, 100), device),
            small_shared_bytes(few, test::padded_product(640, 128 * 40, 100)))
      << "400 blocks, of which no more than 3 an SM fit";
  for (const Sgemm& p :
       {test::padded_product(320, 3520, 100), test::padded_product(32, 64 * 32, 100)})
    EXPECT_EQ(small_shared_bytes_asked(tile, p, device), needed) << "many blocks, or hardly any";
  EXPECT_LT(small_shared_bytes_asked(tile, test::padded_product(320, 320, 20), device), needed)
      << "launches this short rather overlap";
}

TEST(SmallPlan, RefusesWhatDoesNotFitOnTheDevice) {
  const SmallTileConfig& tile = test::tile_named(small_tiles, "small_64x128").config;
  const Sgemm longer = test::padded_product(128, 128, 100),
              shorter = test::padded_product(128, 128, 20);
  const std::size_t bytes = small_shared_bytes(tile, longer);
  EXPECT_TRUE(small_tile_supports(tile, longer, small_device(bytes)));
  EXPECT_FALSE(small_tile_supports(tile, longer, small_device(bytes - 1)));
  EXPECT_TRUE(small_tile_supports(tile, shorter, small_device(bytes - 1)));
  Sgemm many = test::padded_product(1 << 20, 1 << 20, 8);
  EXPECT_TRUE(small_tile_supports(tile, many, small_device(bytes)));
  many.batch = 33;
  EXPECT_FALSE(small_tile_supports(tile, many, small_device(bytes))) << "2^27 x 33 blocks";
}

TEST(SmallPlan, TimeGrowsWithTheWork) {
  for (const SmallTile& tile : small_tiles) {
    SCOPED_TRACE(tile.name);
    const auto us = [&](const Sgemm& p) { return predict_small_us(tile, p, small_device(0)); };
    double last = 0;
    for (const std::int64_t k :
         {std::int64_t{1}, std::int64_t{33}, std::int64_t{100}, small_max_k}) {
      const double now = us(test::padded_product(300, 300, k));
      EXPECT_GT(now, 1);
      EXPECT_GE(now, last) << k;
      last = now;
    }
    EXPECT_TRUE(std::isinf(us(test::padded_product(300, 300, small_max_k + 1)))) << "not measured";
    EXPECT_GT(us(test::padded_product(8000, 8000, 16)), us(test::padded_product(4000, 4000, 16)));
    EXPECT_GT(us(test::padded_product(4000, 4000, 16, 1)), us(test::padded_product(4000, 4000, 16)))
        << "rows of C that are not aligned";
    Sgemm batch = test::padded_product(64, 64, 64);
    batch.batch = 1000;
    EXPECT_GT(us(batch), 2 * us(test::padded_product(64, 64, 64)));
  }
}

TEST(SmallPlan, LastRoundsThatAreHardlyFilledTakeLonger) {
  EXPECT_EQ(small_rounds(0.1, 4), 1);
  EXPECT_EQ(small_rounds(3.5, 4), 4);
  EXPECT_EQ(small_rounds(4, 4), 4);
  EXPECT_EQ(small_rounds(8, 4), 8);
  EXPECT_GT(small_rounds(4.1, 4), 5);
  EXPECT_NEAR(small_rounds(40.1, 4), 40.3, 0.1);
  double last = 0;
  for (double blocks = 0.05; blocks < 30; blocks += 0.05) {
    const double rounds = small_rounds(blocks, 3);
    EXPECT_GE(rounds, std::max(blocks, last) - 1e-9) << blocks;
    last = rounds;
  }
}

TEST(SmallPlan, ChunksTakeLongerWhereBlocksAreFewAndOperandsLieAlongK) {
  SmallTile tile = test::tile_named(small_tiles, "small_64x64");
  ASSERT_EQ(tile.config.blocks_per_sm, 4);
  tile.times.few_blocks = 0;
  tile.times.along_k_us = 0;
  SmallTile few = tile, along = tile;
  few.times.few_blocks = 1;
  along.times.along_k_us = tile.times.busy_chunk_us;
  // So many blocks for each of the device's multiprocessors.
  const auto blocks = [](int of_sm) {
    return test::padded_product(64, 64 * of_sm * small_device(0).sm_count, 320);
  };
  const auto ratio = [&](const SmallTile& other, const Sgemm& p) {
    return predict_small_us(other, p, small_device(0)) / predict_small_us(tile, p, small_device(0));
  };
  EXPECT_GT(ratio(few, blocks(2)), 1.15);
  EXPECT_LT(ratio(few, blocks(3)), ratio(few, blocks(2)));
  EXPECT_EQ(ratio(few, blocks(4)), 1) << "as many as an SM holds";
  EXPECT_EQ(ratio(few, blocks(9)), 1);

  Sgemm p = blocks(8);
  EXPECT_EQ(ratio(along, p), 1) << "A lies along k, B across it";
  p.op_b = Op::transpose;
  p.ldb = p.k;
  EXPECT_GT(ratio(along, p), 1.2) << "both along k";
  p.op_a = Op::transpose;
  p.lda = p.m;
  EXPECT_EQ(ratio(along, p), 1);
  p.op_b = Op::none;
  p.ldb = p.n;
  EXPECT_LT(ratio(along, p), 0.8) << "both across it";
}

TEST(SmallPlan, ShareCopiedByFours) {
  SmallTileConfig tile = small_tiles[0].config;
  tile.bm = 32;
  tile.bn = 96;
  Sgemm p = test::padded_product(32, 96, 64);
  EXPECT_EQ(share_copied_by_4(tile, p), 0);
  p.lda = 65;
  EXPECT_EQ(share_copied_by_4(tile, p), 0.25);
  p.ldc = 97;
  EXPECT_EQ(share_copied_by_4(tile, p), 1) << "columns of B lie apart";
  p.op_b = Op::transpose;
  p.ldb = 64;
  EXPECT_EQ(share_copied_by_4(tile, p), 0.25) << "whole lines of B lie apart";
  p.ldb = 66;
  EXPECT_EQ(share_copied_by_4(tile, p), 1);
  p = test::padded_product(32, 96, 64);
  tile.turns = true;
  EXPECT_EQ(share_copied_by_4(tile, p), 0.25) << "A lies along k";
  p.op_b = Op::transpose;
  p.ldb = 64;
  EXPECT_EQ(share_copied_by_4(tile, p), 1);
  p.op_a = Op::transpose;
  p.lda = 32;
  EXPECT_EQ(share_copied_by_4(tile, p), 0.75);
}

// C alone takes that long where it does not fit in L2, the longer the less memory gives; rows of C
// that a warp stores as a whole come first.
TEST(SmallPlan, LargeProductsTakeTheirWayToMemory) {
  const Sgemm p = test::padded_product(16384, 16384, 1);
  Device device = small_device(0), slower = device;
  device.memory_clock_khz = 3'000'000;
  slower.memory_clock_khz = 2'000'000;
  device.memory_bus_bits = slower.memory_bus_bits = 6144;
  const double wide = predict_small_us(test::tile_named(small_tiles, "small_32x128"), p, device);
  for (const SmallTile& tile : small_tiles) {
    const double us = predict_small_us(tile, p, device);
    EXPECT_GE(us, 4 * std::exp2(28) / memory_bytes_per_us(device)) << tile.name;
    EXPECT_LT(us, predict_small_us(tile, p, slower)) << tile.name;
    EXPECT_GE(us, wide) << tile.name;
  }
}

}  // namespace
}  // namespace kw
