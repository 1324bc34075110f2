// Level 3 as plain loops, the same text for a CPU's threads and a GPU's: needs no workspace and
// takes every problem. Sums run in ascending k, cut into chains so that rounding errors stay those
// of short sums.
#pragma once

#include "level3/problem.hpp"

namespace kw::level3 {

// The element of op_a(A), or of the symmetric A, in a row and a column. A zero is not read.
KW_HOST_DEVICE inline float element_of_a(const Level3& p, std::int64_t row, std::int64_t col) {
  if (p.routine == Routine::symm) {
    const bool is_stored = p.triangle == Triangle::lower ? col <= row : row <= col;
    return is_stored ? p.a[row * p.lda + col] : p.a[col * p.lda + row];
  }
  if (p.has_triangular_a()) {
    if (row == col && p.unit_diagonal) return 1;
    if (p.is_lower() ? row < col : col < row) return 0;
  }
  return p.op_a == Op::none ? p.a[row * p.lda + col] : p.a[col * p.lda + row];
}
KW_HOST_DEVICE inline float element_of_b(const Level3& p, std::int64_t row, std::int64_t col) {
  if (p.routine == Routine::syrk) return element_of_a(p, row, col);
  return p.op_b == Op::none ? p.b[row * p.ldb + col] : p.b[col * p.ldb + row];
}

// A sum of products, a chain at a time.
class ChainedSum {
 public:
  KW_HOST_DEVICE void add(float x, float y) {
    chain_ += x * y;
    if (++length_ == longest) total_ += chain_, chain_ = 0, length_ = 0;
  }
  KW_HOST_DEVICE float value() const { return total_ + chain_; }

 private:
  static constexpr int longest = 256;
  float total_ = 0, chain_ = 0;
  int length_ = 0;
};

// The product that belongs to an element of C, before alpha.
KW_HOST_DEVICE inline float product_at(const Level3& p, std::int64_t row, std::int64_t col) {
  ChainedSum sum;
  if (p.updates_triangle()) {
    for (std::int64_t l = 0; l < p.k; ++l)
      sum.add(element_of_a(p, row, l), element_of_b(p, col, l));
    if (p.routine == Routine::syr2k)
      for (std::int64_t l = 0; l < p.k; ++l)
        sum.add(element_of_b(p, row, l), element_of_a(p, col, l));
  } else if (p.routine == Routine::symm) {
    for (std::int64_t l = 0; l < p.k; ++l) {
      if (p.on_left)
        sum.add(element_of_a(p, row, l), element_of_b(p, l, col));
      else
        sum.add(element_of_b(p, row, l), element_of_a(p, l, col));
    }
  } else {
    const std::int64_t own = p.on_left ? row : col;
    const bool up_to_own = p.is_lower() == p.on_left;
    for (std::int64_t l = up_to_own ? 0 : own; l < (up_to_own ? own + 1 : p.k); ++l) {
      if (p.on_left)
        sum.add(element_of_a(p, row, l), element_of_b(p, l, col));
      else
        sum.add(element_of_b(p, row, l), element_of_a(p, l, col));
    }
  }
  return sum.value();
}

// The scalars as the call has them, read where they lie.
KW_HOST_DEVICE inline Level3 with_scalars(Level3 p) {
  if (p.alpha_at != nullptr) p.alpha = *p.alpha_at;
  if (p.beta_at != nullptr) p.beta = *p.beta_at;
  p.alpha_at = p.beta_at = nullptr;
  return p;
}

// One element of C of a product of any kind; not of trmm in place.
KW_HOST_DEVICE inline void compute_element(const Level3& p, std::int64_t row, std::int64_t col) {
  if (p.updates_triangle() && (p.triangle == Triangle::lower ? row < col : col < row)) return;
  const float product = p.alpha == 0 ? 0.0f : p.alpha * product_at(p, row, col);
  float& c = p.c[row * p.ldc + col];
  c = p.beta == 0 || p.has_triangular_a() ? product : product + p.beta * c;
}

// A line of C that depends on itself alone: a column where A is on the left, else a row. Of trmm in
// place elements are computed before others are overwritten that they need.
KW_HOST_DEVICE inline void multiply_line(const Level3& p, std::int64_t line) {
  const bool up_to_own = p.is_lower() == p.on_left;
  for (std::int64_t i = 0; i < p.k; ++i) {
    const std::int64_t at = up_to_own ? p.k - 1 - i : i;
    compute_element(p, p.on_left ? at : line, p.on_left ? line : at);
  }
}
KW_HOST_DEVICE inline void solve_line(const Level3& p, std::int64_t line) {
  const std::int64_t step = p.on_left ? p.ldc : 1;
  float* const x = p.c + line * (p.on_left ? 1 : p.ldc);
  const bool forward = p.is_lower() == p.on_left;
  for (std::int64_t i = 0; i < p.k; ++i) {
    const std::int64_t at = forward ? i : p.k - 1 - i;
    if (p.alpha == 0) {
      x[at * step] = 0;
      continue;
    }
    ChainedSum sum;
    for (std::int64_t l = 0; l < i; ++l) {
      const std::int64_t known = forward ? l : p.k - 1 - l;
      sum.add(p.on_left ? element_of_a(p, at, known) : element_of_a(p, known, at), x[known * step]);
    }
    const float left = p.alpha * x[at * step] - sum.value();
    x[at * step] = p.unit_diagonal ? left : left / element_of_a(p, at, at);
  }
}

// Whether a call goes by lines, else by elements; and how many there are of an entry.
KW_HOST_DEVICE inline bool goes_by_lines(const Level3& p) {
  return p.routine == Routine::trsm || (p.routine == Routine::trmm && p.b == p.c);
}
KW_HOST_DEVICE inline std::int64_t lines(const Level3& p) { return p.on_left ? p.n : p.m; }

KW_HOST_DEVICE inline Level3 entry_of(Level3 p, std::int64_t entry) {
  p.a += entry * p.stride_a;
  p.c += entry * p.stride_c;
  return p;
}

// The work of one thread: a line or an element.
KW_HOST_DEVICE inline std::int64_t loop_items(const Level3& p) {
  return p.batch * (goes_by_lines(p) ? lines(p) : p.m * p.n);
}
KW_HOST_DEVICE inline void loop_item(const Level3& p, std::int64_t item) {
  if (!goes_by_lines(p)) return compute_element(p, item / p.n, item % p.n);
  const std::int64_t of_entry = lines(p);
  const Level3 one = entry_of(p, item / of_entry);
  if (p.routine == Routine::trsm)
    solve_line(one, item % of_entry);
  else
    multiply_line(one, item % of_entry);
}

}  // namespace kw::level3
