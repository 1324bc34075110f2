// A complex system as plain loops, the same text for a CPU's threads and a GPU's: needs no
// workspace and takes every problem. Sums run in the order of the unknowns, cut into chains so that
// rounding errors stay those of short sums.
#pragma once

#include "cgemm/scalars.hpp"
#include "ctrsm/problem.hpp"

namespace kw::ctrsm {

// The call with its scalar, read where it lies.
KW_HOST_DEVICE inline Ctrsm with_scalar(Ctrsm p) {
  if (p.alpha_at != nullptr) p.alpha = *p.alpha_at;
  p.alpha_at = nullptr;
  return p;
}

// The element of op(A) in a row and a column.
KW_HOST_DEVICE inline Complex element_of_a(const Ctrsm& p, std::int64_t row, std::int64_t col) {
  const Complex a = p.op_a == Op::none ? p.a[row * p.lda + col] : p.a[col * p.lda + row];
  return conjugate(a, p.conj_a);
}

// A quotient in double, in which no square of a float overflows or vanishes.
KW_HOST_DEVICE inline Complex divided(const Complex& z, const Complex& d) {
  const double re = d.re, im = d.im, size = re * re + im * im;
  return {static_cast<float>((z.re * re + z.im * im) / size),
          static_cast<float>((z.im * re - z.re * im) / size)};
}

// A sum of complex products, a chain at a time.
class ChainedSum {
 public:
  KW_HOST_DEVICE void add(const Complex& x, const Complex& y) {
    chain_.re += x.re * y.re - x.im * y.im;
    chain_.im += x.re * y.im + x.im * y.re;
    if (++length_ < longest) return;
    total_ = value();
    chain_ = {0, 0};
    length_ = 0;
  }
  KW_HOST_DEVICE Complex value() const { return {total_.re + chain_.re, total_.im + chain_.im}; }

 private:
  static constexpr int longest = 256;
  Complex total_{0, 0}, chain_{0, 0};
  int length_ = 0;
};

// The unknowns of a line of an entry, one after the other.
KW_HOST_DEVICE inline void solve_line(const Ctrsm& p, std::int64_t entry, std::int64_t line) {
  Ctrsm one = p;
  one.a += entry * p.stride_a;
  const std::int64_t step = p.on_left ? p.ldc : 1, k = p.k();
  Complex* const x = p.c + entry * p.stride_c + line * (p.on_left ? 1 : p.ldc);
  const bool forward = p.goes_forward();
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int64_t at = forward ? i : k - 1 - i;
    if (is_zero(p.alpha)) {
      x[at * step] = {0, 0};
      continue;
    }
    ChainedSum sum;
    for (std::int64_t l = 0; l < i; ++l) {
      const std::int64_t known = forward ? l : k - 1 - l;
      sum.add(p.on_left ? element_of_a(one, at, known) : element_of_a(one, known, at),
              x[known * step]);
    }
    const Complex right = times(p.alpha, x[at * step]), taken = sum.value();
    const Complex left = {right.re - taken.re, right.im - taken.im};
    x[at * step] = p.unit_diagonal ? left : divided(left, element_of_a(one, at, at));
  }
}

// The work of one thread: a line.
KW_HOST_DEVICE inline std::int64_t loop_items(const Ctrsm& p) {
  return p.k() > 0 ? p.batch * p.lines() : 0;
}
KW_HOST_DEVICE inline void loop_item(const Ctrsm& p, std::int64_t item) {
  solve_line(p, item / p.lines(), item % p.lines());
}

}  // namespace kw::ctrsm
