// A complex triangular system by halves, as level3/solve_steps.hpp has real ones: the first part of
// the unknowns is solved, its product with the block below is subtracted from the right-hand side
// of the others, and then those are solved. Each element of A is read by one of these once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ctrsm/block.hpp"
#include "gpu/gpu.hpp"
#include "level3/halves.hpp"

namespace KW_TARGET {

// A system from its first unknown to its last, which may be the last row or column of A.
class ComplexSolve {
 public:
  ComplexSolve(const Ctrsm& p, int block) : p_(p), block_(block) {}

  // Calls block(ComplexBlock) and update(Cgemm) in the order of a solution.
  template <class Block, class Update>
  Status each_step(const Block& block, const Update& update) const {
    return level3::by_halves(
        0, p_.k(), block_, true, [&](auto... of) { return block(block_of(of...)); },
        [&](auto... of) { return update(update_of(of...)); });
  }

 private:
  // Where `size` unknowns from the first-th on begin in memory.
  std::int64_t at(std::int64_t first, std::int64_t size) const {
    return p_.goes_forward() ? first : p_.k() - first - size;
  }

  ComplexBlock block_of(std::int64_t first, std::int64_t size, bool is_first) const {
    const bool as_stored = (p_.op_a == Op::none) == p_.on_left;
    const std::int64_t row = as_stored ? p_.lda : 1, col = as_stored ? 1 : p_.lda;
    const std::int64_t step = p_.on_left ? p_.ldc : 1;
    const std::int64_t own = p_.goes_forward() ? first : p_.k() - 1 - first;
    const std::int64_t sign = p_.goes_forward() ? 1 : -1;
    return {.a = p_.a + own * (p_.lda + 1),
            .a_row = sign * row,
            .a_col = sign * col,
            .x = p_.c + own * step,
            .x_step = sign * step,
            .line_step = p_.on_left ? 1 : p_.ldc,
            .size = static_cast<int>(size),
            .lines = p_.lines(),
            .unit_diagonal = p_.unit_diagonal,
            .conj = p_.conj_a,
            .alpha = is_first ? p_.alpha : Complex{1, 0},
            .alpha_at = is_first ? p_.alpha_at : nullptr,
            .batch = p_.batch,
            .stride_a = p_.stride_a,
            .stride_x = p_.stride_c};
  }

  // What `known` unknowns from the first-th on take from the `size` after them.
  Cgemm update_of(std::int64_t first, std::int64_t known, std::int64_t size, bool is_first) const {
    const std::int64_t from = at(first, known), to = at(first + known, size);
    const std::int64_t row = p_.on_left ? to : from, col = p_.on_left ? from : to;
    const Complex* const a = p_.a + (p_.op_a == Op::none ? row * p_.lda + col : col * p_.lda + row);
    const std::int64_t step = p_.on_left ? p_.ldc : 1;
    const Complex* const x = p_.c + from * step;
    Cgemm update;
    update.m = p_.on_left ? size : p_.m;
    update.n = p_.on_left ? p_.n : size;
    update.k = known;
    update.alpha = {-1, 0};
    update.beta = is_first ? p_.alpha : Complex{1, 0};
    update.beta_at = is_first ? p_.alpha_at : nullptr;
    (p_.on_left ? update.op_a : update.op_b) = p_.op_a;
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

  const Ctrsm& p_;
  const int block_;
};

// The products of a plan's parts: those of one size, scalar and alignment have one part together.
// The first of a call meets alpha.
class ComplexForms {
 public:
  // The number of a product's form; the next one where it is new.
  std::size_t find(const Cgemm& product) {
    const bool meets_alpha =
        product.beta_at != nullptr || product.beta.re != 1 || product.beta.im != 0;
    const Form own = {product.m, product.n, product.k, last_bits_of(product), meets_alpha};
    const auto number = std::find(forms_.begin(), forms_.end(), own) - forms_.begin();
    if (number == static_cast<std::ptrdiff_t>(forms_.size())) forms_.push_back(own);
    return static_cast<std::size_t>(number);
  }

 private:
  struct Form {
    std::int64_t m, n, k;
    std::uintptr_t last_bits;
    bool meets_alpha;
    bool operator==(const Form&) const = default;
  };
  // What a plan may depend on of the three addresses.
  static std::uintptr_t last_bits_of(const Cgemm& product) {
    constexpr std::uintptr_t alignment = 16;
    std::uintptr_t bits = 0;
    for (const Complex* data : {product.a, product.b, static_cast<const Complex*>(product.c)})
      bits = bits * alignment + reinterpret_cast<std::uintptr_t>(data) % alignment;
    return bits;
  }

  std::vector<Form> forms_;
};

}  // namespace KW_TARGET
