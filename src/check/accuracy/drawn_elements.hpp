// What the accuracy fuzzer does to each element of an array, on the device that has it: operands of
// a distribution, the product that its rule compares with, and errors of results.
#pragma once

#include <cmath>
#include <cstdint>

#include "check/accuracy/distribution.hpp"
#include "check/elementwise.hpp"
#include "check/partial.hpp"

namespace kw::check {

// A row-major operand without padding: A is m x k, B is k x n.
struct FillDrawn {
  float* to;
  std::int64_t rows, cols;
  Distribution from;
  Operand operand;
  std::uint64_t seed;

  KW_HOST_DEVICE std::int64_t size() const { return rows * cols; }
  KW_HOST_DEVICE void operator()(std::int64_t at) const {
    const std::int64_t row = at / cols, col = at - row * cols;
    to[at] = operand == Operand::a ? drawn_value(from, {seed, operand, row, col, cols})
                                   : drawn_value(from, {seed, operand, col, row, rows});
  }
};

// Plain FP32 with one sum an element: k fused multiply-adds, one after the other.
struct OneSum {
  const float *a, *b;  // m x k, k x n
  float* c;
  std::int64_t m, n, k;

  KW_HOST_DEVICE std::int64_t size() const { return m * n; }
  KW_HOST_DEVICE void operator()(std::int64_t at) const {
    const std::int64_t row = at / n, col = at - row * n;
    float sum = 0;
    for (std::int64_t p = 0; p < k; ++p) sum = fmaf(a[row * k + p], b[p * n + col], sum);
    c[at] = sum;
  }
};

// Errors of C = A B in u |A||B|, as add_element (error.hpp) has them, where float64's result is
// finite in a float.
struct JudgeDrawn {
  const float* c;
  const double *product, *magnitude;
  std::int64_t count;

  KW_HOST_DEVICE std::int64_t size() const { return count; }
  KW_HOST_DEVICE void operator()(std::int64_t at, Partial& found) const {
    const double want = product[at], got = c[at];
    if (!(fabs(want) < float_overflow)) return;
    if (!(fabs(got) < float_overflow)) return add_failure(found, at);
    const double error = got - want;
    const bool counts = fabs(error) > smallest_subnormal;
    add_error(found, counts ? error / (unit_roundoff * magnitude[at]) : 0.0);
  }
};

}  // namespace kw::check
