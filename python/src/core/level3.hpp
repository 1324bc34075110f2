// Products and solves with a symmetric or a triangular matrix, of strided arrays, by calls of the C
// interface. All are matrices that BLAS can express; which of the two layouts a call takes follows
// from what it writes.
#pragma once

#include "core/pool.hpp"
#include "core/strided.hpp"

namespace kw::python {

struct Level3 {
  Strided a, b, c;  // c is what is written
  bool upper = false, transpose = false, right = false, unit_diagonal = false;
  float alpha = 1, beta = 0;
  // Complex64 throughout; then alpha and beta have imaginary parts, or, of a Hermitian c, none; and
  // a triangle may be its conjugate transpose.
  bool is_complex = false, hermitian = false, conjugate = false;
  float alpha_im = 0, beta_im = 0;
  kwMath_t math = KW_MATH_FP32;
};

// c = alpha op(a) op(a)^T + beta c, of one triangle; of a Hermitian c op(a)^H, where a is stored as
// c is.
void multiply_by_itself(Context& context, const Level3& call);
// c = alpha a b + beta c, or alpha b a + beta c; a symmetric, of which one triangle is read.
void multiply_symmetric(Context& context, const Level3& call);
// c = alpha op(a) b, or alpha b op(a); a triangular. c may be b.
void multiply_triangular(Context& context, const Level3& call);
// c = alpha op(a)^-1 c, or alpha c op(a)^-1; a triangular.
void solve_triangular(Context& context, const Level3& call);

// Whether both are stored by rows, or both by columns, as one call takes them.
bool share_layout(const Strided& b, const Strided& c);

// array = scale from + shift of matrices of one size and layout.
void scale_add(Context& context, float scale, const Strided& from, float shift,
               const Strided& array);

}  // namespace kw::python
