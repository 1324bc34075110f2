// The steps of a triangular system (system_by_halves.hpp), of which blocks of some hundred unknowns
// are solved by substitution (solve_block.hpp), and the forms of its products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "level3/products.hpp"
#include "level3/solve_block.hpp"
#include "level3/system_by_halves.hpp"

namespace KW_TARGET {

class Solve : public level3::SystemByHalves<Level3, SolveBlock, Sgemm> {
 public:
  Solve(const Level3& p, int block) : SystemByHalves(p, p.k, p.is_lower() == p.on_left, block) {}
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
