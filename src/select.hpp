// Which kernel computes a problem.
#pragma once

#include <cstddef>
#include <limits>

#include "kernel.hpp"

namespace kw {

// A kernel in plain fp32 keeps what fp32_split promises.
template <class Problem>
bool computes(const Kernel<Problem>& kernel, const Problem& problem, const Device& device,
              Math math) {
  return (kernel.math == math || kernel.math == Math::fp32) && kernel.supports(problem, device);
}

// The workspace without which the kernel does not work.
template <class Problem>
std::size_t needed_workspace_bytes(const Kernel<Problem>& kernel, const Problem& problem,
                                   const Device& device) {
  return kernel.min_workspace_bytes != nullptr ? kernel.min_workspace_bytes(problem, device)
                                               : kernel.workspace_bytes(problem, device);
}

constexpr std::size_t any_workspace = std::numeric_limits<std::size_t>::max();

// Among the kernels that compute in `math`, support the problem and work with that much workspace,
// the one with the shortest prediction. A kernel that makes none comes after those that do; among
// equals the list's order decides, so a list without predictions is written from the most special
// kernel to the most general. Null where no kernel is left.
template <class Problem>
const Kernel<Problem>* select_kernel(const Problem& problem, const Device& device,
                                     const KernelList<Problem>& kernels, Math math = Math::fp32,
                                     std::size_t workspace_bytes = any_workspace) {
  const Kernel<Problem>* best = nullptr;
  double best_us = 0;
  for (const Kernel<Problem>& kernel : kernels) {
    if (!computes(kernel, problem, device, math)) continue;
    if (workspace_bytes != any_workspace &&
        needed_workspace_bytes(kernel, problem, device) > workspace_bytes)
      continue;
    const double us = kernel.predicted_us != nullptr ? kernel.predicted_us(problem, device)
                                                     : std::numeric_limits<double>::infinity();
    if (best != nullptr && !(us < best_us)) continue;
    best = &kernel;
    best_us = us;
  }
  return best;
}

}  // namespace kw
