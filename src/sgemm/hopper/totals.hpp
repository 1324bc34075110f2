// Sums of sums of a long run, where registers have no room for them. FP32 rounds a sum to its own
// last bit with each window that joins it. Windows of which all leave the same remainder, as high
// pieces of numbers near whole ones do, are rounded to the same side each time, and the error grows
// with their number and not with its root. So after every stages_per_total stages a block adds its
// sums to totals in the workspace, and begins anew from zero: then the last bit is as small as
// those of a short sum.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/hopper/params.hpp"
#include "sgemm/hopper/pipeline.hpp"
#include "sgemm/hopper/tuning.hpp"

namespace KW_TARGET::hopper {

// *at += x, in L2, so that the thread does not wait for what lies there. Only it adds there, and
// its additions happen in their order.
__device__ __forceinline__ void add_in_memory(float4* at, const float4& x) {
#if defined(__CUDA_ARCH__)
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(
                   __cvta_generic_to_global(at)),
               "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w)
               : "memory");
#else
  at->x += x.x, at->y += x.y, at->z += x.z, at->w += x.w;
#endif
}

// The totals of a consumer's thread, which alone reads and writes them. They lie behind the parts
// of tiles that blocks share (split_k.hpp), a block's beside each other.
template <Tile tile>
class Totals {
  static constexpr int blocks = tile.m64_blocks, registers = tile.registers();
  static constexpr int quads = blocks * registers / 4;
  static constexpr int at_once = quads % 9 == 0 ? 9 : 8;  // loads that are under way together
  static_assert(quads % at_once == 0);

 public:
  using Sums = float[blocks][registers];

  __device__ __forceinline__ Totals(const ProductParams& params, int consumer_thread)
      : at_(reinterpret_cast<float4*>(params.split_k_sums) +
            static_cast<std::int64_t>(params.schedule.slots()) * (tile.bm() * tile.bn / 4) +
            static_cast<std::int64_t>(blockIdx.x) * (quads * consumer_threads) + consumer_thread) {}

  // Adds the sums, which then are zero. The first ones of a run are written.
  __device__ __forceinline__ void add(Sums& sums, bool are_first) {
#pragma unroll
    for (int quad = 0; quad < quads; ++quad) {
      float* const x = quad_of(sums, quad);
      const float4 own = make_float4(x[0], x[1], x[2], x[3]);
      float4* const at = at_ + quad * consumer_threads;
      if (are_first)
        *at = own;
      else
        add_in_memory(at, own);
      x[0] = x[1] = x[2] = x[3] = 0;
    }
  }
  // The last sums become those of the whole run.
  __device__ __forceinline__ void join(Sums& sums) {
#pragma unroll
    for (int first = 0; first < quads; first += at_once) {
      float4 before[at_once];
      load(before, first);
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        float* const x = quad_of(sums, first + i);
        x[0] += before[i].x, x[1] += before[i].y, x[2] += before[i].z, x[3] += before[i].w;
      }
    }
  }

 private:
  __device__ __forceinline__ void load(float4 (&to)[at_once], int first) const {
#pragma unroll
    for (int i = 0; i < at_once; ++i) to[i] = __ldcg(at_ + (first + i) * consumer_threads);
  }
  __device__ __forceinline__ static float* quad_of(Sums& sums, int quad) {
    return &sums[quad * 4 / registers][quad * 4 % registers];
  }

  float4* at_;
};

}  // namespace KW_TARGET::hopper
