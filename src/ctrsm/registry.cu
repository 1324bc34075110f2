// The production kernels of Ctrsm for GPUs, from which select.hpp chooses.
#include "ctrsm/kernels.hpp"
#include "ctrsm/production.hpp"

namespace KW_TARGET {
namespace {

bool takes_any(const Ctrsm&, const Device&) { return true; }

}  // namespace

KernelList<Ctrsm> ctrsm_production() {
  KernelList<Ctrsm> rows;
  if constexpr (gpu::has_nvidia_kernels) rows = ctrsm_blocks_rows();
  rows.push_back({.name = "ctrsm_loop",
                  .parent = nullptr,
                  .idea = "a line of unknowns a thread",
                  .role = Role::production,
                  .math = Math::fp32,
                  .supports = takes_any,
                  .workspace_bytes = no_workspace<Ctrsm>,
                  .launch = ctrsm_loop_launch});
  return rows;
}

}  // namespace KW_TARGET
