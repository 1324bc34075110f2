// How `side_by_side` cuts a product: two parts that cover C once, on multiprocessors of their own.
#include "sgemm/side_by_side_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "select.hpp"
#include "sgemm/kernels.hpp"
#include "sgemm/stream/plan.hpp"
#include "support/h200.hpp"
#include "support/kernel_named.hpp"

namespace kw {
namespace {

Sgemm side_by_side_product(std::int64_t m, std::int64_t n, std::int64_t k, Op op = Op::none) {
  Sgemm p;
  p.m = m, p.n = n, p.k = k;
  p.op_a = p.op_b = op;
  p.lda = op == Op::none ? k : m;
  p.ldb = op == Op::none ? n : k;
  p.ldc = n;
  return p;
}

const Kernel<Sgemm>& side_by_side() {
  static const KernelList<Sgemm> kernels = on_host::sgemm_production();
  return test::kernel_named(kernels, "side_by_side");
}

TEST(SideBySide, OnlyFullSingleProducts) {
  const Sgemm p = side_by_side_product(349, 4339, 2680);
  EXPECT_TRUE(has_sides(p));
  EXPECT_FALSE(has_sides(side_by_side_product(64, 64, 9000))) << "one unit";
  Sgemm batch = p;
  batch.batch = 2;
  EXPECT_FALSE(has_sides(batch));
  Sgemm zero = p;
  zero.alpha = 0;
  EXPECT_FALSE(has_sides(zero)) << "A and B may be null";
  Sgemm triangle = side_by_side_product(4339, 4339, 2680);
  triangle.triangle = Triangle::lower;
  EXPECT_FALSE(has_sides(triangle));
  Sgemm beside = p;
  beside.next_overlaps = true;
  EXPECT_FALSE(has_sides(beside)) << "a part itself";
}

// Its kernels are looked for only where the time may be worth it.
TEST(SideBySide, SmallProductsAreNotChosen) {
  const Sgemm small = side_by_side_product(349, 433, 268);
  const auto plan = side_by_side().make_plan(small, test::h200());
  ASSERT_TRUE(plan);
  EXPECT_TRUE(std::isinf(plan->cost));
  EXPECT_TRUE(plan->parts.empty());
  const auto whole = plan_for(side_by_side(), small, test::h200());
  EXPECT_EQ(whole->parts.size(), 2u);
  EXPECT_TRUE(std::isfinite(whole->cost));
}

TEST(SideBySide, CutsAreMultiplesWithSomethingBeyond) {
  for (const auto& [m, n] : {std::pair{64, 65}, {65, 64}, {128, 129}, {4096, 4097}, {1, 200}}) {
    const Sgemm p = side_by_side_product(m, n, 100);
    each_side_by_side_cut(p, [&, rows = m, columns = n](const SideBySideCut& cut) {
      const std::int64_t size = cut.rows ? rows : columns;
      EXPECT_GT(cut.at, 0);
      EXPECT_LT(cut.at, size);
      EXPECT_EQ(cut.at % side_by_side_tuning.unit, 0);
      EXPECT_LE(size - cut.at, side_by_side_tuning.cuts * side_by_side_tuning.unit);
    });
  }
}

TEST(SideBySide, PartsCoverCOnceAndReadTheirOperands) {
  std::vector<float> a(300 * 300), b(300 * 300), c(300 * 300);
  for (const Op op : {Op::none, Op::transpose})
    for (const bool rows : {true, false}) {
      Sgemm p = side_by_side_product(200, 140, 30, op);
      p.a = a.data(), p.b = b.data(), p.c = c.data();
      const SideBySideParts parts(p, {rows, 128, 7});
      EXPECT_TRUE(parts.part[0].next_overlaps && parts.part[1].overlaps_previous);
      EXPECT_FALSE(parts.part[0].overlaps_previous || parts.part[1].next_overlaps);
      EXPECT_EQ(parts.part[0].m + (rows ? parts.part[1].m : 0), 200);
      EXPECT_EQ(parts.part[0].n + (rows ? 0 : parts.part[1].n), 140);
      EXPECT_EQ(parts.part[1].c - p.c, rows ? 128 * p.ldc : 128);
      EXPECT_EQ(parts.part[1].a - p.a, rows ? (op == Op::none ? 128 * p.lda : 128) : 0);
      EXPECT_EQ(parts.part[1].b - p.b, rows ? 0 : (op == Op::none ? 128 : 128 * p.ldb));
    }
}

// What launch_plan relies on.
TEST(SideBySide, BlocksOfBothPartsFitTheDevice) {
  const Device device = test::h200();
  int planned = 0;
  for (const std::int64_t n : {97, 145, 349, 403, 1459, 4339})
    for (const std::int64_t k : {130, 2000, 9000}) {
      const Sgemm p = side_by_side_product(3333, n, k);
      const auto plan = plan_for(side_by_side(), p, device);
      ASSERT_TRUE(plan);
      ++planned;
      ASSERT_EQ(plan->parts.size(), 2u);
      const auto cut = plan->data.get<SideBySideCut>();
      ASSERT_GE(cut.sms, 1);
      ASSERT_LT(cut.sms, device.sm_count);
      EXPECT_EQ(plan->cost, plan->time_us);
      for (int i = 0; i < 2; ++i) {
        const Choice<Sgemm>& part = plan->parts[static_cast<std::size_t>(i)];
        const auto tile = std::find_if(
            std::begin(stream_tiles), std::end(stream_tiles),
            [&](const StreamTile& t) { return std::string(t.name) == part.kernel->name; });
        ASSERT_NE(tile, std::end(stream_tiles));
        const auto schedule = part.plan.data.get<StreamSchedule>();
        EXPECT_FALSE(schedule.in_clusters());
        EXPECT_LE(schedule.blocks,
                  tile->config.blocks_per_sm * device_of_part(device, cut, i).sm_count);
        // Tickets of both levels of shared tiles.
        EXPECT_LT(schedule.ticket(2, 2 * schedule.blocks), static_cast<int>(ticket_count / 2));
        EXPECT_TRUE(i == 0 || tile->config.blocks_per_sm == 2) << tile->name;
      }
    }
  EXPECT_EQ(planned, 18);
}

TEST(SideBySide, LeavesRoomBesideItsBlocks) {
  Sgemm p = side_by_side_product(3333, 349, 2000);
  EXPECT_EQ(beside_shared_bytes(p, 70000, 60000), 70000u);
  p.next_overlaps = true;
  EXPECT_GT(beside_shared_bytes(p, 70000, 60000), std::size_t{164 * 1024 / 2 - 1024});
  EXPECT_EQ(beside_shared_bytes(p, 170000, 170000), 170000u);
  p.overlaps_previous = true;
  EXPECT_EQ(beside_shared_bytes(p, 110000, 60000), 60000u) << "blocks lie beside others";
}

}  // namespace
}  // namespace kw
