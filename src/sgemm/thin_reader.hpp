// How the threads of `thin` load from the wide operand, and what L2 keeps of it for the next call.
#pragma once

#include "device/cache_hint.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/thin_plan.hpp"

namespace KW_TARGET::thin {

// Keeps all. Of loads of four floats L1 keeps none.
struct PlainReader {
  __device__ explicit PlainReader(const ThinPlan&) {}
  __device__ void next_step() {}
  __device__ __forceinline__ float one(const float* x) const { return __ldg(x); }
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

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

// Keeps the steps whose bit is set in the plan; L2 gives up the lines of the others first. Call
// after call then finds these steps in L2, where an operand that L2 cannot hold would otherwise
// push out its own beginning. Blocks begin at different bits, so that each multiprocessor reads
// from both.
class StepReader {
 public:
  __device__ explicit StepReader(const ThinPlan& plan)
      : kept_(rotated(plan.kept_steps, blockIdx.x * 5 % 32)), give_up_(evict_first()) {
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(keep_));
  }
  __device__ void next_step() { kept_ = rotated(kept_, 1); }
  __device__ __forceinline__ float one(const float* x) const {
    float read;
    asm("ld.global.nc.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(read) : "l"(x), "l"(policy()));
    return read;
  }
  __device__ __forceinline__ void four(float (&to)[4], const float* x) const {
    asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
        : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
        : "l"(x), "l"(policy()));
  }

 private:
  __device__ static unsigned rotated(unsigned bits, unsigned by) {
    return __funnelshift_r(bits, bits, by);
  }
  __device__ std::uint64_t policy() const { return (kept_ & 1) != 0 ? keep_ : give_up_; }

  unsigned kept_;
  std::uint64_t keep_, give_up_;
};

#else

using StepReader = PlainReader;

#endif

}  // namespace KW_TARGET::thin
