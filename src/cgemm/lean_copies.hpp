// The copies of cgemm_lean: whatever an operand's layout in memory, a stage has it k after k.
#pragma once

#include "cgemm/problem.hpp"
#include "device/async_copy.hpp"
#include "device/move_on.hpp"
#include "device/overlap.hpp"

namespace KW_TARGET::complex_lean {

// A place in shared memory. Where there is cp.async it is a number of 32 bits, so that what a copy
// adds to it is part of the instruction.
class Place32 {
 public:
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  __device__ __forceinline__ explicit Place32(float* to)
      : at_(static_cast<unsigned>(__cvta_generic_to_shared(to))) {}
  // Copies `bytes` to so many floats further on.
  template <int bytes>
  __device__ __forceinline__ void copy(int further, const float* from) const {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at_ + 4 * further), "l"(from),
                 "n"(bytes)
                 : "memory");
  }

 private:
  unsigned at_;
#else
  __device__ __forceinline__ explicit Place32(float* to) : at_(to) {}
  template <int bytes>
  __device__ __forceinline__ void copy(int further, const float* from) const {
    async_copy<bytes>(at_ + further, from, bytes);
  }

 private:
  float* at_;
#endif
};

// A thread's copies of one operand, stage after stage, to [bk][2 * extent + 4] floats. Elements of
// a stay as they are; of two neighbours of b the real parts lie side by side, then the imaginary
// parts, so b is copied by single floats. Of the last stage, with fewer than bk k, zeros follow up
// to a multiple. What lies beyond the last row is not written.
template <int threads, int extent, int bk, int multiple, bool is_b, bool along_k>
class Copies {
  static constexpr int pitch = 2 * extent + 4, per = is_b ? 2 : 1, bytes = is_b ? 4 : 8;
  static constexpr int floats = 2 / per;  // of a unit
  // Whether copies at an edge lie side by side, too, as the steps of a stage do.
  static constexpr bool side_by_side = multiple == bk;
  // Lines across k: so many units of a line at a time, and so many lines.
  static constexpr int line = extent * per, across = 32;
  static constexpr int down = threads / across;
  // Lines along k: so many units along k, and so many lines.
  static constexpr int turned_k = 8 * per, turned_i = threads / turned_k;
  static_assert(line % across == 0 && threads % across == 0 && bk % down == 0 && bk % 8 == 0);
  static_assert(extent % turned_i == 0 && turned_i % 2 == 0);

 public:
  // Of `rows` lines from x on.
  __device__ __forceinline__ Copies(const Complex* x, std::int64_t ld, int rows)
      : step_(2 * ld * (along_k ? turned_i : down)) {
    const int thread = static_cast<int>(threadIdx.x);
    const int unit = along_k ? thread % turned_k : thread % across;
    const int i = along_k ? thread / turned_k : unit / per, part = unit % per;
    k_ = along_k ? unit / per : thread / across;
    left_ = rows - i, is_whole_ = rows == extent;
    from_ = &x->re + 2 * (along_k ? i * ld + k_ : k_ * ld + i) + part;
    to_ = k_ * pitch + (is_b ? i / 2 * 4 + part * 2 + i % 2 : 2 * i);
  }

  // Where the first stage begins is known before the previous kernel has ended.
  __device__ __forceinline__ void compute_now() {
    KW_TARGET::compute_now(from_);
    KW_TARGET::compute_now(to_);
  }
  // Starts the copy of the next stage, to `tile`.
  __device__ __forceinline__ void start(float* tile) {
    if (is_whole_)
      start_some<true>(Place32(tile + to_));
    else
      start_some<false>(Place32(tile + to_));
  }
  __device__ __forceinline__ void start_last(float* tile, int depth) const {
    const int end = (depth + multiple - 1) / multiple * multiple;
    float* to = tile + to_;
    const float* from = from_;
    if constexpr (along_k) {
#pragma unroll 1
      for (int i = 0; i < extent && i < left_; i += turned_i, to += 2 * turned_i, from += step_)
#pragma unroll
        for (int k = 0; k < bk; k += 8)
          if (k_ + k < end)
            async_copy<bytes>(to + k * pitch, from + 2 * k, k_ + k < depth ? bytes : 0);
    } else {
#pragma unroll 1
      for (int k = k_; k < end; k += down, to += down * pitch, from += step_)
#pragma unroll
        for (int u = 0; u < line; u += across)
          if (u / per < left_)
            async_copy<bytes>(to + u * floats, from + u * floats, k < depth ? bytes : 0);
    }
  }

 private:
  template <bool whole>
  __device__ __forceinline__ void start_some(const Place32& to) {
    const float* from = from_;
    if constexpr (along_k) {
#pragma unroll(whole || side_by_side ? extent : 2)
      for (int i = 0; i < extent; i += turned_i, move_on(from, step_))
#pragma unroll
        for (int k = 0; k < bk; k += 8)
          if (whole || i < left_) to.template copy<bytes>(k * pitch + 2 * i, from + 2 * k);
      from_ += 2 * bk;
    } else {
#pragma unroll(whole || side_by_side ? bk : 1)
      for (int k = 0; k < bk; k += down, move_on(from, step_))
#pragma unroll
        for (int u = 0; u < line; u += across)
          if (whole || u / per < left_)
            to.template copy<bytes>(k * pitch + u * floats, from + u * floats);
      from_ = from;
    }
  }

  const std::int64_t step_;
  const float* from_;
  int to_, left_, k_;
  bool is_whole_;
};

}  // namespace KW_TARGET::complex_lean
