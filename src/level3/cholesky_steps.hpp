// A Cholesky factorisation by halves, for devices that solve a system as well as they multiply: the
// first part of the matrix is factored, the block beside it is a system with that triangle, its
// square is subtracted from the rest, and then that is factored. Blocks on the diagonal are
// factored by themselves. GPUs go column after column (cholesky_columns.hpp).
//
// Method  Recursion over the matrix: Gustavson 1997; the residual of each element stays within that
//         of sums of n + 1 products (Higham 2002, theorem 10.3).
#pragma once

#include <cstdint>

#include "level3/halves.hpp"
#include "level3/problem.hpp"

namespace kw::level3 {

// A block on the diagonal: the element of L in a row and a column is a[row * row_step + col *
// col_step], where row >= col; one of the steps is 1. `first`: of its first row in the matrix.
struct DiagonalBlock {
  float* a;
  std::int64_t row_step, col_step;
  int size;
  std::int64_t first;
  int* info;
};

class Cholesky {
 public:
  Cholesky(const Level3& p, std::int64_t block) : p_(p), block_(block) {}

  // Calls block(DiagonalBlock), solve(Level3) and update(Level3) in the order of a factorisation,
  // as long as they succeed. There is a block even of an empty matrix.
  template <class Block, class Solve, class Update>
  Status each_step(const Block& block, const Solve& solve, const Update& update) const {
    return factor(0, p_.m, block, solve, update);
  }

 private:
  template <class Block, class Solve, class Update>
  Status factor(std::int64_t first, std::int64_t size, const Block& block, const Solve& solve,
                const Update& update) const {
    if (size <= block_) return block(block_of(first, size));
    const std::int64_t part = first_part(size, block_), left = size - part;
    Status factored = factor(first, part, block, solve, update);
    if (!factored.ok()) return factored;
    Status solved = solve(solve_of(first, part, left));
    if (!solved.ok()) return solved;
    const Status updated = update(update_of(first, part, left));
    return updated.ok() ? factor(first + part, left, block, solve, update) : updated;
  }

  bool is_lower() const { return p_.triangle == Triangle::lower; }
  float* at(std::int64_t row, std::int64_t col) const {
    return is_lower() ? p_.c + row * p_.ldc + col : p_.c + col * p_.ldc + row;
  }

  DiagonalBlock block_of(std::int64_t first, std::int64_t size) const {
    return {.a = at(first, first),
            .row_step = is_lower() ? p_.ldc : 1,
            .col_step = is_lower() ? 1 : p_.ldc,
            .size = static_cast<int>(size),
            .first = first,
            .info = p_.info};
  }
  // The rows below a factored part, L21 = A21 L11^-T; or their transpose in an upper triangle.
  Level3 solve_of(std::int64_t first, std::int64_t part, std::int64_t left) const {
    Level3 p;
    p.routine = Routine::trsm;
    p.triangle = p_.triangle;
    p.on_left = !is_lower();
    p.op_a = Op::transpose;
    p.m = is_lower() ? left : part;
    p.n = is_lower() ? part : left;
    p.k = part;
    p.a = at(first, first);
    p.lda = p_.ldc;
    p.c = at(first + part, first);
    p.ldc = p_.ldc;
    return p;
  }
  Level3 update_of(std::int64_t first, std::int64_t part, std::int64_t left) const {
    Level3 p;
    p.routine = Routine::syrk;
    p.triangle = p_.triangle;
    p.op_a = p.op_b = is_lower() ? Op::none : Op::transpose;
    p.m = p.n = left;
    p.k = part;
    p.alpha = -1;
    p.a = at(first + part, first);
    p.lda = p_.ldc;
    p.beta = 1;
    p.c = at(first + part, first + part);
    p.ldc = p_.ldc;
    return p;
  }

  const Level3& p_;
  const std::int64_t block_;
};

}  // namespace kw::level3
