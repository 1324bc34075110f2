// How cgemm_ragged cuts complex products: its parts are the product, each element of C is
// multiplied by beta once, and no sum is longer than one may be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "cgemm/ragged_plan.hpp"

#ifdef KW_HAVE_HOST_SIMT
#include "cgemm/kernels.hpp"
#include "select.hpp"
#include "support/h200.hpp"
#include "support/kernel_named.hpp"
#endif

namespace kw {
namespace {

Cgemm ragged_product(std::int64_t m, std::int64_t n, std::int64_t k, Op op_a, Op op_b) {
  Cgemm p;
  p.m = m, p.n = n, p.k = k, p.op_a = op_a, p.op_b = op_b;
  p.lda = (op_a == Op::none ? k : m) + 3;
  p.ldb = (op_b == Op::none ? n : k) + 1;
  p.ldc = n + 2;
  p.a = p.b = reinterpret_cast<const Complex*>(std::uintptr_t{256});
  p.c = reinterpret_cast<Complex*>(std::uintptr_t{256});
  p.beta = {2, 1};
  return p;
}

// Where a part begins.
struct Corner {
  std::int64_t row, col, k;
};
Corner corner_of(const Cgemm& part, const Cgemm& p) {
  const std::int64_t at = part.c - p.c, row = at / p.ldc, col = at % p.ldc;
  const std::int64_t of_a = part.a - p.a - (p.op_a == Op::none ? row * p.lda : row);
  const std::int64_t of_b = part.b - p.b - (p.op_b == Op::none ? col : col * p.ldb);
  const std::int64_t k = p.op_a == Op::none ? of_a : of_a / p.lda;
  EXPECT_EQ(of_a, p.op_a == Op::none ? k : k * p.lda);
  EXPECT_EQ(of_b, p.op_b == Op::none ? k * p.ldb : k);
  return {row, col, k};
}

TEST(ComplexRagged, ThePartsAreTheProduct) {
  int cuts = 0;
  for (const Op op_a : {Op::none, Op::transpose})
    for (const Op op_b : {Op::none, Op::transpose})
      for (const Cgemm& p :
           {ragged_product(130, 67, 40, op_a, op_b), ragged_product(65, 300, 4500, op_a, op_b),
            ragged_product(64, 64, 2049, op_a, op_b), ragged_product(33, 1, 7000, op_a, op_b)})
        each_complex_ragged_cut(p, [&](const ComplexRaggedCut& cut) {
          ++cuts;
          std::vector<std::int64_t> depth(static_cast<std::size_t>(p.m * p.n));  // so far
          std::int64_t parts = 0;
          const Status status = cut.each_part(p, [&](const Cgemm& part) {
            ++parts;
            const Corner at = corner_of(part, p);
            EXPECT_EQ(part.beta.re, at.k == 0 ? 2 : 1);
            EXPECT_EQ(part.beta.im, at.k == 0 ? 1 : 0);
            EXPECT_LE(at.row + part.m, p.m);
            EXPECT_LE(at.col + part.n, p.n);
            for (std::int64_t row = at.row; row < at.row + part.m; ++row)
              for (std::int64_t col = at.col; col < at.col + part.n; ++col) {
                std::int64_t& done = depth[static_cast<std::size_t>(row * p.n + col)];
                EXPECT_EQ(done, at.k);
                done += part.k;
              }
            return Status::success();
          });
          EXPECT_TRUE(status.ok());
          EXPECT_EQ(parts, cut.parts(p));
          EXPECT_EQ(std::count(depth.begin(), depth.end(), p.k), p.m * p.n);
        });
  EXPECT_GT(cuts, 0);
}

TEST(ComplexRagged, WhatTilesFitIsNotCut) {
  EXPECT_FALSE(is_ragged(ragged_product(128, 256, 2048, Op::none, Op::none)));
  EXPECT_TRUE(is_ragged(ragged_product(128, 256, 2049, Op::none, Op::none)));
  EXPECT_TRUE(is_ragged(ragged_product(129, 256, 32, Op::none, Op::none)));
  Cgemm batch = ragged_product(129, 256, 32, Op::none, Op::none);
  batch.batch = 2;
  EXPECT_FALSE(is_ragged(batch));
  Cgemm triangle = ragged_product(129, 129, 32, Op::none, Op::transpose);
  triangle.triangle = Triangle::lower;
  EXPECT_FALSE(is_ragged(triangle));
}

#ifdef KW_HAVE_HOST_SIMT
// The plan takes as long as its parts, and has workspace for each of them.
TEST(ComplexRagged, ThePlanIsThatOfItsParts) {
  const Kernel<Cgemm> kernel = test::kernel_named(on_host::cgemm_production(), "cgemm_ragged");
  const Cgemm p = ragged_product(660, 451, 6200, Op::none, Op::transpose);
  const auto plan = plan_for(kernel, p, test::h200());
  ASSERT_TRUE(plan && !plan->parts.empty());
  double us = -complex_ragged_tuning.part_us;
  for (const auto& part : plan->parts) {
    us += complex_ragged_tuning.part_us + part.plan.time_us;
    EXPECT_LE(part.plan.workspace_bytes, plan->workspace_bytes);
    EXPECT_LE(part.plan.needed_workspace_bytes(), plan->needed_workspace_bytes());
  }
  EXPECT_DOUBLE_EQ(plan->time_us, us);
  // Of a small product the cost is so high that it is not chosen, but it can be computed.
  const Cgemm small = ragged_product(130, 67, 40, Op::none, Op::none);
  const auto candidate = candidate_plan(kernel, small, test::h200());
  ASSERT_TRUE(candidate);
  EXPECT_EQ(candidate->cost, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(plan_for(kernel, small, test::h200())->parts.empty());
}
#endif

}  // namespace
}  // namespace kw
