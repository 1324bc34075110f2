// A triangular system by halves: the first part of the unknowns is solved, its product with the
// block below is subtracted from the right-hand side of the others, by the product's own kernels,
// and then those are solved. Blocks of some hundred unknowns are solved by substitution
// (solve_block.hpp). Each element of A is read by one of these once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "level3/halves.hpp"
#include "level3/products.hpp"
#include "level3/solve_block.hpp"

namespace KW_TARGET {

// A system from its first unknown to its last, which may be the last row or column of A.
class Solve {
 public:
  Solve(const Level3& p, int block) : p_(p), block_(block), forward_(p.is_lower() == p.on_left) {}

  // Calls block(SolveBlock) and update(Sgemm) in the order of a solution.
  template <class Block, class Update>
  Status each_step(const Block& block, const Update& update) const {
    return level3::by_halves(
        0, p_.k, block_, true, [&](auto... of) { return block(block_of(of...)); },
        [&](auto... of) { return update(update_of(of...)); });
  }

 private:
  // Where `size` unknowns from the first-th on begin in memory.
  std::int64_t at(std::int64_t first, std::int64_t size) const {
    return forward_ ? first : p_.k - first - size;
  }

  SolveBlock block_of(std::int64_t first, std::int64_t size, bool is_first) const {
    const bool as_stored = (p_.op_a == Op::none) == p_.on_left;
    const std::int64_t row = as_stored ? p_.lda : 1, col = as_stored ? 1 : p_.lda;
    const std::int64_t step = p_.on_left ? p_.ldc : 1, own = forward_ ? first : p_.k - 1 - first;
    const std::int64_t sign = forward_ ? 1 : -1;
    return {.a = p_.a + own * (p_.lda + 1),
            .a_row = sign * row,
            .a_col = sign * col,
            .x = p_.c + own * step,
            .x_step = sign * step,
            .line_step = p_.on_left ? 1 : p_.ldc,
            .size = static_cast<int>(size),
            .lines = p_.on_left ? p_.n : p_.m,
            .unit_diagonal = p_.unit_diagonal,
            .alpha = is_first ? p_.alpha : 1,
            .alpha_at = is_first ? p_.alpha_at : nullptr,
            .batch = p_.batch,
            .stride_a = p_.stride_a,
            .stride_x = p_.stride_c};
  }

  // What `known` unknowns from the first-th on take from the `size` after them.
  Sgemm update_of(std::int64_t first, std::int64_t known, std::int64_t size, bool is_first) const {
    const std::int64_t from = at(first, known), to = at(first + known, size);
    const std::int64_t row = p_.on_left ? to : from, col = p_.on_left ? from : to;
    const float* const a = p_.a + (p_.op_a == Op::none ? row * p_.lda + col : col * p_.lda + row);
    const std::int64_t step = p_.on_left ? p_.ldc : 1;
    const float* const x = p_.c + from * step;
    Sgemm update;
    update.m = p_.on_left ? size : p_.m;
    update.n = p_.on_left ? p_.n : size;
    update.k = known;
    update.alpha = -1;
    update.beta = is_first ? p_.alpha : 1;
    update.beta_at = is_first ? p_.alpha_at : nullptr;
    update.op_a = p_.on_left ? p_.op_a : Op::none;
    update.a = p_.on_left ? a : x;
    update.lda = p_.on_left ? p_.lda : p_.ldc;
    update.op_b = p_.on_left ? Op::none : p_.op_a;
    update.b = p_.on_left ? x : a;
    update.ldb = p_.on_left ? p_.ldc : p_.lda;
    update.c = p_.c + to * step;
    update.ldc = p_.ldc;
    update.batch = p_.batch;
    update.stride_a = p_.on_left ? p_.stride_a : p_.stride_c;
    update.stride_b = p_.on_left ? p_.stride_c : p_.stride_a;
    update.stride_c = p_.stride_c;
    return update;
  }

  const Level3& p_;
  const int block_;
  const bool forward_;
};

// The products of a plan's parts: those of one size and form have one part together.
class ProductForms {
 public:
  // The number of a product's form; the next one where it is new.
  std::size_t find(const Sgemm& product) {
    const Form own = {product.m,    product.n,    product.k,
                      product.op_a, product.op_b, product.triangle};
    for (std::size_t i = 0; i < forms_.size(); ++i) {
      if (forms_[i] == own) return i;
    }
    forms_.push_back(own);
    return forms_.size() - 1;
  }

 private:
  struct Form {
    std::int64_t m, n, k;
    Op op_a, op_b;
    Triangle triangle;
    bool operator==(const Form&) const = default;
  };
  std::vector<Form> forms_;
};

}  // namespace KW_TARGET
