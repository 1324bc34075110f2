// Which kernel computes scale * A + shift.
#pragma once

#include "scale_add/problem.hpp"

namespace kw {

// The first kernel of the list, in its order, that supports the problem; null where there is none.
const Kernel<ScaleAdd>* select_scale_add(const ScaleAdd& problem, const Device& device,
                                         const KernelList<ScaleAdd>& kernels);

}  // namespace kw
