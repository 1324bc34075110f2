// The steps of a complex triangular system (level3/system_by_halves.hpp), and the forms of its
// products.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ctrsm/block.hpp"
#include "gpu/gpu.hpp"
#include "level3/system_by_halves.hpp"

namespace KW_TARGET {

class ComplexSolve : public level3::SystemByHalves<Ctrsm, ComplexBlock, Cgemm> {
 public:
  ComplexSolve(const Ctrsm& p, int block) : SystemByHalves(p, p.k(), p.goes_forward(), block) {}
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
