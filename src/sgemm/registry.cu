// The production kernels of Sgemm for GPUs, in the order in which select.cpp asks them.
#include "sgemm/kernels.hpp"
#include "sgemm/production.hpp"

namespace KW_TARGET {

KernelList<Sgemm> sgemm_production() {
  return {
      {.name = "async_tile",
       .parent = nullptr,
       .idea = "128x128x16 tile, cp.async ring of 3, 8x8 a thread, any transpose",
       .role = Role::production,
       .math = Math::fp32,
       .supports = async_tile_supports,
       .workspace_bytes = no_workspace<Sgemm>,
       .launch = async_tile_launch},
  };
}

}  // namespace KW_TARGET
