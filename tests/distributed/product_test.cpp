// Distributed products over threads with the CPU backend: against float64, and bit for bit against
// one context that adds up in the same order.
#include <thread>

#include "distributed/one_order.hpp"

namespace kw {
namespace {

using test::Dealing;
using test::DistributedProblem;

// Element (i, p) of op(X).
float element(Dealing& x, Op op, std::int64_t i, std::int64_t p) {
  return op == Op::none ? x.at(i, p) : x.at(p, i);
}

void expect_near_float64(DistributedProblem& p, const std::vector<float>& found) {
  const std::int64_t k = p.product().k();
  for (std::int64_t i = 0; i < p.c.d.rows; ++i) {
    for (std::int64_t j = 0; j < p.c.d.cols; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t t = 0; t < k; ++t) {
        const double term = static_cast<double>(element(p.a, p.op_a, i, t)) *
                            static_cast<double>(element(p.b, p.op_b, t, j));
        sum += term;
        magnitude += std::fabs(term);
      }
      const double old = p.beta == 0 ? 0 : static_cast<double>(p.beta) * p.c.at(i, j);
      const double want = static_cast<double>(p.alpha) * sum + old;
      const double bound = (static_cast<double>(k) + 4) * 0x1p-24 *
                           (std::fabs(static_cast<double>(p.alpha)) * magnitude + std::fabs(old));
      const double got = found[static_cast<std::size_t>(i * p.c.d.cols + j)];
      ASSERT_TRUE(std::fabs(got - want) <= bound + 1e-30) << i << ", " << j << ": " << got;
    }
  }
}

void check(DistributedProblem p) {
  SCOPED_TRACE(testing::Message() << "grid " << p.grid.p << " x " << p.grid.q);
  Group group = Group::cpu(p.grid);
  p.deal();
  p.multiply(group);
  for (int rank = 0; rank < p.grid.ranks(); ++rank) group.synchronize(rank);
  const std::vector<float> found = p.c.collected(p.grid);
  expect_near_float64(p, found);
  const std::vector<float> want = test::in_the_same_order(p);
  EXPECT_EQ(std::memcmp(found.data(), want.data(), found.size() * sizeof(float)), 0)
      << "other bits than one rank's same order";
}

constexpr Grid grids[] = {{1, 1}, {1, 2}, {2, 1}, {3, 1}, {2, 2}, {3, 2}, {1, 6}, {4, 2}};

TEST(SgemmDistributed, BlocksOfOddSizes) {
  for (const Grid& grid : grids) {
    check({grid,
           {block_distribution(67, 101, grid), Layout::row_major, 1},
           {block_distribution(101, 53, grid), Layout::row_major, 2},
           {block_distribution(67, 53, grid), Layout::row_major, 3},
           Op::none,
           Op::none,
           1.0f,
           0.0f,
           {Math::fp32, 16}});
  }
}

TEST(SgemmDistributed, BlockCyclicTransposedInBothLayouts) {
  for (const Grid& grid : grids) {
    const int last_row = grid.p - 1, last_col = grid.q - 1;
    for (Layout layout : {Layout::row_major, Layout::col_major}) {
      check({grid,
             {{83, 45, 7, 5, last_row, 0}, layout, 4},
             {{39, 83, 6, 9, 0, last_col}, Layout::row_major, 5},
             {{45, 39, 5, 4, last_row, last_col}, layout, 6},
             Op::transpose,
             Op::transpose,
             -1.5f,
             0.75f,
             {Math::fp32_split, 11}});
    }
  }
}

// The descriptors of PDGEMM's operands, as DESCINIT makes them, on eight ranks.
TEST(SgemmDistributed, ScalapackDescriptors) {
  const Grid grid{2, 4};
  DistributedProblem p{grid,
                       {{37, 61, 8, 5, 1, 3}, Layout::col_major, 10},
                       {{61, 29, 5, 4, 0, 2}, Layout::col_major, 11},
                       {{37, 29, 8, 4, 1, 0}, Layout::col_major, 12},
                       Op::none,
                       Op::none,
                       1.25f,
                       -0.5f,
                       {Math::fp32, 7}};
  Group group = Group::cpu(grid);
  p.deal();
  std::vector<DistributedMatrix<const float>> as, bs;
  std::vector<DistributedMatrix<float>> cs;
  for (std::size_t rank = 0; rank < 8; ++rank) {
    const int lld[] = {static_cast<int>(p.a.lds[rank]), static_cast<int>(p.b.lds[rank]),
                       static_cast<int>(p.c.lds[rank])};
    const int of_a[9] = {1, 0, 37, 61, 8, 5, 1, 3, lld[0]};
    const int of_b[9] = {1, 0, 61, 29, 5, 4, 0, 2, lld[1]};
    const int of_c[9] = {1, 0, 37, 29, 8, 4, 1, 0, lld[2]};
    as.push_back(scalapack_matrix<const float>(of_a, p.a.parts[rank].data()));
    bs.push_back(scalapack_matrix<const float>(of_b, p.b.parts[rank].data()));
    cs.push_back(scalapack_matrix(of_c, p.c.parts[rank].data()));
    EXPECT_GE(cs.back().ld, local_rows(cs.back().whole, grid, static_cast<int>(rank)));
  }
  sgemm_distributed(group, p.alpha, as, bs, p.beta, cs, p.options);
  expect_near_float64(p, p.c.collected(grid));
  try {
    (void)scalapack_distribution({501, 0, 37, 61, 8, 5, 1, 3, 40});
    ADD_FAILURE() << "no error of a band matrix";
  } catch (const Error& error) {
    EXPECT_EQ(error.argument(), "descriptor");
    EXPECT_TRUE(std::string(error.what()).find("is 501") != std::string::npos) << error.what();
  }
}

TEST(SgemmDistributed, DefaultPanels) {
  const Grid grid{2, 2};
  DistributedProblem p{grid,
                       {{40, 60, 8, 8, 0, 0}, Layout::col_major, 7},
                       {{60, 50, 8, 8, 1, 1}, Layout::col_major, 8},
                       {{40, 50, 8, 8, 0, 1}, Layout::row_major, 9},
                       Op::none,
                       Op::none,
                       2.0f,
                       1.0f,
                       {}};
  Group group = Group::cpu(grid);
  p.deal();
  p.multiply(group);
  expect_near_float64(p, p.c.collected(grid));
}

TEST(SgemmDistributed, NothingToAddUpScalesC) {
  const Grid grid{2, 2};
  for (float alpha : {0.0f, 1.0f}) {
    const std::int64_t k = alpha == 0 ? 20 : 0;
    DistributedProblem p{grid,
                         {block_distribution(10, k, grid), Layout::row_major, 1},
                         {block_distribution(k, 6, grid), Layout::row_major, 2},
                         {block_distribution(10, 6, grid), Layout::row_major, 3},
                         Op::none,
                         Op::none,
                         alpha,
                         3.0f,
                         {}};
    Group group = Group::cpu(grid);
    p.deal();
    p.multiply(group);
    const std::vector<float> found = p.c.collected(grid);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], 3.0f * p.c.whole[i]);
  }
}

TEST(SgemmDistributed, RanksWithoutElementsTakePart) {
  const Grid grid{4, 2};
  check({grid,
         {block_distribution(3, 9, grid), Layout::row_major, 1},
         {block_distribution(9, 1, grid), Layout::row_major, 2},
         {block_distribution(3, 1, grid), Layout::row_major, 3},
         Op::none,
         Op::none,
         1.0f,
         0.0f,
         {Math::fp32, 4}});
}

TEST(SgemmDistributed, SecondCallWithLargerPanelsUsesTheSameGroup) {
  const Grid grid{2, 1};
  Group group = Group::cpu(grid);
  for (std::int64_t n : {20, 50, 30}) {
    DistributedProblem p{grid,
                         {block_distribution(n, n, grid), Layout::row_major, 1},
                         {block_distribution(n, n, grid), Layout::row_major, 2},
                         {block_distribution(n, n, grid), Layout::row_major, 3},
                         Op::none,
                         Op::none,
                         1.0f,
                         0.5f,
                         {}};
    p.deal();
    p.multiply(group);
    expect_near_float64(p, p.c.collected(grid));
  }
}

}  // namespace
}  // namespace kw
