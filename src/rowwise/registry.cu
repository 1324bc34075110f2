// The GPU kernels that compute Rowwise, most special first.
#include "rowwise/gpu_kernels.hpp"
#include "rowwise/kernels.hpp"

namespace KW_TARGET {
namespace {

bool is_map(const Rowwise& p, const Device&) { return p.op == RowwiseOp::map; }
bool looks_at_rows(const Rowwise& p, const Device&) { return p.op != RowwiseOp::map; }

}  // namespace

KernelList<Rowwise> rowwise_production() {
  KernelList<Rowwise> kernels;
  if constexpr (gpu::has_nvidia_kernels) {
    kernels.push_back(
        {"rowwise_tile", nullptr, "tiles of short rows in shared memory, a warp alone with each",
         Role::production, Math::fp32, rowwise_tile_supports, no_workspace<Rowwise>, rowwise_tile});
    kernels.push_back({"rowwise_plain", nullptr,
                       "a plain row in packs in the registers of lanes or of warps",
                       Role::production, Math::fp32, rowwise_plain_supports, no_workspace<Rowwise>,
                       rowwise_plain});
    kernels.push_back({.name = "rowwise_ring",
                       .parent = nullptr,
                       .idea = "a plain row through rings in the shared memory of a team of blocks",
                       .role = Role::production,
                       .math = Math::fp32,
                       .make_plan = rowwise_ring_make_plan,
                       .launch_plan = rowwise_ring_launch_plan});
  }
  kernels.push_back({"rowwise_rows", nullptr,
                     "a row in the registers of some lanes, a warp or a block", Role::production,
                     Math::fp32, rowwise_rows_supports, no_workspace<Rowwise>, rowwise_rows});
  if constexpr (gpu::has_nvidia_kernels) {
    kernels.push_back({"rowwise_shared", nullptr,
                       "a row in a block's shared memory, or a cluster's", Role::production,
                       Math::fp32, rowwise_shared_supports, no_workspace<Rowwise>, rowwise_shared});
  }
  kernels.push_back({"rowwise_spread", nullptr,
                     "slices of a row over many blocks, read again from L2", Role::production,
                     Math::fp32, looks_at_rows, rowwise_spread_workspace, rowwise_spread});
  kernels.push_back({"rowwise_map", nullptr, "elements of all rows alike over the threads",
                     Role::production, Math::fp32, is_map, no_workspace<Rowwise>, rowwise_map});
  return kernels;
}

}  // namespace KW_TARGET
