// Which kernel computes a reduction.
#include "reduce/select.hpp"

#include <algorithm>

namespace kw {

const Kernel<Reduce>* select_reduce(const Reduce& problem, const Device& device,
                                    const KernelList<Reduce>& kernels) {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const auto& kernel) {
    return kernel.supports(problem, device);
  });
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace kw
