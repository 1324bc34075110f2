// A problem as smaller ones, one after the other on the stream: for whoever has not the memory for
// all of it at once.
#pragma once

#include "sgemm/problem.hpp"

namespace kw {

struct SubProblems {
  Sgemm part[3];
  int count = 0;

  SubProblems() = default;
  SubProblems(const Sgemm& first, const Sgemm& second) : part{first, second, {}}, count(2) {}
  SubProblems(const Sgemm& first, const Sgemm& second, const Sgemm& third)
      : part{first, second, third}, count(3) {}
};

// `count` of k from `first` on, of a problem without arrays of pointers.
inline Sgemm some_of_k(const Sgemm& all, std::int64_t first, std::int64_t count) {
  Sgemm part = all;
  part.k = count;
  part.a += all.op_a == Op::none ? first : first * all.lda;
  part.b += all.op_b == Op::none ? first * all.ldb : first;
  return part;
}

// A product of all k that adds to what an earlier one has stored.
inline Sgemm added(Sgemm part) {
  part.beta = 1;
  part.beta_at = nullptr;
  return part;
}

namespace detail {

inline Sgemm with(Sgemm part, Triangle triangle, KRange k_range) {
  part.triangle = triangle;
  part.k_range = k_range;
  return part;
}

// A part whose k has a range that is cut at `at`: what has all of one side of the cut, and what has
// a range of the other side. `starts`: the range begins at the diagonal.
inline SubProblems cut_range(const Sgemm& before, const Sgemm& after, std::int64_t at,
                             bool starts) {
  const std::int64_t left = before.k - at;
  const Sgemm &ranged = starts ? before : after, &other = starts ? after : before;
  const Sgemm own = starts ? some_of_k(ranged, 0, at) : some_of_k(ranged, at, left);
  const Sgemm rest = starts ? some_of_k(ranged, at, left) : some_of_k(ranged, 0, at);
  const Sgemm alone = starts ? some_of_k(other, at, left) : some_of_k(other, 0, at);
  return {alone, with(rest, Triangle::none, KRange::all), added(own)};
}

}  // namespace detail

// Rows up to `at` and the others; of a triangle the two on its diagonal and the rectangle between
// them.
inline SubProblems cut_rows(const Sgemm& p, std::int64_t at) {
  const Sgemm above = some_rows(p, 0, at), below = some_rows(p, at, p.m - at);
  if (p.triangle != Triangle::none) {
    const bool is_lower = p.triangle == Triangle::lower;
    const std::int64_t column = at << p.column_shift;
    const Sgemm beside =
        is_lower ? some_columns(below, 0, column) : some_columns(above, column, p.n - column);
    return {some_columns(above, 0, column), detail::with(beside, Triangle::none, KRange::all),
            some_columns(below, column, p.n - column)};
  }
  if (p.k_range == KRange::to_row || p.k_range == KRange::from_row)
    return detail::cut_range(above, below, at, p.k_range == KRange::from_row);
  return {above, below};
}
// Of a triangle of a C that is no square: the square, and the others.
inline SubProblems cut_off_triangle(const Sgemm& p) {
  const bool is_lower = p.triangle == Triangle::lower;
  const std::int64_t side = is_lower ? p.n : p.m;
  return {
      is_lower ? some_rows(p, 0, side) : some_columns(p, 0, side),
      detail::with(is_lower ? some_rows(p, side, p.m - side) : some_columns(p, side, p.n - side),
                   Triangle::none, KRange::all)};
}
// Likewise of columns, of a problem without a triangle.
inline SubProblems cut_columns(const Sgemm& p, std::int64_t at) {
  const Sgemm left = some_columns(p, 0, at), right = some_columns(p, at, p.n - at);
  if (p.k_range == KRange::to_column || p.k_range == KRange::from_column)
    return detail::cut_range(left, right, at, p.k_range == KRange::from_column);
  return {left, right};
}

}  // namespace kw
