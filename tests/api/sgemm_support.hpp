// What the tests of kw::sgemm and kw::sgemm_batched share: matrices with canaries between their
// lines, and the comparison of a product with float64.
#pragma once

#include <cmath>

#include "kernelwright/sgemm.hpp"
#include "support.hpp"

namespace kw::test {

struct Shape {
  std::int64_t m, n, k;
};
struct Scalars {
  float alpha, beta;
};

// A matrix of a product with canaries (NaN) in the gaps between its lines.
struct Stored {
  MatrixView<float> view;
  std::vector<float> values;

  std::size_t index(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(view.layout == Layout::row_major ? i * view.ld + j
                                                                     : i + j * view.ld);
  }
  double op_at(std::int64_t i, std::int64_t j) const {
    return view.op == Op::none ? values[index(i, j)] : values[index(j, i)];
  }
};

inline Stored make_stored(std::int64_t op_rows, std::int64_t op_cols, Layout layout, Op op,
                          std::int64_t pad, unsigned seed) {
  Stored stored;
  stored.view.layout = layout;
  stored.view.op = op;
  stored.view.rows = op == Op::none ? op_rows : op_cols;
  stored.view.cols = op == Op::none ? op_cols : op_rows;
  const bool by_rows = layout == Layout::row_major;
  const std::int64_t lines = by_rows ? stored.view.rows : stored.view.cols;
  const std::int64_t width = by_rows ? stored.view.cols : stored.view.rows;
  stored.view.ld = width + pad;
  const std::vector<float> random = random_floats(lines * width, seed);
  stored.values.assign(static_cast<std::size_t>(lines * stored.view.ld), nan);
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      stored.values[static_cast<std::size_t>(i * stored.view.ld + j)] =
          random[static_cast<std::size_t>(i * width + j)];
    }
  }
  return stored;
}

// Compares every element with float64 within the bound of a product in any order of sums, and the
// gaps of C bit for bit.
inline void expect_product(const Stored& a, const Stored& b, const Stored& before,
                           const std::vector<float>& after, Scalars s) {
  const double u = std::ldexp(1.0, -24);
  const std::int64_t k = a.view.op_cols();
  std::vector<bool> in_matrix(after.size(), false);
  for (std::int64_t i = 0; i < before.view.rows; ++i) {
    for (std::int64_t j = 0; j < before.view.cols; ++j) {
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t l = 0; l < (s.alpha == 0 ? 0 : k); ++l) {
        sum += a.op_at(i, l) * b.op_at(l, j);
        magnitude += std::abs(a.op_at(i, l) * b.op_at(l, j));
      }
      const std::size_t at = before.index(i, j);
      in_matrix[at] = true;
      const double old = s.beta == 0 ? 0.0 : static_cast<double>(before.values[at]);
      const double want = s.alpha * sum + s.beta * old;
      const double tolerance = static_cast<double>(k + 2) * u * std::abs(s.alpha) * magnitude +
                               3 * u * std::abs(s.beta * old) +
                               std::numeric_limits<float>::denorm_min();
      ASSERT_LE(std::abs(after[at] - want), tolerance) << "at (" << i << ", " << j << ")";
    }
  }
  for (std::size_t at = 0; at < after.size(); ++at) {
    if (in_matrix[at]) continue;
    ASSERT_EQ(std::memcmp(&after[at], &before.values[at], sizeof(float)), 0)
        << "a gap of C was written at word " << at;
  }
}

}  // namespace kw::test
