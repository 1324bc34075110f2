// What the files of the production kernels give to registry.cu: rows, or the functions of a row.
#pragma once

#include <optional>

#include "gpu/gpu.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET {

KernelLaunch<Sgemm> async_tile_launch;
bool async_tile_supports(const Sgemm& problem, const Device& device);

// registry.cu: all rows in plain fp32, and those among them that take one launch
KernelList<Sgemm> sgemm_fp32();
KernelList<Sgemm> sgemm_in_one_launch();

KernelList<Sgemm> ragged_rows();  // ragged.cu

KernelList<Sgemm> side_by_side_rows();  // side_by_side.cu

KernelList<Sgemm> stream_tile_rows();  // stream_tile.cu: one per configuration

KernelList<Sgemm> parts_rows();  // stream/parts.cu: one per tile

KernelList<Sgemm> small_tile_rows();  // small_tile.cu: one per configuration

KernelList<Sgemm> lean_tile_rows();  // lean_tile.cu: one per configuration

// thin.cu
std::optional<Plan<Sgemm>> thin_make_plan(const Sgemm& problem, const Device& device);
Status thin_launch_plan(const Sgemm& problem, const Device& device, const Plan<Sgemm>& plan,
                        Workspace workspace, Stream stream);

KernelList<Sgemm> hopper_bf16x6_rows();  // sgemm/hopper/bf16x6.cu: one per tile
KernelList<Sgemm> hopper_fp16x3_rows();  // sgemm/hopper/fp16x3.cu: one per tile

}  // namespace KW_TARGET
