// How the threads of `thin` load from the wide operand, and what L2 keeps of it for the next call.
#pragma once

#include "device/cache_hint.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/thin_plan.hpp"

namespace KW_TARGET::thin {

// A way to load: of loads of four floats L1 keeps none. cgemm_thin loads two at a time.
struct PlainLoads {
  __device__ __forceinline__ float one(const float* x) const { return __ldg(x); }
  __device__ __forceinline__ float2 two(const float2* x) const { return __ldg(x); }
  __device__ __forceinline__ void four(float (&to)[4], const float* x) const {
#if defined(__CUDA_ARCH__)
    asm("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
        : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
        : "l"(x));
#else
    const float4 read = *reinterpret_cast<const float4*>(x);
    to[0] = read.x, to[1] = read.y, to[2] = read.z, to[3] = read.w;
#endif
  }
};

// L2 keeps what all steps read.
struct PlainReader {
  __device__ explicit PlainReader(std::uint32_t) {}
  __device__ explicit PlainReader(const ThinPlan&) {}
  template <class Step>
  __device__ __forceinline__ void step(const Step& step) {
    step(PlainLoads());
  }
  template <class Step>
  __device__ __forceinline__ void step_by_all(const Step& step) {
    step(PlainLoads());
  }
  template <bool plain, class Step>
  __device__ __forceinline__ void step_by_each(const Step& step) {
    step(PlainLoads());
  }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

// L2 treats these lines as the policy says.
struct LoadsBy {
  std::uint64_t policy;
  __device__ __forceinline__ float one(const float* x) const {
    float read;
    asm("ld.global.nc.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(read) : "l"(x), "l"(policy));
    return read;
  }
  __device__ __forceinline__ float2 two(const float2* x) const {
    float2 read;
    asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v2.f32 {%0, %1}, [%2], %3;"
        : "=f"(read.x), "=f"(read.y)
        : "l"(x), "l"(policy));
    return read;
  }
  __device__ __forceinline__ void four(float (&to)[4], const float* x) const {
    asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
        : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
        : "l"(x), "l"(policy));
  }
};

// L2 keeps what the steps read whose bit is set in the plan. Call after call then finds these in
// L2, where an operand that L2 cannot hold would otherwise push out its own beginning. Blocks begin
// at different bits, so that each multiprocessor reads from both.
class StepReader {
 public:
  __device__ explicit StepReader(std::uint32_t kept_steps)
      : kept_(rotated(kept_steps, blockIdx.x * 5 % 32)) {}
  __device__ explicit StepReader(const ThinPlan& plan) : StepReader(plan.kept_steps) {}
  template <class Step>
  __device__ __forceinline__ void step(const Step& step) {
    step(LoadsBy{keeps() ? evict_normal() : evict_first()});
    move_on();
  }
  // Where L2 keeps all steps, plain loads: a policy is an instruction or two more for each.
  template <class Step>
  __device__ __forceinline__ void step_by_all(const Step& step) {
    if (kept_ == ~0U)
      step(PlainLoads());
    else
      step(LoadsBy{keeps() ? evict_normal() : evict_first()});
    move_on();
  }
  // Loads of their own for steps that are kept, plain ones or not.
  template <bool plain, class Step>
  __device__ __forceinline__ void step_by_each(const Step& step) {
    if (!keeps())
      step(LoadsBy{evict_first()});
    else if constexpr (plain)
      step(PlainLoads());
    else
      step(LoadsBy{evict_normal()});
    move_on();
  }

 private:
  __device__ bool keeps() const { return (kept_ & 1) != 0; }
  __device__ void move_on() { kept_ = rotated(kept_, 1); }
  __device__ static unsigned rotated(unsigned bits, unsigned by) {
    return __funnelshift_r(bits, bits, by);
  }

  unsigned kept_;  // from the next step on
};

#else

using StepReader = PlainReader;

#endif

}  // namespace KW_TARGET::thin
