// A block behind those of the tiles: what it computes of the products beside them (beside.hpp).
#pragma once

#include "device/mbarrier.hpp"
#include "sgemm/beside.hpp"
#include "sgemm/thin_block.hpp"

namespace KW_TARGET {

namespace detail {

// A chunk of the narrow operand, later sums.
struct BesideShared {
  alignas(16) float floats[thin_configs[beside_config].shared_floats()];
  bool is_last;
};

// The first threads of a block.
struct BesideThreads {
  __device__ __forceinline__ static void sync() { sync_some_threads<1, beside_threads>(); }
};

// Out of line: a kernel of tiles has each of them as one copy, and its loop the registers that it
// has without them.
template <bool along_k, ThinLoads loads>
[[gnu::noinline]] __device__ void compute_beside(const Sgemm& part, const ThinPlan& plan,
                                                 const Workspace& workspace, unsigned block,
                                                 BesideShared& shared) {
  thin::compute<beside_config, along_k, loads, BesideThreads>(part, plan, workspace, block,
                                                              shared.floats, shared.is_last);
}

}  // namespace detail

// Block `block` of those behind the tiles; all its threads call it.
__device__ __forceinline__ void compute_beside(const Beside& beside, int block, void* memory) {
  const int i = block < beside.blocks[0] ? 0 : 1;
  const auto number = static_cast<unsigned>(i == 0 ? block : block - beside.blocks[0]);
  const Sgemm& part = beside.part[i];
  const ThinPlan& plan = beside.plan[i];
  const Workspace& workspace = beside.workspace[i];
  if (threadIdx.x >= beside_threads) return;
  auto& shared = *static_cast<detail::BesideShared*>(memory);
  if (plan.along_k)
    detail::compute_beside<true, ThinLoads::shifted>(part, plan, workspace, number, shared);
  else
    detail::compute_beside<false, ThinLoads::single>(part, plan, workspace, number, shared);
}

}  // namespace KW_TARGET
