// The launch functions of the GPU's row-wise operations; registry.cu makes the table of them.
#pragma once

#include <optional>

#include "gpu/gpu.hpp"
#include "rowwise/problem.hpp"

namespace KW_TARGET {

KernelLaunch<Rowwise> rowwise_plain, rowwise_tile, rowwise_rows, rowwise_shared, rowwise_spread,
    rowwise_map;

bool rowwise_plain_supports(const Rowwise& problem, const Device& device);
bool rowwise_tile_supports(const Rowwise& problem, const Device& device);
bool rowwise_rows_supports(const Rowwise& problem, const Device& device);
bool rowwise_shared_supports(const Rowwise& problem, const Device& device);
std::size_t rowwise_spread_workspace(const Rowwise& problem, const Device& device);

// rowwise_ring.cu
std::optional<Plan<Rowwise>> rowwise_ring_make_plan(const Rowwise& problem, const Device& device);
// The plan of teams of so many blocks, that are clusters or not, with groups of threads where these
// may have the rows, where others may be quicker; nothing where the teams cannot have the rows.
std::optional<Plan<Rowwise>> rowwise_ring_plan_of(const Rowwise& problem, const Device& device,
                                                  int blocks, bool clusters, bool groups);
Status rowwise_ring_launch_plan(const Rowwise& problem, const Device& device,
                                const Plan<Rowwise>& plan, Workspace workspace, Stream stream);

}  // namespace KW_TARGET
