// Which kernel computes a reduction.
#pragma once

#include "reduce/problem.hpp"

namespace kw {

// The first kernel of the list, in its order, that supports the problem; null where there is none.
const Kernel<Reduce>* select_reduce(const Reduce& problem, const Device& device,
                                    const KernelList<Reduce>& kernels);

}  // namespace kw
