// An operand's tiles in the shared memory of the complex tiles (tile.cu), and how they are copied
// there from an operand that lies along k or across it.
#pragma once

#include <cstdint>

#include "cgemm/problem.hpp"
#include "device/async_copy.hpp"

namespace KW_TARGET {

// Two elements between neighbouring k: the copies of a warp that turn an operand then meet all
// banks.
constexpr int complex_padding = 2;

// This thread's copies of one operand's tiles, stage after stage along k; zeros beyond the edges.
// How an operand lies in memory decides which of its elements a thread copies:
//   along k          x[i * ld + k]; 8 of k side by side, so that a half-warp writes to all banks
//   across, pairs    x[k * ld + i], where each line begins at 16 bytes: two elements a copy
//   across           the same, where lines begin anywhere
//
// `parted`: of two neighbours the real parts lie side by side, then the imaginary parts.
template <int Extent, int BK, int threads, bool parted>
class ElementCopy {
 public:
  // `k`: up to where the part goes.
  __device__ __forceinline__ ElementCopy(const Complex* x, std::int64_t ld, bool along_k,
                                         std::int64_t extent, std::int64_t i0, std::int64_t k0,
                                         std::int64_t k)
      : k_left_(k - k0), along_k_(along_k) {
    const int tid = static_cast<int>(threadIdx.x);
    pairs_ = !parted && !along_k && ld % 2 == 0 && reinterpret_cast<std::uintptr_t>(x) % 16 == 0;
    const int lanes = along_k ? 8 : pairs_ ? Extent / 2 : Extent;  // that stand along memory
    const int along = tid % lanes * (pairs_ ? 2 : 1), across = tid / lanes;
    i_ = along_k ? across : along;
    k_ = along_k ? along : across;
    const std::int64_t left = extent - i0;
    i_left_ = left < Extent ? static_cast<int>(left) : Extent;
    step_ = threads / lanes * ld;
    from_ = x + (along_k ? (i0 + i_) * ld + k0 + k_ : (k0 + k_) * ld + i0 + i_);
    stage_step_ = along_k ? BK : BK * ld;
  }

  __device__ __forceinline__ void next(float2 (&to)[BK][Extent + complex_padding]) {
    const int k_here = k_left_ < BK ? static_cast<int>(k_left_) : BK;
    if (along_k_) {
      turn(to, k_here);
    } else if (!parted && pairs_) {
      copy<2>(to, k_here);
    } else {
      copy<1>(to, k_here);
    }
    from_ += stage_step_;
    k_left_ -= BK;
  }

 private:
  __device__ __forceinline__ static void copy_element(float2* line, int i, const Complex* from,
                                                      bool inside) {
    if constexpr (parted) {
      float* const to = &line[i / 2 * 2].x + i % 2;
      async_copy<4>(to, &from->re, inside ? 4 : 0);
      async_copy<4>(to + 2, &from->im, inside ? 4 : 0);
    } else {
      async_copy<8>(&line[i].x, &from->re, inside ? 8 : 0);
    }
  }
  __device__ __forceinline__ void turn(float2 (&to)[BK][Extent + complex_padding],
                                       int k_here) const {
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
      const Complex* from = from_ + k;
#pragma unroll
      for (int i = 0; i < Extent; i += threads / 8) {
        const bool inside = i_ + i < i_left_ && k_ + k < k_here;
        copy_element(to[k_ + k], i_ + i, from, inside);
        from += step_;
      }
    }
  }
  template <int width>
  __device__ __forceinline__ void copy(float2 (&to)[BK][Extent + complex_padding],
                                       int k_here) const {
    constexpr int lines = threads * width / Extent;  // of k, at a time
    const int valid = i_left_ - i_ < width ? (i_left_ - i_) * 8 : width * 8;
    const Complex* from = from_;
#pragma unroll
    for (int k = 0; k < BK; k += lines) {
      const bool inside = i_ < i_left_ && k_ + k < k_here;
      // More lines than a stage has leave threads without any.
      if (lines <= BK || k_ < BK) {
        if constexpr (width == 1)
          copy_element(to[k_ + k], i_, from, inside);
        else
          async_copy<width * 8, false>(&to[k_ + k][i_].x, &from->re, inside ? valid : 0);
      }
      from += step_;
    }
  }

  const Complex* from_;
  std::int64_t step_, stage_step_, k_left_;
  int i_, k_, i_left_;  // this thread's first element of a stage
  bool along_k_, pairs_;
};

}  // namespace KW_TARGET
