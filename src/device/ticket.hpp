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

// What the ticket is. What threads wrote before they took a lower number is visible as above.
__device__ __forceinline__ unsigned see_ticket(const unsigned* ticket) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  unsigned seen;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(ticket) : "memory");
  return seen;
#else
  const unsigned seen = *static_cast<const volatile unsigned*>(ticket);
  __threadfence();
  return seen;
#endif
}

}  // namespace KW_TARGET
