// Some neighbouring floats in one load, or as few as there can be.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// From a boundary of 16 bytes where `count` is a multiple of four, of 8 where it is 2.
template <int count>
__device__ __forceinline__ void load_floats(float (&x)[count], const float* from) {
  if constexpr (count % 4 == 0) {
#pragma unroll
    for (int i = 0; i < count; i += 4) {
      const float4 four = *reinterpret_cast<const float4*>(from + i);
      x[i] = four.x, x[i + 1] = four.y, x[i + 2] = four.z, x[i + 3] = four.w;
    }
  } else if constexpr (count == 2) {
    const float2 two = *reinterpret_cast<const float2*>(from);
    x[0] = two.x, x[1] = two.y;
  } else {
    static_assert(count == 1);
    x[0] = *from;
  }
}

}  // namespace KW_TARGET
