// What the check of a complex product does to each component of an element, as elementwise.hpp does
// it to the elements of real ones.
#pragma once

#include <cstdint>

#include "check/elementwise.hpp"

namespace kw::check {

// The real products of op(A)'s and op(B)'s real and imaginary parts, before conjugates.
inline constexpr int real_real = 0, imag_imag = 1, real_imag = 2, imag_real = 3, complex_parts = 4;

struct ComplexParts {
  double re, im;
};

// Complex products put together from these, `step` elements each, one after the other. Of sizes
// conjugates do not count.
struct RealProducts {
  const double* of;
  std::int64_t step;
  bool conj_a, conj_b;

  KW_HOST_DEVICE ComplexParts at(std::int64_t at, bool sizes) const {
    const double a = conj_a && !sizes ? -1 : 1, b = conj_b && !sizes ? -1 : 1;
    const double minus = sizes ? 1 : -a * b;
    return {of[real_real * step + at] + minus * of[imag_imag * step + at],
            b * of[real_imag * step + at] + a * of[imag_real * step + at]};
  }
};

// Component `imaginary` of s z, or of |s| |z|; a scalar without one part is the other one alone.
KW_HOST_DEVICE inline double component_of_product(const double (&s)[2], const ComplexParts& z,
                                                  bool imaginary, bool sizes) {
  const double re = sizes ? fabs(s[0]) : s[0], im = sizes ? fabs(s[1]) : s[1];
  const double cross = imaginary ? im * z.re : (sizes ? im : -im) * z.im;
  const double straight = re * (imaginary ? z.im : z.re);
  return s[1] == 0 ? straight : s[0] == 0 ? cross : straight + cross;
}

// C against float64, real and imaginary parts each against their own sum of sizes. `products` and
// `magnitudes` have these parts one after the other, dense batch x m x n, in the order in which
// C lies in memory. C's elements are floats: 2 n of them a row, ldc and stride_c count them too.
struct JudgeCgemm {
  const float* c;
  std::int64_t m, n, ldc;
  const double* products;
  const double* magnitudes;
  bool conj_a, conj_b;
  double alpha[2], beta[2];
  InputStream c_before;  // not consulted when beta is 0
  double product_factor;
  std::int64_t batch, stride_c;
  Region region = {};  // of C, as floats
  // Imaginary parts on the diagonal are 0, exactly; or, where nothing need be written, anything.
  bool hermitian = false, diagonal_may_stay = false;

  KW_HOST_DEVICE std::int64_t size() const { return batch * m * 2 * n; }

  // Component `imaginary` of alpha times the product, or of the sizes.
  KW_HOST_DEVICE double product(std::int64_t at, bool imaginary, bool sizes) const {
    const RealProducts real{sizes ? magnitudes : products, batch * m * n, conj_a, conj_b};
    return component_of_product(alpha, real.at(at, sizes), imaginary, sizes);
  }
  // The same of beta times what was in C.
  KW_HOST_DEVICE double addend(std::int64_t at, bool imaginary, bool sizes) const {
    return component_of_product(beta, before(at, sizes), imaginary, sizes);
  }
  KW_HOST_DEVICE ComplexParts before(std::int64_t at, bool sizes) const {
    if (beta[0] == 0 && beta[1] == 0) return {0, 0};
    const double re = input_value(c_before, 2 * at), im = input_value(c_before, 2 * at + 1);
    return {sizes ? fabs(re) : re, sizes ? fabs(im) : im};
  }
  // `element` counts floats.
  KW_HOST_DEVICE double want(std::int64_t element) const {
    const std::int64_t at = element / 2;
    const bool imaginary = element % 2 != 0;
    return product(at, imaginary, false) + addend(at, imaginary, false);
  }
  KW_HOST_DEVICE void operator()(std::int64_t element, Partial& found) const {
    const std::int64_t at = element / 2, row = element / (2 * n), entry = row / m;
    const bool imaginary = element % 2 != 0;
    if (!region.has(row - entry * m, element % (2 * n))) return;
    const double got = c[entry * stride_c + (row - entry * m) * ldc + element % (2 * n)];
    if (hermitian && imaginary && row - entry * m == element % (2 * n) / 2) {
      if (!(got == 0 || diagonal_may_stay)) add_failure(found, element);
      return;
    }
    const double wanted = want(element);
    const double product_part = unit_roundoff * product(at, imaginary, true);
    const double addend_part = unit_roundoff * addend(at, imaginary, true);
    const double error = got - wanted, unit = product_part + addend_part;
    // Exact where no tolerance is given.
    const double tolerance =
        product_factor > 0 && unit > 0
            ? fma(product_factor, product_part, fma(5.0, addend_part, smallest_subnormal))
            : 0;
    add_error(found, error == 0 ? 0.0 : error / unit);
    if (!(fabs(error) <= tolerance)) add_failure(found, element);
  }
};

// A solution X of a complex system by its residual, each part of it against a sum of sizes, where
// |z| = |Re z| + |Im z|. `products` and `magnitudes` are of op(A) and X in the order in which they
// are multiplied, as JudgeCgemm has them, where alpha B is wanted.
struct JudgeComplexSolve {
  std::int64_t m, n;
  const double* products;
  const double* magnitudes;
  bool conj_left, conj_right;
  double alpha[2];
  InputStream b;
  double factor;       // the tolerance in u (|A| |X| + |alpha| |B|)
  std::int64_t first;  // of the entry in `b`, in complex elements

  KW_HOST_DEVICE std::int64_t size() const { return m * 2 * n; }
  KW_HOST_DEVICE void operator()(std::int64_t element, Partial& found) const {
    const std::int64_t at = element / 2, step = m * n;
    const bool imaginary = element % 2 != 0;
    const ComplexParts product = RealProducts{products, step, conj_left, conj_right}.at(at, false);
    const double got = imaginary ? product.im : product.re;
    double magnitude = 0;
    for (int part = 0; part < complex_parts; ++part) magnitude += magnitudes[part * step + at];
    const double re = input_value(b, 2 * (first + at)), im = input_value(b, 2 * (first + at) + 1);
    const double wanted = component_of_product(alpha, {re, im}, imaginary, false);
    const double unit =
        unit_roundoff * (magnitude + (fabs(alpha[0]) + fabs(alpha[1])) * (fabs(re) + fabs(im)));
    const double residual = got - wanted;
    add_error(found, residual == 0 ? 0.0 : residual / unit);
    if (!(fabs(residual) <= factor * unit)) add_failure(found, element);
  }
};

}  // namespace kw::check
