// What the checks do to each element of an array, as small function objects: a plain loop runs them
// on the CPU, a kernel of one template on a GPU. `size()` counts the elements, `operator()` does
// one.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "check/input.hpp"
#include "check/partial.hpp"

namespace kw::check {

constexpr double unit_roundoff = 1.0 / 16777216.0;  // u = 2^-24
constexpr double smallest_subnormal = 0x1p-149;

// A signalling NaN: arithmetic on it sets its quiet bit, so that even `0 * x + canary` written over
// it shows.
constexpr std::uint32_t canary_word = 0x7FA5A5A5u;

// Where a row-major matrix lies within an allocation of `total` words; or several of one shape,
// `stride` words apart, which is no less than one of them takes.
struct Placement {
  std::int64_t total = 0;
  std::int64_t offset = 0;  // of element (0, 0)
  std::int64_t rows = 0, cols = 0, ld = 0;
  std::int64_t entries = 1, stride = 0;

  // The index (entry * rows + row) * cols + col of a word of the allocation, or -1 outside of the
  // matrices.
  KW_HOST_DEVICE constexpr std::int64_t element_at(std::int64_t word) const {
    std::int64_t within = word - offset;
    if (within < 0 || rows == 0 || cols == 0 || entries == 0) return -1;
    std::int64_t entry = 0;
    if (entries > 1) {
      entry = within / stride < entries ? within / stride : entries - 1;
      within -= entry * stride;
    }
    const std::int64_t row = within / ld;
    const std::int64_t col = within - row * ld;
    return row < rows && col < cols ? (entry * rows + row) * cols + col : -1;
  }
};

// Every word of an allocation: the input's values within the matrix, or canaries there too where
// nothing may read it; canaries elsewhere.
struct FillMatrix {
  float* base;
  Placement place;
  InputStream values;
  bool inside_is_canary;

  KW_HOST_DEVICE std::int64_t size() const { return place.total; }
  KW_HOST_DEVICE void operator()(std::int64_t word) const {
    const std::int64_t element = inside_is_canary ? -1 : place.element_at(word);
    // Written as bits: a signalling NaN may not survive a move through a float register.
    reinterpret_cast<std::uint32_t*>(base)[word] =
        element < 0 ? canary_word : std::bit_cast<std::uint32_t>(input_value(values, element));
  }
};

// Fails for every word that is not as FillMatrix left it. The inside of an output is left out.
struct JudgeUnchanged {
  FillMatrix filled;
  bool skip_inside;

  KW_HOST_DEVICE std::int64_t size() const { return filled.place.total; }
  KW_HOST_DEVICE void operator()(std::int64_t word, Partial& found) const {
    const std::int64_t element = filled.place.element_at(word);
    if (element >= 0 && skip_inside) return;
    const std::uint32_t want =
        element < 0 || filled.inside_is_canary
            ? canary_word
            : std::bit_cast<std::uint32_t>(input_value(filled.values, element));
    if (reinterpret_cast<const std::uint32_t*>(filled.base)[word] != want) add_failure(found, word);
  }
};

// A quiet NaN, as arithmetic makes one; a canary that nobody overwrote is none.
KW_HOST_DEVICE inline bool is_computed_nan(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits & 0x7FC00000u) == 0x7FC00000u;
}

KW_HOST_DEVICE inline bool is_not_a_number(double value) { return value != value; }
KW_HOST_DEVICE inline bool is_infinite(double value) {
  return fabs(value) > 1.7976931348623157e308;  // false for NaN
}

// Half an ulp beyond the largest float: from here on a float is infinite.
constexpr double float_overflow = 0x1.ffffffp127;

// C against float64. `product` and `magnitude` are dense m x n: op(A) op(B) and |op(A)| |op(B)|. Of
// a batch one entry after the other, in the order in which C lies in memory.
struct JudgeSgemm {
  const float* c;
  std::int64_t m, n, ldc;
  const double* product;
  const double* magnitude;
  double alpha, beta;
  InputStream c_before;   // not consulted when beta is 0
  double product_factor;  // the tolerance in u |alpha| magnitude
  std::int64_t batch = 1, stride_c = 0;

  KW_HOST_DEVICE std::int64_t size() const { return batch * m * n; }

  KW_HOST_DEVICE double before(std::int64_t element) const {
    return beta == 0 ? 0.0 : static_cast<double>(input_value(c_before, element));
  }
  KW_HOST_DEVICE double want(std::int64_t element) const {
    return fma(alpha, product[element], beta * before(element));
  }
  KW_HOST_DEVICE void operator()(std::int64_t element, Partial& found) const {
    const std::int64_t row = element / n;  // of all entries
    const std::int64_t entry = row / m;
    const float stored = c[entry * stride_c + (row - entry * m) * ldc + element % n];
    const double got = stored;
    const double wanted = want(element);
    const double product_part = unit_roundoff * fabs(alpha) * magnitude[element];
    const double addend_part = unit_roundoff * fabs(beta * before(element));
    if (is_not_a_number(wanted) || is_infinite(wanted)) {
      judge_special(stored, wanted, element, found);
      return;
    }
    const double error = got - wanted;
    double tolerance = 0;
    if (product_part + addend_part > 0 && product_factor > 0) {
      tolerance = fma(product_factor, product_part, fma(3.0, addend_part, smallest_subnormal));
    }
    // What exceeds the largest float is infinite in a float.
    const bool overflows =
        is_infinite(got) && got * wanted > 0 && fabs(wanted) + tolerance >= float_overflow;
    const double unit = product_part + addend_part;
    add_error(found, error == 0 || overflows ? 0.0 : error / unit);
    if (!(fabs(error) <= tolerance || overflows)) add_failure(found, element);
  }

  // NaN wants a NaN, an infinity wants the same one. An infinite alpha makes of a product that is
  // zero within the tolerance either infinity or NaN.
  KW_HOST_DEVICE void judge_special(float got, double wanted, std::int64_t element,
                                    Partial& found) const {
    const bool is_open =
        is_infinite(alpha) &&
        fabs(product[element]) <= product_factor * unit_roundoff * magnitude[element];
    const bool got_nan = is_computed_nan(got);
    const bool is_right = is_not_a_number(wanted)
                              ? got_nan || (is_open && is_infinite(got))
                              : got == wanted || (is_open && (got_nan || is_infinite(got)));
    add_error(found, is_right ? 0.0 : __builtin_huge_val());
    if (!is_right) add_failure(found, element);
  }
};

// B against one fused multiply-add an element: the same bits on every device.
struct JudgeScaleAdd {
  const float* b;
  std::int64_t rows, cols, ldb;
  float scale, shift;
  InputStream a;  // not consulted when scale is 0

  KW_HOST_DEVICE std::int64_t size() const { return rows * cols; }

  KW_HOST_DEVICE float want(std::int64_t element) const {
    return scale == 0 ? shift : fmaf(scale, input_value(a, element), shift);
  }
  KW_HOST_DEVICE void operator()(std::int64_t element, Partial& found) const {
    const float got = b[element / cols * ldb + element % cols];
    const float expected = want(element);
    // Devices differ in a NaN's bits.
    const bool is_right = is_not_a_number(expected) ? is_computed_nan(got)
                                                    : std::bit_cast<std::uint32_t>(got) ==
                                                          std::bit_cast<std::uint32_t>(expected);
    const double error = static_cast<double>(got) - static_cast<double>(expected);
    add_error(found, is_right || error == 0
                         ? 0.0
                         : error / (unit_roundoff * fabs(static_cast<double>(expected))));
    if (!is_right) add_failure(found, element);
  }
};

}  // namespace kw::check
