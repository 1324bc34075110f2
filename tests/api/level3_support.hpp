// What the tests of level 3 and of factorisations share.
#pragma once

#include <cstdint>
#include <vector>

#include "kernelwright/level3.hpp"
#include "support.hpp"

namespace kw::test {

// A matrix of rows x cols in a layout, with NaN in the padding, and beside a triangle where one is
// named.
struct LaidOut {
  std::int64_t rows, cols, ld;
  Layout layout;
  std::vector<float> values;

  LaidOut(std::int64_t r, std::int64_t c, Layout l, unsigned seed, float scale = 1)
      : rows(r), cols(c), ld((l == Layout::row_major ? c : r) + 3), layout(l) {
    const std::int64_t lines = layout == Layout::row_major ? rows : cols;
    const std::vector<float> random = random_floats(rows * cols, seed);
    values.assign(static_cast<std::size_t>(lines * ld), nan);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j)
        at(i, j) = scale * random[static_cast<std::size_t>(i * cols + j)];
  }
  std::size_t place(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(layout == Layout::row_major ? i * ld + j : i + j * ld);
  }
  float& at(std::int64_t i, std::int64_t j) { return values[place(i, j)]; }
  float at(std::int64_t i, std::int64_t j) const { return values[place(i, j)]; }
  void keep_triangle(Uplo uplo, bool with_diagonal = true) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j)
        if (i == j ? !with_diagonal : (uplo == Uplo::lower) != (j < i)) at(i, j) = nan;
  }
  template <class T>
  MatrixView<T> view(T* data, Op op = Op::none) const {
    return {data, rows, cols, ld, layout, op};
  }
};

}  // namespace kw::test
