// A product of which one triangle of C is wanted, cublasSsyrk's, in panels: the block of a panel on
// the diagonal is a smaller one of the kind, which cuBLAS computes, and what lies between it and
// the edge of C is an ordinary product. Each element of the triangle belongs to one part, and no
// other element to any.
#pragma once

#include <cstdint>

#include "call.hpp"

namespace kw::cublas {

// cuBLAS computes a panel's share of about width / n of the whole, at a rate that grows with the
// width; the library's rate for the rectangles hardly grows past 1024 columns. From 512 to 2048 the
// sum of both is flat, so what decides is that calls of many panels take the host long.
constexpr std::int64_t panel_width(std::int64_t n) { return n < 24576 ? 1024 : 2048; }

// The panel that begins at `begin` ends there. What remains after the last whole panel is one of
// its own if it is half as wide.
constexpr std::int64_t panel_end(std::int64_t n, std::int64_t begin) {
  const std::int64_t width = panel_width(n);
  return n - begin < width + width / 2 ? n : begin + width;
}

constexpr bool is_cut(std::int64_t n) { return panel_end(n, 0) < n; }

// Where op(A) has its row `begin`.
inline const void* rows_of_a(const Product& p, std::int64_t begin) {
  return static_cast<const float*>(p.a) + begin * (p.op_a == KW_OP_NONE ? 1 : p.lda);
}
inline void* element_of_c(const Product& p, std::int64_t row, std::int64_t col) {
  return static_cast<float*>(p.c) + row + col * p.ldc;
}

inline Product diagonal_block(const Product& whole, std::int64_t begin, std::int64_t end) {
  Product part = whole;
  part.m = part.n = end - begin;
  part.a = part.b = rows_of_a(whole, begin);
  part.c = element_of_c(whole, begin, begin);
  return part;
}

// Below the block on the diagonal, or where the upper triangle is wanted to the right of it.
inline Product rectangle_beside(const Product& whole, std::int64_t begin, std::int64_t end) {
  const bool below = whole.triangle == Triangle::lower;
  const std::int64_t row = below ? end : begin, col = below ? begin : end;
  Product part = whole;
  part.triangle = Triangle::none;
  part.m = below ? whole.n - end : end - begin;
  part.n = below ? end - begin : whole.n - end;
  part.a = rows_of_a(whole, row);
  part.b = rows_of_a(whole, col);
  part.c = element_of_c(whole, row, col);
  return part;
}

// Calls `visit` with one part after the other until it returns false: of each panel the rectangle,
// then the block on the diagonal, which has a triangle. Returns whether all were visited. A column-
// major product with B = A.
template <class Visit>
bool visit_parts(const Product& whole, const Visit& visit) {
  for (std::int64_t begin = 0, end = 0; begin < whole.n; begin = end) {
    end = panel_end(whole.n, begin);
    if (end < whole.n && !visit(rectangle_beside(whole, begin, end))) return false;
    if (!visit(diagonal_block(whole, begin, end))) return false;
  }
  return true;
}

}  // namespace kw::cublas
