// Sums of 16-bit values and of their squares, by the tensor cores, which have nothing else to do.
//
// Idea        A product adds words of four neighbouring lanes: such fours are columns of its right
//             factor and rows of its left one. Of the same words on both sides the diagonal has
//             sums of squares; with ones on the left all rows have sums. What lies beside the
//             diagonal nobody wants. Factors are pairs of registers as loads left them.
// Rounding    The products are exact. A sum is cut off, not rounded, at each step.
#pragma once

#include "rowwise/plain_totals.hpp"

namespace KW_TARGET::rowwise {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define KW_SQUARES(type, d, right)                          \
  asm("mma.sync.aligned.m16n8k8.row.col.f32." type "." type \
      ".f32 {%0, %1, %2, %3}, {%4, %5}, "                   \
      "{%6}, {%0, %1, %2, %3};"                             \
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])      \
      : "r"(first), "r"(second), "r"(right))
#define KW_RESTS(type, one)                                                \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type               \
      ".f32 {%0, %1, %2, %3}, "                                            \
      "{%6, %6, %6, %6}, {%4, %5}, {%0, %1, %2, %3};"                      \
      : "+f"(rests_[0]), "+f"(rests_[1]), "+f"(rests_[2]), "+f"(rests_[3]) \
      : "r"(first), "r"(second), "r"(one))
template <class T>
class TensorSums {
 public:
  // Two words more, of two values each. All lanes of the warp call it.
  template <bool with_rest>
  __device__ __forceinline__ void add(std::uint32_t first, std::uint32_t second) {
    if constexpr (std::is_same_v<T, float16>) {
      KW_SQUARES("f16", upper_, first);
      KW_SQUARES("f16", lower_, second);
      if constexpr (with_rest) KW_RESTS("f16", 0x3C003C00u);
    } else {
      KW_SQUARES("bf16", upper_, first);
      KW_SQUARES("bf16", lower_, second);
      if constexpr (with_rest) KW_RESTS("bf16", 0x3F803F80u);
    }
  }
  // Of each group of `lanes` lanes, four or more, in all of them.
  template <int lanes>
  __device__ __forceinline__ RestAndSquares<float> total() const {
    return total_of<lanes>(of_lane());
  }
  // What this lane has of a total. Of longer sums such parts are added, which rounds.
  __device__ __forceinline__ RestAndSquares<float> of_lane() const {
    const bool odd = static_cast<int>(threadIdx.x) % warp_lanes / 4 % 2 != 0;
    return {odd ? rests_[1] : rests_[0], odd ? upper_[1] + lower_[3] : upper_[0] + lower_[2]};
  }
  template <int lanes>
  static __device__ __forceinline__ RestAndSquares<float> total_of(RestAndSquares<float> own) {
    static_assert(lanes >= 4);
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes, four = lane / 4;
    own = from_lane(own, lane / 4 * 4 + four / 2);
#pragma unroll
    for (int apart = 4; apart < lanes; apart *= 2)
      own = SumOfRestAndSquares{}(own, exchange_words(own, [=](std::uint32_t word) {
                                    return __shfl_xor_sync(whole_warp(), word, apart, warp_lanes);
                                  }));
    return own;
  }

 private:
  float upper_[4] = {}, lower_[4] = {}, rests_[4] = {};
};
#undef KW_SQUARES
#undef KW_RESTS
#else
template <class T>
class TensorSums {
 public:
  template <bool with_rest>
  __device__ __forceinline__ void add(std::uint32_t first, std::uint32_t second) {
    float v[4];
    unpack_pair(first, T{}, v);
    unpack_pair(second, T{}, v + 2);
    rest_ += sum_of_four(v);
    squares_ += (v[0] * v[0] + v[1] * v[1]) + (v[2] * v[2] + v[3] * v[3]);
  }
  template <int lanes>
  __device__ __forceinline__ RestAndSquares<float> total() const {
    return total_of<lanes>(of_lane());
  }
  __device__ __forceinline__ RestAndSquares<float> of_lane() const { return {rest_, squares_}; }
  template <int lanes>
  static __device__ __forceinline__ RestAndSquares<float> total_of(RestAndSquares<float> own) {
    return combine_lanes(own, lanes, SumOfRestAndSquares{});
  }

 private:
  float rest_ = 0, squares_ = 0;
};
#endif

}  // namespace KW_TARGET::rowwise
