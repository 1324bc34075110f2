// Level 3 out of matrix products: which products a call is made of, and the kernels that the
// product's own list chooses for them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "gpu/gpu.hpp"
#include "level3/problem.hpp"
#include "level3/production.hpp"
#include "select.hpp"
#include "sgemm/kernels.hpp"

namespace KW_TARGET {

constexpr Op flipped(Op op) { return op == Op::none ? Op::transpose : Op::none; }

// The kernel for a product that is a part of a call.
inline std::optional<Choice<Sgemm>> choose_product(const Sgemm& problem, const Device& device,
                                                   Math math) {
  static const KernelList<Sgemm> kernels = sgemm_production();
  return select_kernel(problem, device, kernels, math);
}

// The same for one of which a triangle is wanted.
inline std::optional<Choice<Sgemm>> choose_update(const Sgemm& problem, const Device& device,
                                                  Math math) {
  static const KernelList<Sgemm> kernels = [] {
    KernelList<Sgemm> all = sgemm_production();
    const KernelList<Sgemm> lean = level3_lean_products();
    all.insert(all.end(), lean.begin(), lean.end());
    return all;
  }();
  return select_kernel(problem, device, kernels, math);
}

// Adds the kernel of a product to the parts of a plan, which takes as long as its parts together,
// and whose parts use the same workspace one after the other.
inline void add_part(Choice<Sgemm> part, Plan<Level3>& plan) {
  const Plan<Sgemm>& its = part.plan;
  plan.time_us = plan.parts.empty() ? its.time_us : plan.time_us + its.time_us;
  plan.cost = plan.parts.empty() ? its.cost : plan.cost + its.cost;
  plan.workspace_bytes = std::max(plan.workspace_bytes, its.workspace_bytes);
  plan.min_workspace_bytes =
      std::max(plan.min_workspace_bytes.value_or(0), its.needed_workspace_bytes());
  plan.parts.push_back(std::move(part));
}

}  // namespace KW_TARGET
