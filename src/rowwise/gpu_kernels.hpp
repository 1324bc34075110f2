// The launch functions of the GPU's row-wise operations; registry.cu makes the table of them.
#pragma once

#include "gpu/gpu.hpp"
#include "rowwise/problem.hpp"

namespace KW_TARGET {

KernelLaunch<Rowwise> rowwise_plain, rowwise_ring, rowwise_rows, rowwise_shared, rowwise_spread,
    rowwise_map;

bool rowwise_plain_supports(const Rowwise& problem, const Device& device);
bool rowwise_ring_supports(const Rowwise& problem, const Device& device);
bool rowwise_rows_supports(const Rowwise& problem, const Device& device);
bool rowwise_shared_supports(const Rowwise& problem, const Device& device);
std::size_t rowwise_ring_workspace(const Rowwise& problem, const Device& device);
std::size_t rowwise_spread_workspace(const Rowwise& problem, const Device& device);

}  // namespace KW_TARGET
