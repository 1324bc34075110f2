// Who reads what in a launch of `thin`: every element of the wide operand once, by enough blocks.
#include "sgemm/thin_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>
#include <string>

#include "support/h200.hpp"

namespace kw {
namespace {

using test::h200;

Sgemm product(std::int64_t m, std::int64_t n, std::int64_t k, Op op_a, Op op_b) {
  Sgemm p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.op_a = op_a;
  p.op_b = op_b;
  p.lda = op_a == Op::none ? k : m;
  p.ldb = op_b == Op::none ? n : k;
  p.ldc = n;
  return p;
}

// The rows of all blocks together; 0 where a block has none, or one of the first has another's.
std::int64_t rows_of_blocks(const ThinPlan& plan) {
  std::int64_t sum = 0;
  std::set<std::int64_t> first_rows;
  const auto stride = static_cast<unsigned>(plan.row_stride());
  for (unsigned block = 0; block < plan.row_blocks; ++block) {
    const std::int64_t first = plan.first_row(block, stride);
    const std::int64_t left = ceil_div(plan.rows - first, std::int64_t{stride});
    if (left <= 0 || (block < 1000 && !first_rows.insert(first).second)) return 0;
    sum += std::min<std::int64_t>(left, plan.block_rows);
  }
  return sum;
}

TEST(ThinPlan, PartsCoverTheWideOperandOnce) {
  for (const std::int64_t rows : {1, 3, 8, 9, 31, 32, 33, 1000, 8192, 3000000}) {
    for (const std::int64_t k : {0, 1, 31, 129, 4096, 8191, 100000}) {
      for (const Op op : {Op::none, Op::transpose}) {
        for (const std::int64_t batch : {1, 5, 40000}) {
          Sgemm p = product(rows, 1, k, op, Op::none);
          p.batch = batch;
          const ThinPlan plan = thin_plan(p, h200());
          SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(k) + " batch " +
                       std::to_string(batch));
          EXPECT_LE(plan.threads(), thin_configs[plan.config].threads);
          EXPECT_LE(plan.step(), thin_configs[plan.config].chunk());
          EXPECT_EQ(rows_of_blocks(plan), rows) << "each row is one block's";
          EXPECT_EQ(plan.k_per_part % plan.step(), 0) << "parts stay aligned";
          EXPECT_GE(plan.parts * plan.k_per_part, k);
          const std::int64_t before = plan.row_stride() > 1 ? 3 : 0;  // at most, a line's start
          EXPECT_TRUE(k == 0 || (plan.parts - 1) * plan.k_per_part < k + before)
              << "no part is empty";
          if (plan.parts > 1) {
            EXPECT_LE(batch * plan.row_blocks, thin_tuning.tickets);
          }
          EXPECT_EQ(plan.workspace_bytes(batch) > 0, plan.parts > 1);
        }
      }
    }
  }
}

TEST(ThinPlan, FewRowsAreSharedByBlocksEnoughForTheDevice) {
  for (const Op op : {Op::none, Op::transpose}) {
    for (const Sgemm& p :
         {product(1, 8192, 8192, Op::none, op), product(8192, 1, 8192, op, Op::none),
          product(8, 512, 100000, Op::none, op)}) {
      EXPECT_GE(thin_plan(p, h200()).blocks(1), 132);
    }
  }
  EXPECT_EQ(thin_plan(product(1000000, 1, 8192, Op::none, Op::none), h200()).parts, 1);
}

TEST(ThinPlan, TheWideOperandIsTheOneThatIsNotThin) {
  const ThinPlan a = thin_plan(product(100, 3, 50, Op::none, Op::transpose), h200());
  EXPECT_FALSE(a.wide_is_b);
  EXPECT_TRUE(a.along_k);
  EXPECT_EQ(a.width, 3);
  EXPECT_EQ(a.rows, 100);
  EXPECT_EQ(a.narrow_k, 1);
  EXPECT_EQ(a.narrow_j, 50);
  EXPECT_EQ(a.c_row, 3);
  EXPECT_EQ(a.c_j, 1);
  const ThinPlan b = thin_plan(product(3, 100, 50, Op::transpose, Op::none), h200());
  EXPECT_TRUE(b.wide_is_b);
  EXPECT_FALSE(b.along_k);
  EXPECT_EQ(b.rows, 100);
  EXPECT_EQ(b.narrow_k, 3);
  EXPECT_EQ(b.narrow_j, 1);
  EXPECT_EQ(b.c_row, 1);
  EXPECT_EQ(b.c_j, 100);
}

TEST(ThinPlan, SixteenByteLoadsOnlyWhereEveryLineIsAligned) {
  alignas(16) static float memory[8];
  Sgemm p = product(100, 1, 64, Op::none, Op::none);
  const auto aligned = [&] { return thin_plan(p, h200()).aligned; };
  p.a = memory;
  EXPECT_TRUE(aligned());
  p.a = memory + 1;
  EXPECT_FALSE(aligned());
  p.a = memory;
  p.lda = 65;
  EXPECT_FALSE(aligned());
  p.lda = 64;
  p.stride_a = 6401;
  EXPECT_TRUE(aligned()) << "there is one product";
  p.batch = 2;
  EXPECT_FALSE(aligned());
  p.stride_a = 0;
  EXPECT_TRUE(aligned());
  const float* pointers[] = {memory, memory};
  p.a_array = pointers;
  EXPECT_FALSE(aligned()) << "nothing is known of these";
}

// The second has lines on 16-byte boundaries, which leave more cuts to choose from.
TEST(ThinPlan, FromMemoryBlocksReadLongPiecesOfLinesAcrossK) {
  for (const Sgemm& p :
       {product(1, 6769, 1693, Op::none, Op::none), product(1, 6772, 1696, Op::none, Op::none)}) {
    const ThinPlan plan = thin_plan(p, h200());
    EXPECT_GE(plan.block_rows, 120) << p.n;
    EXPECT_GE(plan.blocks(1), 1.8 * 132) << p.n;
  }
}

// Neighbouring lanes lie along a row: what they load together is at least a cache line of it.
TEST(ThinPlan, FromMemoryLoadsAlongKFillCacheLines) {
  const ThinPlan plan = thin_plan(product(1, 6582, 3096, Op::none, Op::transpose), h200());
  EXPECT_EQ(plan.loads, ThinLoads::vector);
  EXPECT_GE(16 << plan.k_shift, 128);
}

// Where the operand is in L2, each cache line that a load touches takes its time.
TEST(ThinPlan, FromL2LoadsAlongKFillCacheLines) {
  Sgemm of_a = product(1941, 1, 3791, Op::none, Op::none);
  Sgemm of_b = product(1, 984, 7853, Op::transpose, Op::transpose);
  of_a.lda = 3823, of_b.ldb = 7885;
  for (const Sgemm& p : {of_a, of_b}) {
    const ThinPlan plan = thin_plan(p, h200());
    const int load_bytes = plan.loads == ThinLoads::single ? 4 : 16;
    EXPECT_GE(load_bytes << std::min(plan.k_shift, 5), 128) << p.k;
  }
}

// The operand is in L2, from which each multiprocessor draws so much at a time: of 32 columns no
// load has more than a sector of a line.
TEST(ThinPlan, ShortLinesAreSpreadOverMultiprocessors) {
  EXPECT_GE(thin_plan(product(32, 1, 3954, Op::transpose, Op::none), h200()).blocks(1), 24);
}

// L2 keeps by itself what fits; of more it is told a part, in equal portions.
TEST(ThinPlan, LargeOperandsStayInL2InPart) {
  const auto planned = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return thin_plan(product(m, n, k, Op::none, Op::none), h200());
  };
  EXPECT_EQ(planned(1, 2000, 2000).kept_steps, ~0U);
  EXPECT_EQ(planned(16, 8192, 8192).kept_steps, ~0U) << "its instances tell nothing";
  for (const std::int64_t width : {1, 2, 4}) {
    for (const std::int64_t rows : {3000, 6769, 8192, 30000}) {
      for (const ThinPlan& plan : {planned(width, rows, 4000), planned(rows, width, 4000)}) {
        const std::uint32_t steps = plan.kept_steps;
        const double bytes = 4.0 * static_cast<double>(rows) * 4000;
        const double share =
            plan.begins_early ? thin_tuning.steps_share : thin_tuning.steps_share_apart;
        const double kept = std::min(1.0, share * l2_bytes_of(h200()) / bytes);
        EXPECT_NEAR(std::popcount(steps), 32 * kept, 0.51) << rows;
        for (int first = 0; first < 32; ++first) {
          const int of_eight = std::popcount(std::rotr(steps, first) & 0xffU);
          EXPECT_NEAR(of_eight, std::popcount(steps) / 4.0, 1.01) << rows << " from " << first;
        }
      }
    }
  }
}

// Beside the blocks of the previous kernel there may be room for some of a launch that begins
// early. Then a multiprocessor has shared memory for as many as lie on it evenly, and for no more.
TEST(ThinPlan, BlocksThatBeginEarlyLieEvenly) {
  Device device = h200();
  device.shared_bytes_per_sm = 228 << 10;
  int kept_apart = 0, early = 0;
  for (const std::int64_t rows : {1000, 2000, 4500, 6500, 9000, 14000}) {
    for (const std::int64_t k : {100, 500, 1000, 1900}) {
      for (const Op op : {Op::none, Op::transpose}) {
        const Sgemm p = product(rows, 1, k, op, Op::none);
        const ThinPlan plan = thin_plan(p, device);
        const std::size_t bytes = thin_apart_bytes(plan, p, device);
        early += plan.begins_early;
        if (bytes == 0) continue;
        ++kept_apart;
        EXPECT_TRUE(plan.begins_early);
        EXPECT_GT(2 * plan.blocks(1), thin_slots(plan, device));
        const auto floats = static_cast<std::size_t>(thin_configs[plan.config].shared_floats());
        const std::size_t of_block = sizeof(float) * floats + bytes + 1024;
        const auto of_sm = static_cast<std::size_t>(ceil_div(plan.blocks(1), 132));
        EXPECT_LE(of_sm * of_block, device.shared_bytes_per_sm) << rows << " x " << k;
        EXPECT_GT((of_sm + 1) * of_block, device.shared_bytes_per_sm) << rows << " x " << k;
        // A launch asks for more than 48 KiB by its dynamic part.
        EXPECT_TRUE(sizeof(float) * floats + bytes <= 48 << 10 || bytes > 48 << 10);
      }
    }
  }
  EXPECT_GT(kept_apart, 2);
  EXPECT_GT(early, 10);
  device.compute_capability = 80;
  const Sgemm p = product(6500, 1, 1000, Op::none, Op::none);
  EXPECT_EQ(thin_apart_bytes(thin_plan(p, device), p, device), 0U) << "kernels do not overlap";
}

// What L2 does not hold all of is read by the same multiprocessors in each call.
TEST(ThinPlan, OperandsThatL2HoldsInPartDoNotBeginEarly) {
  EXPECT_FALSE(thin_plan(product(7000, 1, 1900, Op::none, Op::none), h200()).begins_early);
  EXPECT_TRUE(thin_plan(product(1000, 1, 1000, Op::none, Op::none), h200()).begins_early);
}

// 32 lanes copy elements that lie 2 or 5 floats apart from 3 and 6 lines, or from one each.
TEST(ThinPlan, ElementsThatLieApartTouchLines) {
  Sgemm p = product(5000, 1, 2000, Op::none, Op::none);
  const auto touches = [&](std::int64_t ldb) {
    p.ldb = ldb;
    return detail::thin_apart_touches(thin_plan(p, h200()));
  };
  EXPECT_EQ(touches(1), 0);
  EXPECT_DOUBLE_EQ(touches(2), (31 * 2 / 32.0 + 1) / 32);
  EXPECT_DOUBLE_EQ(touches(5), (31 * 5 / 32.0 + 1) / 32);
  EXPECT_EQ(touches(32), 1);
  EXPECT_EQ(touches(1000), 1);
  p.op_b = Op::transpose;
  EXPECT_EQ(touches(2000), 0) << "side by side";
  p = product(5000, 1, 2000, Op::transpose, Op::none);
  EXPECT_EQ(touches(5), 0) << "the wide operand lies across k";
  p = product(5000, 2, 2000, Op::none, Op::none);
  EXPECT_EQ(touches(5), 0) << "two columns";
}

TEST(ThinPlan, AVectorWithGapsTakesLonger) {
  Sgemm p = product(3778, 1, 11578, Op::none, Op::none);
  const auto plan = thin_plan(p, h200());
  p.ldb = 33;
  const double apart = predict_us(thin_plan(p, h200()), p, h200());
  EXPECT_GT(apart, predict_us(plan, p, h200()));
}

TEST(ThinPlan, PredictsTheWayThroughTheMemory) {
  const auto us = [](const Sgemm& p) { return predict_us(thin_plan(p, h200()), p, h200()); };
  const double large = us(product(1, 8192, 8192, Op::none, Op::none));
  EXPECT_GT(large, 8192.0 * 8192 * 4 / 4.9e6) << "no faster than the memory";
  EXPECT_LT(large, 70);
  const double small = us(product(1, 64, 64, Op::none, Op::none));
  EXPECT_GT(small, 1);
  EXPECT_LT(small, 6);
  EXPECT_GT(us(product(1, 1, 1, Op::none, Op::none)), 0);
}

}  // namespace
}  // namespace kw
