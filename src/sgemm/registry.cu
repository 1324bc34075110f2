// The production kernels of Sgemm for GPUs, from which select.hpp chooses.
#include "sgemm/kernels.hpp"
#include "sgemm/production.hpp"

namespace KW_TARGET {

KernelList<Sgemm> sgemm_in_one_launch() {
  KernelList<Sgemm> rows;
  if constexpr (gpu::has_nvidia_kernels) rows = stream_tile_rows();
  const KernelList<Sgemm> others = {
      {.name = "async_tile",
       .parent = nullptr,
       .idea = "128x128x16 tile, cp.async ring of 3, 8x8 per thread, any transpose",
       .role = Role::production,
       .math = Math::fp32,
       .supports = async_tile_supports,
       .workspace_bytes = no_workspace<Sgemm>,
       .launch = async_tile_launch},
      {.name = "thin",
       .parent = nullptr,
       .idea = "m or n <= 16: the other operand read once, k over threads and blocks",
       .role = Role::production,
       .math = Math::fp32,
       .make_plan = thin_make_plan,
       .launch_plan = thin_launch_plan},
  };
  rows.insert(rows.end(), others.begin(), others.end());
  const KernelList<Sgemm> small = small_tile_rows();
  rows.insert(rows.end(), small.begin(), small.end());
  if constexpr (gpu::has_nvidia_kernels) {
    const KernelList<Sgemm> lean = lean_tile_rows();
    rows.insert(rows.end(), lean.begin(), lean.end());
  }
  return rows;
}

KernelList<Sgemm> sgemm_fp32() {
  KernelList<Sgemm> rows = sgemm_in_one_launch();
  if constexpr (gpu::has_nvidia_kernels) {
    const KernelList<Sgemm> parts = parts_rows();
    rows.insert(rows.end(), parts.begin(), parts.end());
    const KernelList<Sgemm> side_by_side = side_by_side_rows();
    rows.insert(rows.end(), side_by_side.begin(), side_by_side.end());
  }
  const KernelList<Sgemm> ragged = ragged_rows();
  rows.insert(rows.end(), ragged.begin(), ragged.end());
  return rows;
}

KernelList<Sgemm> sgemm_production() {
  KernelList<Sgemm> rows = sgemm_fp32();
  if constexpr (gpu::has_nvidia_kernels) {
    for (const auto& more : {hopper_bf16x6_rows(), hopper_fp16x3_rows()})
      rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace KW_TARGET
