// Elements as they are stored and as arithmetic sees them. The same text on the CPU and on a GPU,
// bit for bit.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "host_device.hpp"
#include "kernelwright/reduce.hpp"

namespace kw {

// 16-bit formats compute as float, int8 as int32.
template <class T>
struct ValueOf {
  using type = T;
};
template <>
struct ValueOf<float16> {
  using type = float;
};
template <>
struct ValueOf<bfloat16> {
  using type = float;
};
template <>
struct ValueOf<std::int8_t> {
  using type = std::int32_t;
};
template <class T>
using Value = typename ValueOf<T>::type;

// A run of elements that one block reduces: where it begins in its sequence, how many elements it
// has, the value of its first.
template <class T>
struct Chunk {
  std::int64_t begin = 0, count = 0;
  Value<T> first = {};
};

template <class V>
KW_HOST_DEVICE constexpr bool is_nan(V x) {
  if constexpr (std::is_floating_point_v<V>) return x != x;
  return false;
}

KW_HOST_DEVICE constexpr float to_value(float x) { return x; }
KW_HOST_DEVICE constexpr double to_value(double x) { return x; }
KW_HOST_DEVICE constexpr std::int32_t to_value(std::int8_t x) { return x; }
KW_HOST_DEVICE constexpr std::int32_t to_value(std::int32_t x) { return x; }
KW_HOST_DEVICE constexpr std::int64_t to_value(std::int64_t x) { return x; }
KW_HOST_DEVICE constexpr float to_value(bfloat16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
// Every half is a float: the exponent moves by 112, subnormals are normalised by a multiplication
// that is exact, infinity and NaN keep the highest exponent.
KW_HOST_DEVICE inline float to_value(float16 x) {
#if defined(__CUDA_ARCH__)
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
#else
  constexpr float two_to_112 = 5192296858534827628530496329220096.0f;
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000u) << 16;
  const std::uint32_t rest = static_cast<std::uint32_t>(x.bits & 0x7FFFu) << 13;
  const std::uint32_t finite =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) * two_to_112);
  const std::uint32_t special = rest | 0x7F800000u;
  return std::bit_cast<float>(sign | (rest >= 0x0F800000u ? special : finite));
#endif
}

// Rounds to the nearest, ties to even. A NaN becomes the canonical quiet NaN.
template <class T, class V>
KW_HOST_DEVICE inline T from_value(V x);

template <>
KW_HOST_DEVICE inline float from_value<float>(float x) {
  return is_nan(x) ? std::bit_cast<float>(0x7FC00000u) : x;
}
template <>
KW_HOST_DEVICE inline double from_value<double>(double x) {
  return is_nan(x) ? std::bit_cast<double>(std::uint64_t{0x7FF8000000000000u}) : x;
}
template <>
KW_HOST_DEVICE inline float from_value<float>(double x) {
  return from_value<float>(static_cast<float>(x));
}
template <>
KW_HOST_DEVICE inline bfloat16 from_value<bfloat16>(float x) {
  if (is_nan(x)) return {0x7FC0u};
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return {static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16)};
}
template <>
KW_HOST_DEVICE inline float16 from_value<float16>(float x) {
  if (is_nan(x)) return {0x7E00u};
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude >= 0x47800000u) return {static_cast<std::uint16_t>(sign | 0x7C00u)};  // >= 2^16
  std::uint32_t half = 0;
  if (magnitude >= 0x38800000u) {  // 2^-14 and up: normal; a carry may reach infinity
    const std::uint32_t rebased = magnitude - 0x38000000u;
    half = (rebased + 0xFFFu + ((rebased >> 13) & 1u)) >> 13;
  } else {  // adding 1/2 leaves the result's bits, rounded, at the sum's lower end
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    half = std::bit_cast<std::uint32_t>(shifted) - 0x3F000000u;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}
template <>
KW_HOST_DEVICE inline std::int8_t from_value<std::int8_t>(std::int32_t x) {
  return static_cast<std::int8_t>(x);
}
template <>
KW_HOST_DEVICE inline std::int32_t from_value<std::int32_t>(std::int32_t x) {
  return x;
}
template <>
KW_HOST_DEVICE inline std::int64_t from_value<std::int64_t>(std::int64_t x) {
  return x;
}

// What min starts from and what max starts from: of the stored type, as a value.
template <class T>
struct Limits {
  KW_HOST_DEVICE static constexpr Value<T> largest() {
    if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::max();
    return std::numeric_limits<Value<T>>::infinity();
  }
  KW_HOST_DEVICE static constexpr Value<T> smallest() {
    if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::min();
    return -std::numeric_limits<Value<T>>::infinity();
  }
};

template <class V>
using BitsOf = std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>;
template <class V>
KW_HOST_DEVICE constexpr BitsOf<V> bits_of(V x) {
  return std::bit_cast<BitsOf<V>>(x);
}
template <class V>
KW_HOST_DEVICE constexpr V from_bits(BitsOf<V> bits) {
  return std::bit_cast<V>(bits);
}

// By the sign's bit: -0 and a NaN may be.
KW_HOST_DEVICE inline bool is_negative(double x) { return (bits_of(x) >> 63) != 0; }

// IEEE 754-2019 minimum and maximum: NaN wins, -0 is below +0. Without branches, so that a compiler
// can make vectors of them.
template <class V>
KW_HOST_DEVICE inline V minimum(V a, V b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<V, float>) {
    float least;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
    return least;
  }
#endif
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<V, double>) {  // one choice of two words, and no branch
    return (b < a) | is_nan(b) | ((a == b) & is_negative(b)) ? b : a;
  }
#endif
  const V least = b < a || is_nan(b) ? b : a;
  if constexpr (std::is_floating_point_v<V>) {
    return a == b ? from_bits<V>(bits_of(a) | bits_of(b)) : least;  // -0 where one of two zeros is
  }
  return least;
}
template <class V>
KW_HOST_DEVICE inline V maximum(V a, V b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<V, float>) {
    float most;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
    return most;
  }
#endif
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<V, double>) {
    return (a < b) | is_nan(b) | ((a == b) & !is_negative(b)) ? b : a;
  }
#endif
  const V most = a < b || is_nan(b) ? b : a;
  if constexpr (std::is_floating_point_v<V>) {
    return a == b ? from_bits<V>(bits_of(a) & bits_of(b)) : most;  // +0 where one of two zeros is
  }
  return most;
}

}  // namespace kw
