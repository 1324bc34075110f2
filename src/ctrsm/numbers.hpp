// What the kernels that solve complex systems by substitution share. Elements are pairs of floats.
#pragma once

#include "cgemm/problem.hpp"
#include "gpu/gpu.hpp"
#include "level3/substitution.hpp"

namespace KW_TARGET {

__device__ __forceinline__ void add_product(float2& sum, const float2& x, const float2& y) {
  sum.x = fmaf(x.x, y.x, sum.x);
  sum.y = fmaf(x.x, y.y, sum.y);
  sum.x = fmaf(-x.y, y.y, sum.x);
  sum.y = fmaf(x.y, y.x, sum.y);
}

__device__ __forceinline__ bool is_a_number(const float2& x) { return x.x == x.x && x.y == x.y; }

// left - taken = right - (sum + more), where there is no infinity.
__device__ __forceinline__ void take_sums(float right, float sum, float more, float& left,
                                          float& taken) {
  float all, rounded, off;
  two_difference(sum, -more, all, rounded);
  two_difference(right, all, left, off);
  const float both = off - rounded;
  taken = both == both ? both : 0.0f;
}

// A reciprocal as the sum of two numbers, made in double, in which no square of a float overflows
// or vanishes. That of 1 takes no time.
struct ComplexReciprocal {
  float2 near = {1, 0}, rest = {0, 0};

  __device__ __forceinline__ explicit ComplexReciprocal(const Complex& d) {
    if (d.re == 1 && d.im == 0) return;
    const double by_size = 1 / (double{d.re} * d.re + double{d.im} * d.im);
    const double re = d.re * by_size, im = -d.im * by_size;
    near = make_float2(static_cast<float>(re), static_cast<float>(im));
    rest = make_float2(static_cast<float>(re - near.x), static_cast<float>(im - near.y));
  }
};

__device__ __forceinline__ float2 quotient(const float2& z, const float2& near,
                                           const float2& rest) {
  float2 x = make_float2(0, 0);
  add_product(x, z, rest);
  add_product(x, z, near);
  return x;
}

// Without what is left of the reciprocal: that may be 0, and no infinity times 0 is a number.
__device__ __forceinline__ float2 quotient(const float2& z, const float2& near) {
  return make_float2(z.x * near.x - z.y * near.y, z.y * near.x + z.x * near.y);
}

// An unknown's right-hand side less what the others take: `sum`, and last what the unknown before
// does, which where unknowns grow is the largest. Where that `rounds_once`, the sum's own rounding
// is not the result's; of infinite elements the result is then no number.
template <bool rounds_once>
__device__ __forceinline__ float2 all_taken(const float2& left, const float2& sum, const float2& a,
                                            const float2& before) {
  float2 near = make_float2(left.x - sum.x, left.y - sum.y), last = make_float2(0, 0);
  if constexpr (rounds_once) {
    two_difference(left.x, sum.x, near.x, last.x);
    two_difference(left.y, sum.y, near.y, last.y);
  }
  add_product(last, a, before);
  return make_float2(near.x - last.x, near.y - last.y);
}

}  // namespace KW_TARGET
