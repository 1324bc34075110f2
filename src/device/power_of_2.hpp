// Exponentials as one instruction has them: powers of two.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

constexpr float log2_e = 1.44269504088896340736f;

// 2^x within 2 ulp; 0 where that is below the least normal number.
__device__ __forceinline__ float power_of_2(float x) {
#if defined(__CUDA_ARCH__)
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  return exp2f(x);
#endif
}

}  // namespace KW_TARGET
