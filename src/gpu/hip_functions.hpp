// CUDA's functions that HIP does not have, for kernel text that uses them; gpu.hpp includes this.
// They lie in KW_TARGET, so that those which a later HIP brings do no harm.
//   Lanes   A wavefront has 64 lanes on gfx9, 32 on gfx10 and later; kernels exchange within groups
//           of 32 (device/warp.hpp). Lanes go together by themselves, so an exchange needs no mask;
//           a vote is that of the lanes which the mask names.
//   Bounds  CUDA's second launch bound counts blocks per SM, that of hipcc wavefronts per SIMD, of
//           which a compute unit of gfx9 has four.
//   Caches  A hint is a plain access; a load past the L1 cache is one of the device's scope.
#pragma once

#include <hip/hip_runtime.h>

#include <type_traits>

#define __grid_constant__  // a kernel's parameters are read-only memory to begin with
#undef __launch_bounds__
#define __launch_bounds__(threads, ...)                                  \
  __attribute__((amdgpu_flat_work_group_size(1, (threads)))) __VA_OPT__( \
      __attribute__((amdgpu_waves_per_eu(kw::on_hip::waves_a_simd((threads), (__VA_ARGS__))))))

namespace kw::on_hip {

// What __launch_bounds__ asks for.
constexpr int waves_a_simd(int threads, int blocks) {
  const int waves = blocks * ((threads + 63) / 64);
  return waves < 4 ? 1 : waves / 4;
}

// NOLINTBEGIN(bugprone-reserved-identifier): the names are CUDA's.

// Lanes run in step as it is; what this keeps is the order of their memory accesses.
__device__ __forceinline__ void __syncwarp(unsigned long long = ~0ull) {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
}

template <class T>
__device__ __forceinline__ T __shfl_sync(unsigned long long, T value, int lane,
                                         int width = warpSize) {
  return __shfl(value, lane, width);
}
template <class T>
__device__ __forceinline__ T __shfl_up_sync(unsigned long long, T value, unsigned delta,
                                            int width = warpSize) {
  return __shfl_up(value, delta, width);
}
template <class T>
__device__ __forceinline__ T __shfl_down_sync(unsigned long long, T value, unsigned delta,
                                              int width = warpSize) {
  return __shfl_down(value, delta, width);
}
template <class T>
__device__ __forceinline__ T __shfl_xor_sync(unsigned long long, T value, int lanes,
                                             int width = warpSize) {
  return __shfl_xor(value, lanes, width);
}
__device__ __forceinline__ int __any_sync(unsigned long long mask, int predicate) {
  return (__ballot(predicate) & mask) != 0;
}
__device__ __forceinline__ int __all_sync(unsigned long long mask, int predicate) {
  return (__ballot(predicate == 0) & mask) == 0;
}
__device__ __forceinline__ unsigned long long __ballot_sync(unsigned long long mask,
                                                            int predicate) {
  return __ballot(predicate) & mask;
}

template <class T>
__device__ __forceinline__ T __ldcg(const T* address) {
  T value;
  using Word = std::conditional_t<sizeof(T) % 8 == 0, unsigned long long, unsigned>;
  static_assert(sizeof(T) % sizeof(Word) == 0);
  Word words[sizeof(T) / sizeof(Word)];
#pragma unroll
  for (unsigned i = 0; i < sizeof(T) / sizeof(Word); ++i)
    words[i] = __hip_atomic_load(reinterpret_cast<const Word*>(address) + i, __ATOMIC_RELAXED,
                                 __HIP_MEMORY_SCOPE_AGENT);
  memcpy(&value, words, sizeof(T));
  return value;
}
template <class T>
__device__ __forceinline__ T __ldcs(const T* address) {
  return *address;
}
template <class T>
__device__ __forceinline__ void __stcs(T* address, std::type_identity_t<T> value) {
  *address = value;
}

// NOLINTEND(bugprone-reserved-identifier)

}  // namespace kw::on_hip
