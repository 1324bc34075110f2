// Where instructions stay that ptxas would move: it orders those of a basic block among each other,
// and none across its end.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// Ends a basic block by an exit that is never taken, since `number` is not negative, which the
// compiler does not know. It takes one instruction, or two.
__device__ __forceinline__ void end_basic_block([[maybe_unused]] int number) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "{\n\t.reg .pred never;\n\tsetp.lt.s32 never, %0, 0;\n\t@never exit;\n\t}" ::"r"(number)
      : "memory");
#endif
}

}  // namespace KW_TARGET
