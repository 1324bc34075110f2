// The production kernels of Level3 for GPUs, from which select.hpp chooses.
#include "level3/kernels.hpp"
#include "level3/production.hpp"

namespace KW_TARGET {

KernelList<Level3> level3_production() {
  KernelList<Level3> rows;
  if constexpr (gpu::has_nvidia_kernels) {
    for (const auto& more : {rank_update_rows(), triangle_product_rows(), triangle_solve_rows(),
                             cholesky_rows(), level3_lean_rows(), lean_triangle_rows()})
      rows.insert(rows.end(), more.begin(), more.end());
  }
  for (const auto& more : {level3_tile_rows(), level3_lines_rows(), level3_few_rows()})
    rows.insert(rows.end(), more.begin(), more.end());
  rows.push_back({.name = "level3_loop",
                  .parent = nullptr,
                  .idea = "an element or a line of C a thread",
                  .role = Role::production,
                  .math = Math::fp32,
                  .supports = level3_loop_supports,
                  .workspace_bytes = no_workspace<Level3>,
                  .launch = level3_loop_launch});
  return rows;
}

}  // namespace KW_TARGET
