// The epilogue of tiles of a triangle of C. Those on the diagonal are few, so each element of
// theirs asks whether it is the triangle's. No other is read or written.
#pragma once

#include "sgemm/hopper/epilogue.hpp"
#include "sgemm/shape.hpp"

namespace KW_TARGET::hopper {

// `bm`: the rows of a tile, which has as many columns.
__device__ __forceinline__ bool is_on_diagonal(const Sgemm& p, const OutputTile& output, int bm) {
  const std::int64_t from = (output.j0 >> p.column_shift) - output.i0;
  return p.triangle != Triangle::none && from >= 0 && from < bm;
}

// C = alpha * sums + beta * C of a tile of a triangle; of one on the diagonal, those elements that
// are the triangle's. All loads come before the stores, so that they are under way together.
//
// One vote separates the stores of whole rows from all others: with a vote about the diagonal as
// well, the products' addresses leave the uniform registers (docs/performance.md).
template <int blocks, int bn>
__device__ __forceinline__ void store_of_triangle(const ProductParams& params,
                                                  OutputFragment<blocks, bn> own,
                                                  bool on_diagonal) {
  const Sgemm& p = params.problem;
  const float alpha = p.alpha_at != nullptr ? *p.alpha_at : p.alpha;
  const float beta = p.beta_at != nullptr ? *p.beta_at : p.beta;
  const TilePlace at(p, own);
  const int shift = p.column_shift;
  const bool is_lower = p.triangle == Triangle::lower;
  const auto is_inside = [&](int i, int j) {
    const int side = own.row + i - ((own.column + j) >> shift);  // of the diagonal
    return i < at.rows && j < at.columns && (is_lower ? side >= 0 : side <= 0);
  };
  if (!on_diagonal) {
    const Finish finish(p, own.entry, own.row, own.column, alpha, beta);
    finish.apply<4>([&](const auto& body) { own.each_four(body); });
  } else if (beta == 0) {
    own.each([&](float& sum, int, int) { sum *= alpha; });
  } else {
    own.each([&](float& sum, int i, int j) {
      sum = add_scaled(alpha, sum, beta, is_inside(i, j) ? at.c[i * p.ldc + j] : 0.0f);
    });
  }
  if (any_of_warp(at.stores_fours && !on_diagonal)) {  // the same for all of a warp
    store_fours(own, at.c, p.ldc, 1.0f);
  } else if (on_diagonal) {
    own.each([&](float& sum, int i, int j) {
      if (is_inside(i, j)) at.c[i * p.ldc + j] = sum;
    });
  } else {
    store_shifted(own, at.c, p.ldc, 1.0f, at.rows, at.columns);
  }
}

}  // namespace KW_TARGET::hopper
