// The copies of cgemm_lean: by way of registers, stage after stage. Whatever an operand's layout in
// memory, a stage has it k after k.
#pragma once

#include <cstdint>

#include "cgemm/problem.hpp"
#include "device/move_on.hpp"
#include "device/overlap.hpp"
#include "device/repeat.hpp"

namespace KW_TARGET::complex_lean {

// The element `further` floats behind `from` where `rows` are more than `above`; else re and im
// stay as they are.
template <int above, int further>
__device__ __forceinline__ void load_if(float& re, float& im, const float* from, int rows) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "{\n\t.reg .pred loads;\n\tsetp.gt.s32 loads, %3, %4;\n\t"
      "@loads ld.global.v2.f32 {%0, %1}, [%2+%5];\n\t}"
      : "+f"(re), "+f"(im)
      : "l"(from), "r"(rows), "n"(above), "n"(4 * further));
#else
  if (rows > above) re = from[further], im = from[further + 1];
#endif
}

// A thread's share of one operand: elements of two neighbouring lines at one k, 16 bytes of a
// stage, which is float[bk][2 * extent + 4]. Those of a stay as they are; of b the two real parts
// lie side by side, then the imaginary parts. Lines beyond the last one are zeros. The first stage
// has what k is beyond a multiple of bk, so no other one ends early.
template <int threads, int extent, int bk, bool is_b, bool along_k>
class Feed {
  static constexpr int pitch = 2 * extent + 4, units = extent / 2 * bk;
  static constexpr int across = along_k ? bk : extent / 2;  // units along a line of memory
  static constexpr int down = threads / across, together = down * across;
  static constexpr int each = (units + together - 1) / together;
  static_assert(extent % 2 == 0 && down > 0);

 public:
  // Of `rows` lines from x on.
  __device__ __forceinline__ Feed(const Complex* x, std::int64_t ld, int rows) {
    const int thread = static_cast<int>(threadIdx.x), unit = thread % across,
              line = thread / across;
    const int pair = along_k ? line : unit;
    k_ = along_k ? unit : line;
    left_ = rows - 2 * pair;
    from_ = &x->re + 2 * (along_k ? 2 * pair * ld + k_ : k_ * ld + 2 * pair);
    to_ = k_ * pitch + 4 * pair;
  }

  // Where the first stage begins is known before the previous kernel has ended.
  __device__ __forceinline__ void find_now() {
    compute_now(from_);
    compute_now(to_);
    compute_now(left_);
  }
  // Loads the next stage of lines `ld` elements apart: the first one, of `depth` k, or another.
  // leave puts it into shared memory.
  __device__ __forceinline__ void load_first(std::int64_t ld, int depth) {
    load_some<true>(2 * ld, depth);
  }
  __device__ __forceinline__ void load(std::int64_t ld) { load_some<false>(2 * ld, bk); }
  // The same without a branch: where not `wanted`, there is nothing to load any more.
  __device__ __forceinline__ void load_or_end(bool wanted, std::int64_t ld) {
    if (!wanted) left_ = -2 * extent;
    load(ld);
  }
  __device__ __forceinline__ void leave(float* stage) const {
    repeat<each>([&](auto at) {
      if (!mine(at)) return;
      constexpr int further = at * (along_k ? 4 * down : down * pitch);
      const float4 x = loaded_[at];
      *reinterpret_cast<float4*>(stage + to_ + further) =
          is_b ? make_float4(x.x, x.z, x.y, x.w) : x;
    });
  }

 private:
  // Whether this thread has a share of that number.
  __device__ __forceinline__ static bool mine(int at) {
    const int here = units - at * together < together ? units - at * together : together;
    return here == threads || static_cast<int>(threadIdx.x) < here;
  }

  // The stage has `depth` of k, which is less than bk only where `guards`.
  template <bool guards>
  __device__ __forceinline__ void load_some(std::int64_t step, int depth) {
    const float* from = from_;
    repeat<each>([&](auto at) {
      const bool inside = !guards || (along_k ? k_ : k_ + down * at) < depth;
      const int rows = mine(at) && inside ? left_ : -2 * extent;
      float4& x = loaded_[at];
      if constexpr (along_k) {
        load_if<2 * down * at, 0>(x.x, x.y, from, rows);
        move_on(from, step);
        load_if<2 * down * at + 1, 0>(x.z, x.w, from, rows);
        if (at + 1 < each) move_on(from, (2 * down - 1) * step);
      } else {
        load_if<0, 0>(x.x, x.y, from, rows);
        load_if<1, 2>(x.z, x.w, from, rows);
        move_on(from, down * step);
      }
    });
    // To the next stage.
    if constexpr (along_k)
      from_ = from + 2 * depth - (2 * down * (each - 1) + 1) * step;
    else
      from_ = guards || down * each != bk ? from + (depth - down * each) * step : from;
  }

  const float* from_;
  int to_, left_, k_;
  float4 loaded_[each] = {};
};

}  // namespace KW_TARGET::complex_lean
