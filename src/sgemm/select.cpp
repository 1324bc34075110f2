// Which kernel computes a product.
#include "sgemm/select.hpp"

#include <algorithm>

namespace kw {

const Kernel<Sgemm>* select_sgemm(const Sgemm& problem, const Device& device,
                                  const KernelList<Sgemm>& kernels, Math math) {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const auto& kernel) {
    return kernel.math == math && kernel.supports(problem, device);
  });
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace kw
