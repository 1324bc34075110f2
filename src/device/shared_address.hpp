// Dynamic shared memory by 32-bit addresses: a kernel asks once where it begins, and goes on from
// there by additions. By gpu::dynamic_shared the compiler makes the address anew where it likes to,
// from the number of the block within its cluster, which takes a warp some dozen cycles.
#pragma once

#include <cstdint>

#include "gpu/gpu.hpp"

namespace KW_TARGET {

__device__ __forceinline__ int shared_begin() {
#if defined(__CUDA_ARCH__)
  auto begin = static_cast<unsigned>(__cvta_generic_to_shared(gpu::dynamic_shared<char>()));
  asm volatile("" : "+r"(begin));
  return static_cast<int>(begin);
#else
  return 0;
#endif
}

template <class V>
__device__ __forceinline__ V& shared_at(int at) {
#if defined(__CUDA_ARCH__)
  return *static_cast<V*>(__cvta_shared_to_generic(static_cast<unsigned>(at)));
#else
  return *reinterpret_cast<V*>(gpu::dynamic_shared<char>() + at);
#endif
}

// Accesses that say themselves what memory they mean: of those above in several nested loops the
// compiler finds out for hours.
__device__ __forceinline__ std::uint32_t load_shared_word(int at) {
#if defined(__CUDA_ARCH__)
  std::uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(at) : "memory");
  return word;
#else
  return shared_at<const std::uint32_t>(at);
#endif
}
__device__ __forceinline__ uint2 load_shared_words(int at) {
#if defined(__CUDA_ARCH__)
  uint2 words;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(words.x), "=r"(words.y)
               : "r"(at)
               : "memory");
  return words;
#else
  return shared_at<const uint2>(at);
#endif
}
__device__ __forceinline__ std::uint16_t load_shared_half(int at) {
#if defined(__CUDA_ARCH__)
  std::uint16_t half;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(half) : "r"(at) : "memory");
  return half;
#else
  return shared_at<const std::uint16_t>(at);
#endif
}
__device__ __forceinline__ void store_shared_word(int at, std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(word) : "memory");
#else
  shared_at<std::uint32_t>(at) = word;
#endif
}
__device__ __forceinline__ void store_shared_half(int at, std::uint16_t half) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"(half) : "memory");
#else
  shared_at<std::uint16_t>(at) = half;
#endif
}

}  // namespace KW_TARGET
