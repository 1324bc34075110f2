// Which lines the L2 cache shall give up first (PTX ISA, "createpolicy" and ".L2::cache_hint"; from
// sm_90 on, elsewhere plain accesses). For data that a chain of kernels writes and reads once:
// lines that wait in vain push out those that are still to be read, and each dirty one is a write
// to memory.
#pragma once

#include <cstdint>

#include "gpu/gpu.hpp"

namespace KW_TARGET {

struct CachePolicy {
  std::uint64_t bits = 0;
};

// The lines go before all others.
__device__ __forceinline__ CachePolicy evict_first() {
  CachePolicy policy;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy.bits));
#endif
  return policy;
}

__device__ __forceinline__ float load(const float* from, [[maybe_unused]] CachePolicy policy) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  float x;
  asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;"
               : "=f"(x)
               : "l"(from), "l"(policy.bits)
               : "memory");
  return x;
#else
  return *from;
#endif
}
__device__ __forceinline__ float4 load(const float4* from, [[maybe_unused]] CachePolicy policy) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  float4 x;
  asm volatile("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "l"(from), "l"(policy.bits)
               : "memory");
  return x;
#else
  return *from;
#endif
}
__device__ __forceinline__ void store(float4* to, float4 x, [[maybe_unused]] CachePolicy policy) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to), "f"(x.x),
               "f"(x.y), "f"(x.z), "f"(x.w), "l"(policy.bits)
               : "memory");
#else
  *to = x;
#endif
}

}  // namespace KW_TARGET
