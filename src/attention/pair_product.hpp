// The products of attention_pair: a warp's tile of outputs, 8 rows by some columns a thread.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET::attention {

// acc += a^T b, stage after stage, of columns of a and b in groups of four. The elements of the
// next step are on their way while those of one are multiplied.
template <int TN, int a_pitch, int a_half, int b_pitch, int b_step, int steps>
class PairProduct {
 public:
  const float *a, *b;  // of the next step

  // `enter` waits for a stage and sets `b`; `leave` gives it back.
  template <class Enter, class Leave>
  __device__ __forceinline__ void multiply(float (&acc)[8][TN], int stages, const Enter& enter,
                                           const Leave& leave) {
    enter();
    load(0, 0);
#ifndef KW_PAIR_FOUR
    int left = steps / 2;
#pragma unroll 1
    for (;;) {
      load(1, 1);
      add(acc, 0);
      a += 2 * a_pitch;
      b += 2 * b_pitch;
      if (--left == 0) {
        leave();
        if (--stages == 0) break;
        enter();
        left = steps / 2;
      }
      load(0, 0);
      add(acc, 1);
    }
    add(acc, 1);
#else
    int left = steps / 4;
#pragma unroll 1
    for (;;) {
      load(1, 1);
      add(acc, 0);
      load(0, 2);
      add(acc, 1);
      load(1, 3);
      add(acc, 0);
      a += 4 * a_pitch;
      b += 4 * b_pitch;
      if (--left == 0) {
        leave();
        if (--stages == 0) break;
        enter();
        left = steps / 4;
      }
      load(0, 0);
      add(acc, 1);
    }
    add(acc, 1);
#endif
  }

 private:
  __device__ __forceinline__ void load(int which, int step) {
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      *reinterpret_cast<float4*>(&y_[which][j]) =
          *reinterpret_cast<const float4*>(b + step * b_pitch + j / 4 * b_step);
    *reinterpret_cast<float4*>(&x_[which][0]) =
        *reinterpret_cast<const float4*>(a + step * a_pitch);
    *reinterpret_cast<float4*>(&x_[which][4]) =
        *reinterpret_cast<const float4*>(a + step * a_pitch + a_half);
  }
  __device__ __forceinline__ void add(float (&acc)[8][TN], int which) const {
    const auto& x = x_[which];
    const auto& y = y_[which];
#pragma unroll
    for (int j = 0; j < TN; ++j)
#pragma unroll
      for (int step = 0; step < 8; ++step) {
        const int i = j % 2 == 0 ? step : 7 - step;
        acc[i][j] = fmaf(x[i], y[j], acc[i][j]);
      }
  }

  alignas(16) float x_[2][8], y_[2][TN];
};

}  // namespace KW_TARGET::attention
