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
    int left = steps / at_a_time;
#pragma unroll 1
    for (;;) {
#pragma unroll
      for (int step = 1; step < at_a_time; ++step) {
        load(step % 2, step);
        add(acc, 1 - step % 2);
      }
      a += at_a_time * a_pitch;
      b += at_a_time * b_pitch;
      if (--left == 0) {
        leave();
        if (--stages == 0) break;
        enter();
        left = steps / at_a_time;
      }
      load(0, 0);
      add(acc, 1);
    }
    add(acc, 1);
  }

 private:
  // Steps of a turn of the loop: its text is in the cache for instructions.
  static constexpr int at_a_time = 4;
  static_assert(steps % at_a_time == 0);

  // In this order of loads ptxas leaves 37 and more instructions between each and its first use.
  __device__ __forceinline__ void load(int which, int step) {
    *reinterpret_cast<float4*>(&x_[which][4]) =
        *reinterpret_cast<const float4*>(a + step * a_pitch + a_half);
    *reinterpret_cast<float4*>(&x_[which][0]) =
        *reinterpret_cast<const float4*>(a + step * a_pitch);
    constexpr int first = TN == 16 ? 8 : 0;
#pragma unroll
    for (int i = 0; i < TN; i += 4) {
      const int j = (first + i) % TN;
      *reinterpret_cast<float4*>(&y_[which][j]) =
          *reinterpret_cast<const float4*>(b + step * b_pitch + j / 4 * b_step);
    }
  }
  __device__ __forceinline__ void add(float (&acc)[8][TN], int which) const {
    const auto& x = x_[which];
    const auto& y = y_[which];
    // Down a column and up the next, so that the reuse cache holds y's element and an FFMA reads
    // two registers. Odd and even registers are two banks, of which each gives one a cycle: x lies
    // in the bank of its index, sums in the other one, since they are stored with neighbours
    // swapped.
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
