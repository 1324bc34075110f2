// Which kernel computes a problem.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "kernel.hpp"

namespace kw {

// A kernel in plain fp32 keeps what fp32_split promises.
template <class Problem>
bool computes_in(const Kernel<Problem>& kernel, Math math) {
  return kernel.math == math || kernel.math == Math::fp32;
}

constexpr std::size_t any_workspace = std::numeric_limits<std::size_t>::max();

// Among the kernels that compute in `math`, support the problem and work with that much workspace,
// the one whose plan costs least. A kernel that predicts no time comes after those that do; among
// equals the list's order decides, so a list without predictions is written from the most special
// kernel to the most general. Nothing where no kernel is left. The choice points into the list.
template <class Problem>
std::optional<Choice<Problem>> select_kernel(const Problem& problem, const Device& device,
                                             const KernelList<Problem>& kernels,
                                             Math math = Math::fp32,
                                             std::size_t workspace_bytes = any_workspace) {
  std::optional<Choice<Problem>> best;
  bool is_complete = false;
  for (const Kernel<Problem>& kernel : kernels) {
    if (!computes_in(kernel, math)) continue;
    std::optional<Plan<Problem>> plan = candidate_plan(kernel, problem, device);
    if (!plan || (best && !(plan->cost < best->plan.cost))) continue;
    const bool needs_all = workspace_bytes != any_workspace && !plan->min_workspace_bytes;
    if (needs_all) complete_plan(kernel, problem, device, *plan);
    if (plan->needed_workspace_bytes() > workspace_bytes) continue;
    best = Choice<Problem>{&kernel, std::move(*plan)};
    is_complete = needs_all;
  }
  if (best && !is_complete) complete_plan(*best->kernel, problem, device, best->plan);
  return best;
}

// A list that ends with the call would leave the choice pointing at nothing.
template <class Problem>
std::optional<Choice<Problem>> select_kernel(const Problem& problem, const Device& device,
                                             const KernelList<Problem>&& kernels,
                                             Math math = Math::fp32,
                                             std::size_t workspace_bytes = any_workspace) = delete;

}  // namespace kw
