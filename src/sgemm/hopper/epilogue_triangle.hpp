// The epilogue of a tile on the diagonal, of which C has a triangle. There are few of them, so each
// element asks whether it is wanted. No other is read or written.
#pragma once

#include "sgemm/hopper/epilogue.hpp"
#include "sgemm/shape.hpp"

namespace KW_TARGET::hopper {

// `bm`: the rows of a tile, which has as many columns.
__device__ __forceinline__ bool is_on_diagonal(const Sgemm& p, const OutputTile& output, int bm) {
  const std::int64_t from = (output.j0 >> p.column_shift) - output.i0;
  return any_of_warp(p.triangle != Triangle::none && from >= 0 && from < bm);
}

// C = alpha * sums + beta * C. All loads come before the stores, so that they are under way
// together.
template <int blocks, int bn>
__device__ __forceinline__ void store_triangle(const ProductParams& params,
                                               OutputFragment<blocks, bn> own) {
  const Sgemm& p = params.problem;
  const float alpha = p.alpha_at != nullptr ? *p.alpha_at : p.alpha;
  const float beta = p.beta_at != nullptr ? *p.beta_at : p.beta;
  const int rows = static_cast<int>(p.m) - own.row, columns = static_cast<int>(p.n) - own.column;
  const int shift = p.column_shift;
  const bool is_lower = p.triangle == Triangle::lower;
  float* const c = c_of(p, own.entry) + own.row * p.ldc + own.column;
  const auto is_inside = [&](int i, int j) {
    const int side = own.row + i - ((own.column + j) >> shift);  // of the diagonal
    return i < rows && j < columns && (is_lower ? side >= 0 : side <= 0);
  };
  if (beta == 0) {
    own.each([&](float& sum, int, int) { sum *= alpha; });
  } else {
    own.each([&](float& sum, int i, int j) {
      sum = add_scaled(alpha, sum, beta, is_inside(i, j) ? c[i * p.ldc + j] : 0.0f);
    });
  }
  own.each([&](float& sum, int i, int j) {
    if (is_inside(i, j)) c[i * p.ldc + j] = sum;
  });
}

}  // namespace KW_TARGET::hopper
