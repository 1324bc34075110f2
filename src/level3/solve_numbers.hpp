// What the kernels that solve systems by substitution share: reciprocals of the diagonal.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// Nearly 1 / d, wherever that is a number.
__device__ __forceinline__ float near_reciprocal(float d) {
#if defined(__CUDA_ARCH__)
  float near;
  asm("rcp.approx.f32 %0, %1;" : "=f"(near) : "f"(d));
  return near;
#else
  return 1.0f / d;
#endif
}

// 1 / d as the sum of two floats, so that a quotient by d is rounded once.
struct Reciprocal {
  float near, rest;

  __device__ __forceinline__ explicit Reciprocal(float d) : near(near_reciprocal(d)) {
    const float off = fmaf(-near, d, 1.0f) * near;
    rest = fabsf(off) < fabsf(near) ? off : 0.0f;  // not where 1 / d is no number, or 0
  }
};

}  // namespace KW_TARGET
