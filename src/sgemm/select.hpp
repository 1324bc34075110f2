// Which kernel computes a product.
#pragma once

#include "sgemm/problem.hpp"

namespace kw {

// The first kernel of the list, in its order, that computes in `math` and supports the problem: a
// list is written from the most special kernel to the most general. Null where there is none.
const Kernel<Sgemm>* select_sgemm(const Sgemm& problem, const Device& device,
                                  const KernelList<Sgemm>& kernels, Math math);

}  // namespace kw
