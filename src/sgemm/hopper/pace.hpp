// Keeps the blocks of a long product at about the same k.
//
// Tiles in flight share rows and columns, and the first block that copies a stage of them brings it
// to L2 for the others. Nothing holds the blocks together: where the copies of a block that is
// ahead come from memory, its ring hides that. The longer k is, the further they part, until L2 has
// lost a stage before the last block copies it, and memory sets the time. So each block arrives at
// a counter every pace_stages stages, and does not pass the next step before all have arrived at
// this one.
//
// Only time depends on it: a block that sees no progress for a while, since another one is not on
// the device yet, waits no more.
#pragma once

#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/params.hpp"
#include "sgemm/hopper/tuning.hpp"

namespace KW_TARGET::hopper {

// Of one of a block's producers. All lanes of its warp call the member functions.
class Pace {
 public:
  __device__ __forceinline__ explicit Pace(const ProductParams& params)
      : params_(params), blocks_(static_cast<unsigned>(params.schedule.blocks)) {}

  // Before a stage of a tile is copied.
  __device__ __forceinline__ void before(int tile, int stage) {
    if (tile >= params_.schedule.paced_tiles || stage == 0) return;
    // What the step compares is asked for long before it, so that nothing waits for the answer.
    if (stage % pace_stages == pace_stages / 2) arrived_ = look();
    if (stage % pace_stages == 0) step();
  }
  // Whether it still waits for the others.
  __device__ __forceinline__ bool waits() const { return blocks_ > 0; }

 private:
  // Arrivals of all blocks at all steps.
  __device__ __forceinline__ unsigned look() const {
    return *static_cast<const volatile unsigned*>(&params_.control->paced);
  }
  __device__ __forceinline__ void step() {
    for (int looks = 0; arrived_ < due_; ++looks) {
      if (looks == most_looks) blocks_ = due_ = 0;
      arrived_ = look();
    }
    if (elect_one()) atomicAdd(&params_.control->paced, 1u);
    __syncwarp();  // no lane waits for its own block's arrival
    due_ += blocks_;
  }

  const ProductParams& params_;
  unsigned blocks_;  // that it waits for; 0: for none any more
  unsigned arrived_ = 0, due_ = 0;
};

}  // namespace KW_TARGET::hopper
