// A walk around the buffers that some warps of a block fill and others empty.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// A buffer, and the parity of its barriers' phase (device/mbarrier.hpp) in this round: who empties
// waits for `round` at the full barrier, who fills for the other parity at the free one.
template <int stages>
struct Ring {
  int stage = 0;
  unsigned round = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == stages) stage = 0, round ^= 1;
  }
};

}  // namespace KW_TARGET
