// How `ragged` cuts a product: parts that cover C once, and share neither workspace nor tickets.
#include "sgemm/ragged_plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sgemm/stream/plan.hpp"
#include "sgemm/thin_choice.hpp"
#include "tile_support.hpp"

namespace kw {
namespace {

Device ragged_device() {
  Device device;
  device.sm_count = 132;
  return device;
}

Sgemm ragged_product(std::int64_t m, std::int64_t n, std::int64_t k, Op op = Op::none) {
  Sgemm p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.op_a = p.op_b = op;
  p.lda = op == Op::none ? k : m;
  p.ldb = op == Op::none ? n : k;
  p.ldc = n;
  return p;
}

TEST(RaggedPlan, OnlyAFewRowsOrColumnsBeyondTiles) {
  EXPECT_TRUE(is_ragged(ragged_product(65, 64, 5)));
  EXPECT_TRUE(is_ragged(ragged_product(64, 72, 5)));
  EXPECT_TRUE(is_ragged(ragged_product(1537, 1537, 1537)));
  EXPECT_TRUE(is_ragged(ragged_product(96, 98, 5))) << "a multiple of 32";
  EXPECT_FALSE(is_ragged(ragged_product(96, 105, 5)));
  EXPECT_FALSE(is_ragged(ragged_product(64, 128, 5))) << "nothing beyond";
  EXPECT_FALSE(is_ragged(ragged_product(73, 73, 5))) << "too many beyond";
  EXPECT_FALSE(is_ragged(ragged_product(1, 8, 5))) << "no tile";
  EXPECT_FALSE(is_ragged(ragged_product(65, 65, 0)));
  Sgemm scaled_by_zero = ragged_product(65, 65, 5);
  scaled_by_zero.alpha = 0;
  EXPECT_FALSE(is_ragged(scaled_by_zero)) << "A and B may be null";
  Sgemm batch = ragged_product(65, 65, 5);
  batch.batch = 2;
  EXPECT_FALSE(is_ragged(batch));
  EXPECT_FALSE(is_ragged(ragged_product(ragged_tuning.max_size + 1, 64, 5)));
}

TEST(RaggedPlan, PartsCoverCOnceAndReadTheirOperands) {
  std::vector<float> a(200 * 200), b(200 * 200), c(200 * 200);
  for (const Op op : {Op::none, Op::transpose}) {
    for (const std::int64_t m : {65, 128, 136}) {
      for (const std::int64_t n : {64, 66, 192}) {
        Sgemm p = ragged_product(m, n, 7, op);
        if (!is_ragged(p)) continue;
        p.a = a.data(), p.b = b.data(), p.c = c.data();
        int cuts = 0;
        each_ragged_cut(p, [&](RaggedCut cut) {
          ++cuts;
          SCOPED_TRACE(::testing::Message()
                       << m << " x " << n << ", rows " << cut.rows << ", columns " << cut.columns);
          std::vector<int> written(static_cast<std::size_t>(m * n), 0);
          const RaggedParts parts(p, cut);
          ASSERT_EQ(parts.count, 1 + int{cut.rows} + int{cut.columns});
          for (int i = 0; i < parts.count; ++i) {
            const Sgemm& part = parts.part[i];
            const std::int64_t row = (part.c - p.c) / p.ldc, col = (part.c - p.c) % p.ldc;
            EXPECT_EQ(part.a - p.a, op == Op::none ? row * p.lda : row);
            EXPECT_EQ(part.b - p.b, op == Op::none ? col : col * p.ldb);
            EXPECT_EQ(part.overlaps_previous, i > 0);
            EXPECT_EQ(part.next_overlaps, i + 1 < parts.count);
            for (std::int64_t r = row; r < row + part.m; ++r)
              for (std::int64_t j = col; j < col + part.n; ++j)
                ++written[static_cast<std::size_t>(r * n + j)];
          }
          EXPECT_EQ(written, std::vector<int>(written.size(), 1));
          EXPECT_EQ(parts.part[0].m, cut.rows ? m / 64 * 64 : m);
          EXPECT_EQ(parts.part[0].n, cut.columns ? n / 64 * 64 : n);
        });
        EXPECT_EQ(cuts, m % 64 > 0 && n % 64 > 0 ? 3 : 1) << m << " x " << n;
      }
    }
  }
}

// Blocks of a lean tile that leave multiprocessors with one fewer have the other parts beside them.
TEST(RaggedPlan, OtherPartsRunBesideLeanTilesThatLeaveRoom) {
  const LeanTileConfig& tile = test::tile_named(lean_tiles, "lean_64x64").config;
  const auto share = [&](std::int64_t blocks) {
    return beside_lean(tile, ragged_product(64, 64 * blocks, 100), ragged_device()).share;
  };
  EXPECT_EQ(share(132 + 100), ragged_tuning.beside_share);
  EXPECT_EQ(share(2 * 132 - 9), ragged_tuning.beside_share);
  EXPECT_EQ(share(2 * 132 - 8), 1) << "less than a sixteenth has one fewer";
  EXPECT_EQ(share(2 * 132), 1);
  EXPECT_EQ(share(5 * 132 - 60), ragged_tuning.beside_share);
  EXPECT_EQ(share(5 * 132 + 60), 1) << "not at once";
  EXPECT_EQ(beside_lean(tile, ragged_product(64, 64 * 200, 100), ragged_device()).us, 0);
}

// The next call's tiles find multiprocessors taken.
TEST(RaggedPlan, TilesThatTakeAllMultiprocessorsWaitForOtherParts) {
  const auto us = [](int tiles, int blocks, int whole_tiles, int cluster) {
    StreamSchedule s;
    s.tiles = tiles;
    s.blocks = blocks;
    s.whole_tiles = whole_tiles;
    s.cluster = cluster;
    const RaggedBeside beside = beside_stream(s, ragged_device());
    EXPECT_EQ(beside.share, 1);
    return beside.us;
  };
  EXPECT_EQ(us(130, 130, 130, 0), ragged_tuning.full_us);
  EXPECT_EQ(us(264, 264, 264, 0), ragged_tuning.full_us);
  EXPECT_EQ(us(115, 115, 115, 0), 0) << "there are others";
  EXPECT_EQ(us(300, 264, 300, 0), 0) << "two tiles a block";
  EXPECT_EQ(us(70, 264, 0, 0), 0) << "shared";
  EXPECT_EQ(us(132, 264, 0, 2), ragged_tuning.full_us);
}

TEST(RaggedPlan, KnowsTheTilesByTheirKernel) {
  Kernel<Sgemm> kernel{};
  Choice<Sgemm> tiles{&kernel, {}};
  StreamSchedule full;
  full.tiles = full.blocks = full.whole_tiles = 132;
  tiles.plan.data.set(full);
  const Sgemm p = ragged_product(64, 64 * 200, 100);
  const auto beside = [&](const char* name) {
    kernel.name = name;
    return ragged_beside(tiles, p, ragged_device());
  };
  EXPECT_EQ(beside("lean_64x64").share, ragged_tuning.beside_share);
  EXPECT_EQ(beside("stream_128x128").us, ragged_tuning.full_us);
  EXPECT_EQ(beside("thin").share, 1);
  EXPECT_EQ(beside("thin").us, 0);
}

// The tiles' kernel takes the first tickets, as many as the largest grid needs on all levels of
// adding up; rows and columns take one for each of their blocks, from their own first one on.
TEST(RaggedPlan, TicketsAreApart) {
  std::int64_t of_tiles = 0;
  for (std::int64_t blocks = max_stream_blocks; blocks > 1; blocks = ceil_div(blocks, stream_fan))
    of_tiles += 2 * max_stream_blocks;
  EXPECT_EQ(RaggedParts::first_ticket(0), 0U);
  EXPECT_LE(static_cast<std::size_t>(of_tiles), RaggedParts::first_ticket(2));
  EXPECT_EQ(RaggedParts::first_ticket(2) + ragged_tuning.tickets, RaggedParts::first_ticket(1));
  EXPECT_EQ(RaggedParts::first_ticket(1) + ragged_tuning.tickets, ticket_count);
  for (const std::int64_t k : {1, 40, 129, 1000, 100000}) {
    for (const Op op : {Op::none, Op::transpose}) {
      const std::int64_t most = ragged_tuning.max_size;
      for (const Sgemm& p : {ragged_product(1, most, k, op), ragged_product(most, 1, k, op)}) {
        const ThinPlan plan = thin_plan(p, ragged_device());
        if (plan.parts > 1) {
          EXPECT_LE(plan.row_blocks, ragged_tuning.tickets) << k;
        }
      }
    }
  }
}

// Blocks beside tiles have one instance of `thin`, one number of threads and one way of loads for
// each order of memory, and tickets within their part's.
TEST(RaggedPlan, BlocksBesideTilesHaveTheOneInstance) {
  int in_parts = 0;
  for (const std::int64_t size : {33, 1000, 4096, 131072}) {
    for (const std::int64_t k : {1, 40, 777, 20000}) {
      for (const Op op : {Op::none, Op::transpose}) {
        for (const Sgemm& p : {ragged_product(8, size, k, op), ragged_product(size, 1, k, op)}) {
          const BesidePlan beside = plan_beside(p, ragged_device());
          const ThinPlan& plan = beside.plan;
          EXPECT_EQ(plan.config, beside_config);
          EXPECT_EQ(plan.threads(), beside_threads);
          EXPECT_EQ(plan.loads, plan.along_k ? ThinLoads::shifted : ThinLoads::single);
          EXPECT_LE(plan.width, thin_configs[beside_config].width);
          EXPECT_TRUE(std::isfinite(beside.time_us));
          EXPECT_TRUE(plan.parts == 1 || plan.row_blocks <= ragged_tuning.tickets);
          in_parts += plan.parts > 1;
        }
      }
    }
  }
  EXPECT_GT(in_parts, 0);
}

}  // namespace
}  // namespace kw
