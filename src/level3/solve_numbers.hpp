// What the kernels that solve systems by substitution share: reciprocals of the diagonal, and what
// is left of a right-hand side.
#pragma once

#include "gpu/gpu.hpp"
#include "level3/substitution.hpp"

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

// left - taken = alpha * right - sum, where there is no infinity.
__device__ __forceinline__ void subtract(float alpha, float right, float sum, float& left,
                                         float& taken) {
  const float scaled = fmaf(alpha, right, 0.0f);  // no part of an fma with the sum
  float off;
  two_difference(scaled, sum, left, off);
  taken = off == off ? off : 0.0f;
}

// An unknown's right-hand side less what the others take: `sum`, and last what the unknown before
// does, which where unknowns grow is the largest. Where that `rounds_once`, the sum's own rounding
// is not the result's; of infinite elements the result is then no number.
template <bool rounds_once>
__device__ __forceinline__ float all_taken(float left, float sum, float a, float before) {
  float near = left - sum, off;
  if constexpr (!rounds_once) return fmaf(-a, before, near);
  two_difference(left, sum, near, off);
  return near - fmaf(a, before, off);
}

}  // namespace KW_TARGET
