// Complex scalars times complex elements, by the rules that all kernels of cgemm share: a scalar
// without an imaginary part, or without a real one, multiplies as the real number that it has, so
// that no 0 * Inf makes a NaN where there is none.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "cgemm/problem.hpp"

namespace kw {

KW_HOST_DEVICE inline Complex times(const Complex& s, const Complex& z) {
  if (s.im == 0) return {s.re * z.re, s.re * z.im};
  if (s.re == 0) return {-s.im * z.im, s.im * z.re};
  return {fmaf(s.re, z.re, -s.im * z.im), fmaf(s.re, z.im, s.im * z.re)};
}
KW_HOST_DEVICE constexpr Complex conjugate(const Complex& z, bool does) {
  return {z.re, does ? -z.im : z.im};
}

// alpha as the factor of a real product times a number that can be multiplied into an operand: that
// number is 1 or i where alpha is real or imaginary; else its larger part is at least 1 and less
// than 2, and the factor a power of two, so that nothing overflows or underflows that alpha times
// the sum would not. Both are exact: where the parts are more than 2^126 apart, the factor is
// smaller.
struct SplitScalar {
  Complex unit;
  float factor;
};

KW_HOST_DEVICE inline SplitScalar split_scalar(const Complex& alpha) {
  if (alpha.im == 0) return {{1, 0}, alpha.re};
  if (alpha.re == 0) return {{0, 1}, alpha.im};
  const float re = fabsf(alpha.re), im = fabsf(alpha.im);
  constexpr std::uint32_t exponent = 0x7F800000u, one = 0x00800000u;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(re > im ? re : im) & exponent;
  if (bits == exponent || re != re || im != im) return {alpha, 1};
  const std::uint32_t most =
      (std::bit_cast<std::uint32_t>(re > im ? im : re) & exponent) + 126 * one;
  if (bits > most) bits = most;
  if (bits < one) bits = one;
  if (bits > 253 * one) bits = 253 * one;
  const float inverse = std::bit_cast<float>(254 * one - bits);
  return {{alpha.re * inverse, alpha.im * inverse}, std::bit_cast<float>(bits)};
}

// beta as the real product's own, where it is real; else C is multiplied by it before, and the
// product adds to that.
KW_HOST_DEVICE constexpr float beta_of_product(const Complex& beta) {
  return beta.im == 0 ? beta.re : 1.0f;
}

}  // namespace kw
