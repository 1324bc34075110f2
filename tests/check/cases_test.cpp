// What products are checked on and how closely: the generated cases and the tolerances.
#include "check/cases.hpp"

#include <gtest/gtest.h>

#include <set>

#include "check/tolerance.hpp"

namespace kw::check {
namespace {

TEST(Tolerance, FollowsItsFormulas) {
  EXPECT_EQ(product_tolerance(Input::uniform, 10), 12);
  EXPECT_EQ(product_tolerance(Input::uniform, 1024), 32);
  EXPECT_EQ(product_tolerance(Input::normal, 16384), 32);
  EXPECT_EQ(product_tolerance(Input::unit, 4), 6);
  EXPECT_EQ(product_tolerance(Input::unit, 1024), 132);
  EXPECT_EQ(product_tolerance(Input::constant, 1024), 1026);
  EXPECT_EQ(product_tolerance(Input::uniform, 0), 2);
}

TEST(Tolerance, KnowsWhenIntegersAreExact) {
  EXPECT_TRUE(is_exact(Input::integers, 1024, -1.5f, 1));
  EXPECT_FALSE(is_exact(Input::uniform, 1, 1, 0));
  EXPECT_FALSE(is_exact(Input::integers, 1024, 0.3f, 0));
  EXPECT_FALSE(is_exact(Input::integers, 1 << 20, 1, 0));
}

TEST(Cases, EveryChoiceMeetsEveryOther) {
  const std::vector<SgemmCase> cases = sgemm_edge_cases();
  std::set<std::pair<float, float>> scalars;
  std::set<std::pair<std::int64_t, std::int64_t>> pads_ab, pads_bc;
  std::set<std::int64_t> ms, ns, ks;
  for (const SgemmCase& c : cases) {
    EXPECT_EQ(c.op_a, Op::none);
    EXPECT_EQ(c.op_b, Op::none);
    scalars.insert({c.alpha, c.beta});
    pads_ab.insert({c.lda_pad, c.ldb_pad});
    pads_bc.insert({c.ldb_pad, c.ldc_pad});
    ms.insert(c.m);
    ns.insert(c.n);
    ks.insert(c.k);
  }
  EXPECT_EQ(scalars.size(), 9u);
  EXPECT_EQ(pads_ab.size(), 9u);
  EXPECT_EQ(pads_bc.size(), 9u);
  for (const std::int64_t size :
       {0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130, 192, 255, 257}) {
    EXPECT_TRUE(ms.contains(size)) << size;
    EXPECT_TRUE(ns.contains(size)) << size;
    EXPECT_TRUE(ks.contains(size)) << size;
  }
  std::set<std::pair<Op, Op>> ops;
  for (const SgemmCase& c : sgemm_transpose_cases()) ops.insert({c.op_a, c.op_b});
  EXPECT_EQ(ops.size(), 3u);
}

}  // namespace
}  // namespace kw::check
