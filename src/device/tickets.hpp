// Several numbers of a ticket (ticket.hpp) at once, for a block that arrives with several parts.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// Adds `count` to the ticket and returns what it was. What is visible to whom is as take_ticket
// has it.
__device__ __forceinline__ unsigned take_tickets(unsigned* ticket, unsigned count) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  unsigned taken;
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;"
               : "=r"(taken)
               : "l"(ticket), "r"(count)
               : "memory");
  return taken;
#else
  __threadfence();
  const unsigned taken = atomicAdd(ticket, count);
  __threadfence();
  return taken;
#endif
}

}  // namespace KW_TARGET
