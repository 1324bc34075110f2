// A position in the ring of buffers that some warps of a block fill and others empty.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// A buffer, and the parity of its barriers' phase (device/mbarrier.hpp) in this round. The warps
// that empty it wait for `round` at its full barrier; those that fill it wait for the other parity
// at its free barrier.
template <int stages>
struct Ring {
  int stage = 0;
  unsigned round = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == stages) stage = 0, round ^= 1;
  }
};

}  // namespace KW_TARGET
