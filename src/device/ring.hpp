// A position in the ring of buffers that some warps of a block fill and others empty.
#pragma once

#include "device/mbarrier.hpp"
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

// So many arrivals make a buffer full, and so many leave it. All threads of the block see
// initialised barriers after their next __syncthreads.
template <int stages>
__device__ __forceinline__ void init_ring(Mbarrier (&full)[stages], Mbarrier (&free)[stages],
                                          unsigned fill, unsigned leave) {
  if (threadIdx.x < stages) {
    mbarrier_init(&full[threadIdx.x], fill);
    mbarrier_init(&free[threadIdx.x], leave);
  }
}

}  // namespace KW_TARGET
