// Loads and stores of data that a chain of kernels reads or writes once: L2 gives their lines up
// before all others (PTX ISA, "createpolicy" and ".L2::cache_hint"; from sm_90 on, elsewhere plain
// accesses). Lines that stay without being read again evict lines that are still to be read, and
// each dirty one is a write to memory.
#pragma once

#include <cstdint>

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// Asks L2 for the line of an address that will be read; nothing waits.
__device__ __forceinline__ void prefetch_to_l2([[maybe_unused]] const float* address) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#endif
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

__device__ __forceinline__ std::uint64_t evict_first() {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
__device__ __forceinline__ std::uint64_t evict_normal() {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
__device__ __forceinline__ float load_once(const float* from) {
  float x;
  asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;"
               : "=f"(x)
               : "l"(from), "l"(evict_first())
               : "memory");
  return x;
}
__device__ __forceinline__ float4 load_once(const float4* from) {
  float4 x;
  asm volatile("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "l"(from), "l"(evict_first())
               : "memory");
  return x;
}
__device__ __forceinline__ void store_once(float4* to, float4 x) {
  asm volatile("st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to), "f"(x.x),
               "f"(x.y), "f"(x.z), "f"(x.w), "l"(evict_first())
               : "memory");
}

#else

template <class T>
__device__ __forceinline__ T load_once(const T* from) {
  return *from;
}
__device__ __forceinline__ void store_once(float4* to, float4 x) { *to = x; }

#endif

}  // namespace KW_TARGET
