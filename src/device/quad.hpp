// Four neighbouring accumulators of a thread, as they are left in memory.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// What a thread stores in 16 bytes comes from an aligned quad of registers, and ptxas keeps the
// accumulators in these quads throughout. So neighbours swap places: the accumulator of column j
// then lies in the other register bank than b's element j, which comes by a load of 16 bytes.
__device__ __forceinline__ float4 quad_of(const float* x) {
  return make_float4(x[1], x[0], x[3], x[2]);
}
// x = those of a quad; x += those.
__device__ __forceinline__ void take_quad(const float4& quad, float* x) {
  x[1] = quad.x, x[0] = quad.y, x[3] = quad.z, x[2] = quad.w;
}
__device__ __forceinline__ void add_quad(const float4& quad, float* x) {
  x[1] += quad.x, x[0] += quad.y, x[3] += quad.z, x[2] += quad.w;
}

}  // namespace KW_TARGET
