// A float as a sum of narrower numbers, the pieces that tensor cores multiply. The same bits on the
// CPU and the GPU.
//
//   bf16   x = p0 + p1 + p2 exactly, each piece the nearest bfloat16 to what the ones before leave
//          (Henry, Tang, Heinecke 2019), where 2^-109 <= |x| < 2^127
//   fp16   x * 2^s = hi + lo * 2^-11 to within 2^-23 |x|, where the row's or column's scale s puts
//          |x| into [2^-13, 2^15) (Ootomo and Yokota 2022)
#pragma once

#include <bit>
#include <cstdint>

#include "host_device.hpp"

namespace kw::split {

constexpr int bf16_pieces = 3, fp16_pieces = 2;

// Two 16-bit numbers in a word, the first in the low half.
using Pair = std::uint32_t;

constexpr std::uint32_t sign_bit = 0x80000000u;

constexpr std::uint16_t to_bf16(float x) {  // finite, below the largest bfloat16 and half a step
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}
constexpr float from_bf16(std::uint16_t x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16);
}

constexpr std::uint16_t to_fp16(float x) {  // |x| < 65520
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits & sign_bit) >> 16, size = bits & ~sign_bit;
  constexpr std::uint32_t smallest_normal = 0x38800000;  // 2^-14
  if (size < smallest_normal) {
    // Beside one half a float's last bit is worth 2^-24, as in a subnormal.
    const float beside = std::bit_cast<float>(size) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(beside) - 0x3F000000));
  }
  const std::uint32_t rounded = size + 0x0FFF + ((size >> 13) & 1);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}
constexpr float from_fp16(std::uint16_t x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x & 0x8000) << 16, size = x & 0x7FFF;
  if (size >= 0x0400) return std::bit_cast<float>(sign | ((size << 13) + 0x38000000));
  const float value = static_cast<float>(size) * (1.0f / 16777216.0f);
  return sign != 0 ? -value : value;
}

KW_HOST_DEVICE inline Pair to_bf16_pair(float first, float second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  Pair pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
#else
  return to_bf16(first) | static_cast<Pair>(to_bf16(second)) << 16;
#endif
}
KW_HOST_DEVICE inline void from_bf16_pair(Pair pair, float* first, float* second) {
  *first = std::bit_cast<float>(pair << 16);
  *second = std::bit_cast<float>(pair & 0xFFFF0000u);
}

KW_HOST_DEVICE inline Pair to_fp16_pair(float first, float second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  Pair pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
#else
  return to_fp16(first) | static_cast<Pair>(to_fp16(second)) << 16;
#endif
}
KW_HOST_DEVICE inline void from_fp16_pair(Pair pair, float* first, float* second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("{\n\t.reg .f16 low, high;\n\tmov.b32 {low, high}, %2;\n\t"
      "cvt.f32.f16 %0, low;\n\tcvt.f32.f16 %1, high;\n\t}"
      : "=f"(*first), "=f"(*second)
      : "r"(pair));
#else
  *first = from_fp16(static_cast<std::uint16_t>(pair & 0xFFFF));
  *second = from_fp16(static_cast<std::uint16_t>(pair >> 16));
#endif
}

// pieces[0] + pieces[1] + pieces[2] = (first, second).
KW_HOST_DEVICE inline void split_bf16(float first, float second, Pair (&pieces)[bf16_pieces]) {
  for (Pair& piece : pieces) {
    piece = to_bf16_pair(first, second);
    float taken_first, taken_second;
    from_bf16_pair(piece, &taken_first, &taken_second);
    first -= taken_first;
    second -= taken_second;
  }
}

// pieces[0] + pieces[1] / 2^11 = (first, second), which are scaled.
constexpr float low_scale = 2048, low_unscale = 1.0f / 2048;
KW_HOST_DEVICE inline void split_fp16(float first, float second, Pair (&pieces)[fp16_pieces]) {
  pieces[0] = to_fp16_pair(first, second);
  float taken_first, taken_second;
  from_fp16_pair(pieces[0], &taken_first, &taken_second);
  pieces[1] = to_fp16_pair((first - taken_first) * low_scale, (second - taken_second) * low_scale);
}

// high + low = (first, second): the low piece as it is, which is for data whose low pieces are no
// smaller than fp16 holds.
KW_HOST_DEVICE inline void split_fp16_as_it_is(float first, float second, Pair& high, Pair& low) {
  high = to_fp16_pair(first, second);
  float taken_first, taken_second;
  from_fp16_pair(high, &taken_first, &taken_second);
  low = to_fp16_pair(first - taken_first, second - taken_second);
}

// --- powers of two by which rows and columns are scaled

// 2^exponent, -126 to 127.
KW_HOST_DEVICE inline float power_of_two(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}
// x * 2^exponent, rounded once, where |exponent| <= 252, and |x| >= 2^-63 where it is scaled down:
// then the first product is normal, or so small that the result is 0.
KW_HOST_DEVICE inline float scale(float x, int exponent) {
  const int first = exponent >> 1;
  return x * power_of_two(first) * power_of_two(exponent - first);
}
// The scale of a row whose largest element has these bits (without sign); 0 for a row of zeros. A
// subnormal counts as 2^-126: the call that has one does not come to use this.
KW_HOST_DEVICE inline int fp16_scale(std::uint32_t largest) {
  if (largest == 0) return 0;
  const int exponent = static_cast<int>(largest >> 23) - 127;
  return 14 - (exponent < -126 ? -126 : exponent);
}
// Whether fp16's two pieces hold x, whose row has this scale, to 2^-23 |x|; zero they hold.
KW_HOST_DEVICE inline bool fp16_holds(std::uint32_t size, int scale_exponent) {
  constexpr int smallest = -13, largest = 14;  // of the scaled element's exponent
  const int exponent = static_cast<int>(size >> 23) - 127 + scale_exponent;
  return size == 0 || (exponent >= smallest && exponent <= largest);
}
KW_HOST_DEVICE inline bool fp16_holds(float x, int scale_exponent) {
  return fp16_holds(std::bit_cast<std::uint32_t>(x) & ~sign_bit, scale_exponent);
}

}  // namespace kw::split
