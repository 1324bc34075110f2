// The kernel in plain fp32 for a product that is a part of another kernel's call: ragged's parts,
// and the fallback of the split kernels. It takes one launch, so that a condition, or the overlap
// with the call's other launches, holds for all of it.
#pragma once

#include <cstddef>

#include "select.hpp"
#include "sgemm/production.hpp"

namespace KW_TARGET {

// The one that costs least among those that work with so much workspace. There always is one that
// needs none: async_tile for full problems, stream_tile with whole tiles for the others.
inline Choice<Sgemm> select_in_one_launch(const Sgemm& problem, const Device& device,
                                          std::size_t workspace_bytes = any_workspace) {
  static const KernelList<Sgemm> kernels = sgemm_in_one_launch();
  return *select_kernel(problem, device, kernels, Math::fp32, workspace_bytes);
}

}  // namespace KW_TARGET
