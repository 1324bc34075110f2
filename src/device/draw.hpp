// Numbers that threads of one launch draw, each of which one of them gets.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// Draws one of the numbers 0 to `last`: who draws the last one leaves the ticket zero. Nothing
// becomes visible by it, and only whoever uses the number waits for it; of an addition the compiler
// would make one for all threads of a warp, which wait.
__device__ __forceinline__ unsigned draw_ticket(unsigned* ticket, unsigned last) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  unsigned drawn;
  asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(drawn)
               : "l"(ticket), "r"(last)
               : "memory");
  return drawn;
#else
  const unsigned drawn = atomicAdd(ticket, 1u);
  if (drawn == last) *ticket = 0;
  return drawn;
#endif
}

}  // namespace KW_TARGET
