// What the checks do to each element of an array, as small function objects: a plain loop runs them
// on the CPU, a kernel of one template on a GPU. `size()` counts the elements, `operator()` does
// one.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "check/input.hpp"
#include "check/partial.hpp"
#include "kernelwright/epilogue.hpp"
#include "sgemm/problem.hpp"

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

// Which elements of a matrix a call may read or write.
struct Region {
  Triangle triangle = Triangle::none;  // none: all
  bool without_diagonal = false;
  int column_shift = 0;  // 1: columns are the parts of complex elements

  KW_HOST_DEVICE constexpr bool has(std::int64_t row, std::int64_t col) const {
    col >>= column_shift;
    if (row == col) return !without_diagonal;
    return triangle == Triangle::none || (triangle == Triangle::lower ? col < row : row < col);
  }
};

// What makes a triangle, or a symmetric matrix, hard. `graded`: its rows become smaller by 2^24
// from the first to the last, and its columns likewise; of a triangle the columns become larger, so
// that the products of a row are of all sizes. `ill`: each block of 32 on the diagonal has a
// condition of some 10^8, by which unknowns grow.
enum class Condition { good, graded, ill };

// Every word of an allocation: the input's values within the matrix, or canaries there too where
// nothing may read it; canaries elsewhere, and beside the matrix's region.
struct FillMatrix {
  float* base;
  Placement place;
  InputStream values;
  bool inside_is_canary;
  Region region = {};
  // Of a triangle that is to be solved: so large are the elements beside the diagonal, and those on
  // it lie about 1, or are 1 where the others are next to nothing.
  float beside_diagonal = 0;  // 0: as they come
  Condition condition = Condition::good;
  bool is_symmetric = false;

  // The size of a row or column of a graded matrix.
  KW_HOST_DEVICE float grade(std::int64_t line, bool falls) const {
    const float most = static_cast<float>(place.rows > 1 ? place.rows - 1 : 1);
    const float steps = rintf(24 * static_cast<float>(line) / most);
    return exp2f(falls ? -steps : steps);
  }
  // Of a complex element its two parts; `imaginary` ones do not let unknowns grow.
  KW_HOST_DEVICE float conditioned(std::int64_t row, std::int64_t col, float x,
                                   bool imaginary) const {
    if (condition == Condition::graded) return x * grade(row, true) * grade(col, is_symmetric);
    constexpr std::int64_t block = 32;
    constexpr float growth = -0.8f, between = 0x1p-30f;
    if (condition == Condition::good || row == col) return x;
    return row / block == col / block && !imaginary ? growth : between * x;
  }
  KW_HOST_DEVICE bool is_of_region(std::int64_t element) const {
    const std::int64_t row = element / place.cols;
    return region.has(row % place.rows, element - row * place.cols);
  }
  KW_HOST_DEVICE float value(std::int64_t element) const {
    const float x = input_value(values, element);
    if (beside_diagonal == 0) return x;
    const std::int64_t row = element / place.cols % place.rows, part = element % place.cols,
                       col = part >> region.column_shift;
    const bool imaginary = part != col << region.column_shift;
    if (row != col) return conditioned(row, col, beside_diagonal * x, imaginary);
    const float about_0 = x / (1 + fabsf(x)), about_1 = 1.0f + 0.25f * about_0;
    const float exact = imaginary ? 0.0f : 1.0f, near = imaginary ? about_0 : about_1;
    return conditioned(row, col, beside_diagonal < 0x1p-16f ? exact : near, imaginary);
  }
  KW_HOST_DEVICE std::uint32_t word_of(std::int64_t element) const {
    return element < 0 || inside_is_canary || !is_of_region(element)
               ? canary_word
               : std::bit_cast<std::uint32_t>(value(element));
  }

  KW_HOST_DEVICE std::int64_t size() const { return place.total; }
  KW_HOST_DEVICE void operator()(std::int64_t word) const {
    // Written as bits: a signalling NaN may not survive a move through a float register.
    reinterpret_cast<std::uint32_t*>(base)[word] = word_of(place.element_at(word));
  }
};

// Fails for every word that is not as FillMatrix left it. The inside of an output is left out.
struct JudgeUnchanged {
  FillMatrix filled;
  bool skip_inside;

  KW_HOST_DEVICE std::int64_t size() const { return filled.place.total; }
  KW_HOST_DEVICE void operator()(std::int64_t word, Partial& found) const {
    const std::int64_t element = filled.place.element_at(word);
    if (element >= 0 && skip_inside && filled.is_of_region(element)) return;
    if (reinterpret_cast<const std::uint32_t*>(filled.base)[word] != filled.word_of(element))
      add_failure(found, word);
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

// An activation in float64, by the formulas of kernelwright/epilogue.hpp.
KW_HOST_DEVICE inline double activated(Activation activation, double x) {
  constexpr double sqrt_half = 0.70710678118654752440, sqrt_2_over_pi = 0.79788456080286535588;
  switch (activation) {
    case Activation::none: break;
    case Activation::relu: return x < 0 ? 0 : x;
    case Activation::gelu_tanh:
      return x / (1 + exp(-2 * sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
    case Activation::gelu_erf: return 0.5 * x * (1 + erf(sqrt_half * x));
  }
  return x;
}

// What a product does with its elements, as a judge needs to know it.
struct JudgeEpilogue {
  Activation activation = Activation::none;
  bool has_bias = false, of_rows = false, is_shared = false;  // by the entries of a batch
  bool is_descending = false;  // the bias of the first entry belongs to the last one in memory
  bool rounds_more = false;    // any epilogue: two more roundings than a product has
  InputStream bias = {};

  KW_HOST_DEVICE bool is_smooth() const {
    return activation == Activation::gelu_tanh || activation == Activation::gelu_erf;
  }
};

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
  JudgeEpilogue epilogue = {};
  Region region = {};  // of C

  KW_HOST_DEVICE std::int64_t size() const { return batch * m * n; }

  KW_HOST_DEVICE double before(std::int64_t element) const {
    return beta == 0 ? 0.0 : static_cast<double>(input_value(c_before, element));
  }
  KW_HOST_DEVICE double bias(std::int64_t element) const {
    if (!epilogue.has_bias) return 0;
    const std::int64_t row = element / n, in_memory = row / m;
    const std::int64_t entry = epilogue.is_shared       ? 0
                               : epilogue.is_descending ? batch - 1 - in_memory
                                                        : in_memory;
    const std::int64_t at =
        epilogue.of_rows ? entry * m + row - in_memory * m : entry * n + element % n;
    return static_cast<double>(input_value(epilogue.bias, at));
  }
  // What is added to alpha times the product of an element, and what comes of it.
  struct Addends {
    double of_c, bias;
  };
  KW_HOST_DEVICE Addends addends(std::int64_t element) const {
    return {beta * before(element), bias(element)};
  }
  // Before the activation.
  KW_HOST_DEVICE double sum(double its_product, const Addends& added) const {
    return fma(alpha, its_product, added.of_c) + added.bias;
  }
  KW_HOST_DEVICE double want(double its_product, const Addends& added) const {
    return activated(epilogue.activation, sum(its_product, added));
  }
  KW_HOST_DEVICE void operator()(std::int64_t element, Partial& found) const {
    const std::int64_t row = element / n;  // of all entries
    const std::int64_t entry = row / m;
    if (!region.has(row - entry * m, element % n)) return;
    const float stored = c[entry * stride_c + (row - entry * m) * ldc + element % n];
    const double got = stored;
    const Addends added = addends(element);
    const double before_activation = sum(product[element], added);
    const double wanted = activated(epilogue.activation, before_activation);
    const double product_part = unit_roundoff * fabs(alpha) * magnitude[element];
    const double addend_part = unit_roundoff * (fabs(added.of_c) + fabs(added.bias));
    if (is_not_a_number(wanted) || is_infinite(wanted)) {
      judge_special(stored, wanted, element, found);
      return;
    }
    const double error = got - wanted;
    double tolerance = 0;
    if (product_part + addend_part > 0 && product_factor > 0) {
      tolerance = fma(product_factor, product_part, fma(3.0, addend_part, smallest_subnormal));
      if (epilogue.rounds_more) tolerance += 2 * (product_part + addend_part);
      // Nowhere steeper than 1.2; its own error is 2^-21 of what it is applied to.
      if (epilogue.is_smooth())
        tolerance = 1.2 * tolerance + 8 * unit_roundoff * fabs(before_activation);
    }
    // What exceeds the largest float is infinite in a float, and a GELU of minus infinity is NaN.
    const bool becomes_nan = epilogue.is_smooth() && is_computed_nan(stored) &&
                             tolerance - before_activation >= float_overflow;
    const bool overflows = becomes_nan || (is_infinite(got) && got * wanted > 0 &&
                                           fabs(wanted) + tolerance >= float_overflow);
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
