// A triangular system by halves, real or complex: the first part of the unknowns is solved, its
// product with the block below is subtracted from the right-hand side of the others, and then those
// are solved. Each element of A is read by one of these once.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernelwright/matrix.hpp"
#include "level3/halves.hpp"
#include "status.hpp"

namespace kw::level3 {

// A system from its first unknown to its last, which may be the last row or column of A. Of the
// problem's matrices and scalars the names are the same whatever their elements are.
template <class Problem, class Block, class Product>
class SystemByHalves {
 public:
  // `forward`: unknowns are found from the first row or column of A to the last.
  SystemByHalves(const Problem& p, std::int64_t unknowns, bool forward, int block)
      : p_(p), unknowns_(unknowns), forward_(forward), block_(block) {}

  // Calls block(Block) and update(Product) in the order of a solution.
  template <class Solve, class Update>
  Status each_step(const Solve& block, const Update& update) const {
    return solve(0, unknowns_, true, block, update);
  }

 private:
  using Scalar = decltype(Problem::alpha);

  static Scalar scalar(float value) {
    if constexpr (std::is_same_v<Scalar, float>)
      return value;
    else
      return {value, 0};
  }

  // `is_first`: the right-hand side has not met alpha yet.
  template <class Solve, class Update>
  Status solve(std::int64_t first, std::int64_t size, bool is_first, const Solve& block,
               const Update& update) const {
    if (size <= block_) return block(block_of(first, size, is_first));
    const std::int64_t part = first_part(size, block_);
    Status known = solve(first, part, is_first, block, update);
    if (!known.ok()) return known;
    const Status updated = update(update_of(first, part, size - part, is_first));
    return updated.ok() ? solve(first + part, size - part, false, block, update) : updated;
  }

  // Where `size` unknowns from the first-th on begin in memory.
  std::int64_t at(std::int64_t first, std::int64_t size) const {
    return forward_ ? first : unknowns_ - first - size;
  }

  Block block_of(std::int64_t first, std::int64_t size, bool is_first) const {
    const bool as_stored = (p_.op_a == Op::none) == p_.on_left;
    const std::int64_t row = as_stored ? p_.lda : 1, col = as_stored ? 1 : p_.lda;
    const std::int64_t step = p_.on_left ? p_.ldc : 1;
    const std::int64_t own = forward_ ? first : unknowns_ - 1 - first, sign = forward_ ? 1 : -1;
    Block block{};
    block.a = p_.a + own * (p_.lda + 1);
    block.a_row = sign * row;
    block.a_col = sign * col;
    block.x = p_.c + own * step;
    block.x_step = sign * step;
    block.line_step = p_.on_left ? 1 : p_.ldc;
    block.size = static_cast<int>(size);
    block.lines = p_.on_left ? p_.n : p_.m;
    block.unit_diagonal = p_.unit_diagonal;
    if constexpr (requires { block.conj; }) block.conj = p_.conj_a;
    block.alpha = is_first ? p_.alpha : scalar(1);
    block.alpha_at = is_first ? p_.alpha_at : nullptr;
    block.batch = p_.batch;
    block.stride_a = p_.stride_a;
    block.stride_x = p_.stride_c;
    return block;
  }

  // What `known` unknowns from the first-th on take from the `size` after them.
  Product update_of(std::int64_t first, std::int64_t known, std::int64_t size,
                    bool is_first) const {
    const std::int64_t from = at(first, known), to = at(first + known, size);
    const std::int64_t row = p_.on_left ? to : from, col = p_.on_left ? from : to;
    const auto* const a = p_.a + (p_.op_a == Op::none ? row * p_.lda + col : col * p_.lda + row);
    const std::int64_t step = p_.on_left ? p_.ldc : 1;
    const auto* const x = p_.c + from * step;
    Product update;
    update.m = p_.on_left ? size : p_.m;
    update.n = p_.on_left ? p_.n : size;
    update.k = known;
    update.alpha = scalar(-1);
    update.beta = is_first ? p_.alpha : scalar(1);
    update.beta_at = is_first ? p_.alpha_at : nullptr;
    (p_.on_left ? update.op_a : update.op_b) = p_.op_a;
    if constexpr (requires { update.conj_a; })
      (p_.on_left ? update.conj_a : update.conj_b) = p_.conj_a;
    update.a = p_.on_left ? a : x;
    update.lda = p_.on_left ? p_.lda : p_.ldc;
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

  const Problem& p_;
  const std::int64_t unknowns_;
  const bool forward_;
  const int block_;
};

}  // namespace kw::level3
