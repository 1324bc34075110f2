// A whole warp waits at a barrier in shared memory, and the compiler knows that its lanes go on
// together.
#pragma once

#include "device/mbarrier.hpp"
#include "device/warp.hpp"

namespace KW_TARGET {

// As mbarrier_wait, for all lanes of a warp. Where lanes might leave the wait one by one, ptxas
// makes every branch of a loop around it a point where they meet again, and counts in registers of
// each lane what is the same in all.
__device__ __forceinline__ void mbarrier_wait_together([[maybe_unused]] Mbarrier* barrier,
                                                       [[maybe_unused]] unsigned parity) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  unsigned over;
  do {
    asm volatile(
        "{\n\t.reg .pred over;\n\tmbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, over;\n\t}"
        : "=r"(over)
        : "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "r"(parity)
        : "memory");
  } while (any_of_warp(over == 0));
#else
  mbarrier_wait(barrier, parity);
#endif
}

}  // namespace KW_TARGET
