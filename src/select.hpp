// Which kernel computes a problem.
#pragma once

#include <limits>

#include "kernel.hpp"

namespace kw {

template <class Problem>
bool computes(const Kernel<Problem>& kernel, const Problem& problem, const Device& device,
              Math math) {
  return kernel.math == math && kernel.supports(problem, device);
}

// Among the kernels that compute in `math` and support the problem, the one with the shortest
// prediction. A kernel that makes none comes after those that do; among equals the list's order
// decides, so a list without predictions is written from the most special kernel to the most
// general. Null where no kernel is left.
template <class Problem>
const Kernel<Problem>* select_kernel(const Problem& problem, const Device& device,
                                     const KernelList<Problem>& kernels, Math math = Math::fp32) {
  const Kernel<Problem>* best = nullptr;
  double best_us = 0;
  for (const Kernel<Problem>& kernel : kernels) {
    if (!computes(kernel, problem, device, math)) continue;
    const double us = kernel.predicted_us != nullptr ? kernel.predicted_us(problem, device)
                                                     : std::numeric_limits<double>::infinity();
    if (best != nullptr && !(us < best_us)) continue;
    best = &kernel;
    best_us = us;
  }
  return best;
}

}  // namespace kw
