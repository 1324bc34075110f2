// Which kernel computes scale * A + shift.
#include "scale_add/select.hpp"

#include <algorithm>

namespace kw {

const Kernel<ScaleAdd>* select_scale_add(const ScaleAdd& problem, const Device& device,
                                         const KernelList<ScaleAdd>& kernels) {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const auto& kernel) {
    return kernel.supports(problem, device);
  });
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace kw
