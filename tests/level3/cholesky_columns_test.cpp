// A factorisation column after column, its steps computed one element after the other: no product
// sums over more columns than it may, and the factors multiply to the matrix.
#include "level3/cholesky_columns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace kw::level3 {
namespace {

struct Step {
  double* data;
  const float* base;
  double& at(const float* element) const { return data[element - base]; }
};

void factor_panel(const Step& step, const CholeskyPanel& p) {
  const auto at = [&](std::int64_t row, std::int64_t col) -> double& {
    return step.at(p.a + row * p.row_step + col * p.col_step);
  };
  for (std::int64_t col = 0; col < p.size; ++col) {
    at(col, col) = std::sqrt(at(col, col));
    for (std::int64_t row = col + 1; row < p.size + p.below; ++row) at(row, col) /= at(col, col);
    for (std::int64_t next = col + 1; next < p.size; ++next)
      for (std::int64_t row = next; row < p.size + p.below; ++row)
        at(row, next) -= at(row, col) * at(next, col);
  }
}

// Of a product with a triangle, no element of the other.
void multiply(const Step& step, const Sgemm& p) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      if (p.triangle == Triangle::lower ? i < j : p.triangle == Triangle::upper && i > j) continue;
      double sum = 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        const bool by_rows = p.op_a == Op::none;
        sum += step.at(p.a + (by_rows ? i * p.lda + k : k * p.lda + i)) *
               step.at(p.b + (by_rows ? j * p.ldb + k : k * p.ldb + j));
      }
      double& c = step.at(p.c + i * p.ldc + j);
      c = static_cast<double>(p.beta) * c + static_cast<double>(p.alpha) * sum;
    }
  }
}

TEST(CholeskyColumns, SumsOverNoMoreColumnsThanItMay) {
  constexpr std::int64_t n = 75, ld = 77, columns = 8;
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
    for (const std::int64_t most_k : {columns, 2 * columns, any}) {
      std::mt19937 random(1);
      std::uniform_real_distribution<double> uniform(0, 1);
      std::vector<double> matrix(n * ld, 0);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
          const double value = uniform(random) + (i == j ? n : 0);
          matrix[static_cast<std::size_t>(i * ld + j)] = value;
          matrix[static_cast<std::size_t>(j * ld + i)] = value;
        }
      }
      std::vector<double> factored = matrix;
      std::vector<float> places(n * ld);
      Level3 p;
      p.routine = Routine::potrf;
      p.triangle = triangle;
      p.m = p.n = n;
      p.c = places.data();
      p.ldc = ld;
      const Step step{factored.data(), places.data()};
      std::int64_t longest = 0;
      const auto panel = [&](const CholeskyPanel& of) {
        factor_panel(step, of);
        return Status::success();
      };
      const auto update = [&](const Sgemm& of) {
        longest = std::max(longest, of.k);
        multiply(step, of);
        return Status::success();
      };
      ASSERT_TRUE(CholeskyColumns(p, columns, most_k).each_step(panel, update).ok());
      EXPECT_EQ(longest, most_k == any ? 64 : most_k);
      const auto l = [&](std::int64_t row, std::int64_t col) {
        const bool lower = triangle == Triangle::lower;
        return factored[static_cast<std::size_t>(lower ? row * ld + col : col * ld + row)];
      };
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k <= j; ++k) sum += l(i, k) * l(j, k);
          EXPECT_NEAR(sum, matrix[static_cast<std::size_t>(i * ld + j)], 1e-12 * n);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kw::level3
