// Tickets, by which the blocks of one launch learn which of them comes last.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// Adds one to the ticket and returns what it was. What this thread wrote before is visible, on the
// whole device, to every thread that later takes a higher number of the same ticket; threads of its
// block after a barrier included (PTX ISA, "Memory Consistency Model": acquire and release
// patterns).
__device__ __forceinline__ unsigned take_ticket(unsigned* ticket) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  unsigned taken;
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;"
               : "=r"(taken)
               : "l"(ticket)
               : "memory");
  return taken;
#else
  __threadfence();
  const unsigned taken = atomicAdd(ticket, 1u);
  __threadfence();
  return taken;
#endif
}

}  // namespace KW_TARGET
