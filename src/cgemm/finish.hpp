// What becomes of a sum on its way to C, for the kernels that store complex elements themselves.
#pragma once

#include "cgemm/scalars.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET {

// A scalar that multiplies many elements, by the rules of scalars.hpp and without branches: code
// that is the same for many registers runs once, and so waits for itself to be fetched.
struct Factor {
  Complex s;
  bool is_real, is_imaginary;

  __device__ __forceinline__ explicit Factor(const Complex& scalar)
      : s(scalar), is_real(scalar.im == 0), is_imaginary(scalar.re == 0 && scalar.im != 0) {}
  __device__ __forceinline__ Complex times(const Complex& z) const {
    const float re = is_real ? 0 : -s.im * z.im, im = is_real ? 0 : s.im * z.re;
    return {is_imaginary ? re : fmaf(s.re, z.re, re), is_imaginary ? im : fmaf(s.re, z.im, im)};
  }
};

// The scalars of a product, as the device knows them.
struct Finish {
  Complex alpha, beta;
  bool has_sum;  // neither k nor alpha is 0: operands are read

  __device__ __forceinline__ explicit Finish(const Cgemm& p)
      : alpha(alpha_of(p)), beta(beta_of(p)), has_sum(p.k > 0 && !is_zero(alpha)) {}

  // Whether every element that is stored becomes a real number times its sum, as in nearly all
  // calls: it then takes a few instructions.
  __device__ __forceinline__ bool is_plain(const Cgemm& p) const {
    return has_sum && alpha.im == 0 && is_zero(beta) && p.triangle == Triangle::none;
  }

  // alpha times the sum, and beta times what was there before. `conj`: the sum is that of the
  // conjugates.
  __device__ __forceinline__ Complex element(const Complex* before, const float2& sum,
                                             bool conj) const {
    Complex value{0, 0};
    if (has_sum) value = times(alpha, conjugate({sum.x, sum.y}, conj));
    if (is_zero(beta)) return value;
    const Complex added = times(beta, *before);
    return {value.re + added.re, value.im + added.im};
  }
  // One element of C, if it is wanted.
  __device__ __forceinline__ void store(const Cgemm& p, Complex* c, std::int64_t row,
                                        std::int64_t col, const float2& sum, bool conj) const {
    if (!is_wanted(p, row, col)) return;
    Complex* const to = c + row * p.ldc + col;
    Complex value = element(to, sum, conj);
    if (p.hermitian && row == col) value.im = 0;
    *to = value;
  }
};

}  // namespace KW_TARGET
