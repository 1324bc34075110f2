// The launch and support functions of the production kernels, one pair a file; registry.cu lists
// them.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET {

KernelLaunch<Sgemm> async_tile_launch;
bool async_tile_supports(const Sgemm& problem, const Device& device);

}  // namespace KW_TARGET
