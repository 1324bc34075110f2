// What the checks of level 3 do to each element, beside elementwise.hpp.
#pragma once

#include "check/elementwise.hpp"

namespace kw::check {

// What lies beside a region of a matrix: its mirror image, or zeros and ones on the diagonal.
enum class Beside { mirrored, zeros };

// A matrix as a whole: to[row][col] = from[row][col] in its region, and beside it what is meant.
struct CopyWhole {
  float* to;
  std::int64_t rows, cols, to_ld;
  const float* from;
  std::int64_t row_step, col_step;
  Region region = {};
  Beside beside = Beside::zeros;
  float on_diagonal = 1;  // where the region is without it

  KW_HOST_DEVICE std::int64_t size() const { return rows * cols; }
  KW_HOST_DEVICE void operator()(std::int64_t element) const {
    const std::int64_t row = element / cols, col = element - row * cols;
    float x = row == col ? on_diagonal : 0.0f;
    if (region.has(row, col))
      x = from[row * row_step + col * col_step];
    else if (beside == Beside::mirrored)
      x = from[col * row_step + row * col_step];
    to[row * to_ld + col] = x;
  }
};

// A solution X by its residual: `product` and `magnitude` are A X and |A| |X|, dense m x n, where
// alpha B is wanted.
struct JudgeSolve {
  std::int64_t m, n;
  const double* product;
  const double* magnitude;
  double alpha;
  InputStream b;
  double factor;           // the tolerance in u (|A| |X| + |alpha B|)
  std::int64_t first = 0;  // of the entry in `b`

  KW_HOST_DEVICE std::int64_t size() const { return m * n; }
  KW_HOST_DEVICE double want(std::int64_t element) const {
    return alpha == 0 ? 0.0 : alpha * static_cast<double>(input_value(b, first + element));
  }
  KW_HOST_DEVICE void operator()(std::int64_t element, Partial& found) const {
    const double wanted = want(element), residual = product[element] - wanted;
    const double unit = unit_roundoff * (magnitude[element] + fabs(wanted));
    add_error(found, residual == 0 ? 0.0 : residual / unit);
    if (!(fabs(residual) <= factor * unit)) add_failure(found, element);
  }
};

// A factor L by L L^T, whose elements and those of |L| |L|^T are `product` and `magnitude`, where
// `filled` says what the symmetric matrix was.
struct JudgeFactor {
  FillMatrix filled;
  std::int64_t n;
  const double* product;
  const double* magnitude;
  double factor;  // the tolerance in u |L| |L|^T

  KW_HOST_DEVICE std::int64_t size() const { return n * n; }
  KW_HOST_DEVICE void operator()(std::int64_t element, Partial& found) const {
    const std::int64_t row = element / n;
    if (!filled.region.has(row, element - row * n)) return;
    const double residual = product[element] - static_cast<double>(filled.value(element));
    const double unit = unit_roundoff * magnitude[element];
    add_error(found, residual == 0 ? 0.0 : residual / unit);
    if (!(fabs(residual) <= factor * unit)) add_failure(found, element);
  }
};

}  // namespace kw::check
