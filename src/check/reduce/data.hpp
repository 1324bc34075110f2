// Test data of any element type: element `index` of a case's array is a pure function of the case,
// with the same bits on the CPU and in a GPU kernel. Floating-point types hold the values of
// input.hpp, rounded; integer types have a range of their own for each kind of input.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "check/input.hpp"
#include "reduce/numbers/element.hpp"
#include "reduce/problem.hpp"

namespace kw::check {

// What is special about a case's elements besides their distribution.
enum class Sprinkle {
  none,
  nan,           // about four places hold a NaN or an infinity
  infinities,    // about four places hold one
  signed_zeros,  // every element is -0 or +0
  extremes,      // every element is the type's largest (odd seeds) or smallest value
  far_mean,      // the mean is about a thousand deviations away from zero, or more
  huge,          // every second element, on average, has a square near or past the type's end
  tiny,          // all elements have squares near or past the type's lower end
};
const char* to_string(Sprinkle sprinkle);

// Everything but the index.
struct ElementStream {
  DataType type = DataType::float32;
  Input input = Input::uniform;
  std::uint64_t seed = 0;
  Sprinkle sprinkle = Sprinkle::none;
  std::int64_t every = 1;  // NaN and infinities: one element of so many
};

// Calls body.operator()<T>() with the type that `type` names.
template <class Body>
auto with_type(DataType type, const Body& body) {
  switch (type) {
    case DataType::float64: return body.template operator()<double>();
    case DataType::float16: return body.template operator()<float16>();
    case DataType::bfloat16: return body.template operator()<bfloat16>();
    case DataType::int8: return body.template operator()<std::int8_t>();
    case DataType::int32: return body.template operator()<std::int32_t>();
    case DataType::int64: return body.template operator()<std::int64_t>();
    default: return body.template operator()<float>();
  }
}

namespace element_detail {

// Unsigned integers of an element's size.
template <std::size_t bytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using type = std::uint8_t;
};
template <>
struct BitsOf<2> {
  using type = std::uint16_t;
};
template <>
struct BitsOf<4> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<8> {
  using type = std::uint64_t;
};

KW_HOST_DEVICE constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

// How far `huge` and `tiny` scale, and what far_mean adds to 1: exponents of 2.
template <class T>
struct Far;
template <>
struct Far<float> {
  static constexpr int scale = 100, spread = -18;
};
template <>
struct Far<double> {
  static constexpr int scale = 600, spread = -10;
};
template <>
struct Far<float16> {
  static constexpr int scale = 12, spread = -6;
};
template <>
struct Far<bfloat16> {
  static constexpr int scale = 100, spread = -4;
};

KW_HOST_DEVICE inline InputStream plain(const ElementStream& s) {
  return {s.input, s.seed, Operand::a};
}

// An input's value with as many random bits as a double has.
KW_HOST_DEVICE inline double double_value(const ElementStream& s, std::int64_t index) {
  const std::uint64_t bits = random_bits(s.seed, Operand::a, static_cast<std::uint64_t>(index));
  switch (s.input) {
    case Input::uniform:
      return static_cast<double>(static_cast<std::int64_t>(bits >> 10) - (std::int64_t{1} << 53)) *
             power_of_two(-53);
    case Input::unit: return static_cast<double>(bits >> 11) * power_of_two(-53);
    case Input::normal:
      return normal_quantile(static_cast<double>((bits >> 11) | 1) * power_of_two(-53));
    default: return static_cast<double>(input_value(plain(s), index));
  }
}

// uniform: all values of the type; unit: 0 up to the root of its range; normal: deviation half that
// root; constant: 7; integers: -3 .. 3.
template <class T>
KW_HOST_DEVICE inline T integer_value(const ElementStream& s, std::int64_t index) {
  constexpr int bits_in_all = 8 * static_cast<int>(sizeof(T));
  const std::uint64_t bits = random_bits(s.seed, Operand::a, static_cast<std::uint64_t>(index));
  switch (s.input) {
    case Input::uniform: return static_cast<T>(bits >> (64 - bits_in_all));
    case Input::unit: return static_cast<T>(bits >> (64 - bits_in_all / 2));
    case Input::normal:
      return static_cast<T>(power_of_two(bits_in_all / 2 - 1) * double_value(s, index));
    case Input::constant: return 7;
    default: return static_cast<T>(static_cast<int>((bits >> 32) % 7) - 3);
  }
}

// A NaN that is not the canonical one: with a sign and a payload.
template <class T>
KW_HOST_DEVICE constexpr T odd_nan() {
  using Bits = typename BitsOf<sizeof(T)>::type;
  return std::bit_cast<T>(static_cast<Bits>(~Bits{0} - 4));
}

template <class T>
KW_HOST_DEVICE inline T floating_element(const ElementStream& s, std::int64_t index) {
  Value<T> value;
  if constexpr (std::is_same_v<T, double>) {
    value = double_value(s, index);
  } else {
    value = input_value(plain(s), index);
  }
  if (s.sprinkle == Sprinkle::none) return from_value<T>(value);

  const std::uint64_t dice = random_bits(s.seed, Operand::b, static_cast<std::uint64_t>(index));
  const bool chosen = (dice >> 8) % static_cast<std::uint64_t>(s.every) == 0;
  const bool even = (dice & 1) == 0;
  const auto scale = [&](int exponent) { value *= static_cast<Value<T>>(power_of_two(exponent)); };
  const Value<T> infinity = Limits<T>::largest();
  switch (s.sprinkle) {
    case Sprinkle::nan:
      if (chosen && (dice & 2) == 0) return odd_nan<T>();
      [[fallthrough]];
    case Sprinkle::infinities:
      if (chosen) value = even ? infinity : -infinity;
      break;
    case Sprinkle::signed_zeros: value = even ? Value<T>{0} : -Value<T>{0}; break;
    case Sprinkle::extremes: value = s.seed % 2 == 1 ? infinity : -infinity; break;
    case Sprinkle::far_mean:
      scale(Far<T>::spread);
      value += 1;
      break;
    case Sprinkle::huge:
      if (even) scale(Far<T>::scale);
      break;
    default: scale(-Far<T>::scale);
  }
  return from_value<T>(value);
}

template <class T>
KW_HOST_DEVICE inline T integer_element(const ElementStream& s, std::int64_t index) {
  if (s.sprinkle == Sprinkle::extremes) {
    return s.seed % 2 == 1 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
  }
  const T value = integer_value<T>(s, index);
  if (s.sprinkle != Sprinkle::far_mean) return value;
  return static_cast<T>(sizeof(T) == 1 ? 100 + value % 8 : (1 << 20) + value % 512);
}

}  // namespace element_detail

// As stored. NaN, infinities, zeros and scales are for floating-point types; integers ignore them.
template <class T>
KW_HOST_DEVICE inline T element(const ElementStream& stream, std::int64_t index) {
  if constexpr (std::is_integral_v<T>) {
    return element_detail::integer_element<T>(stream, index);
  } else {
    return element_detail::floating_element<T>(stream, index);
  }
}

template <class T>
using ElementBits = typename element_detail::BitsOf<sizeof(T)>::type;

template <class T>
KW_HOST_DEVICE constexpr ElementBits<T> element_bits(T value) {
  return std::bit_cast<ElementBits<T>>(value);
}

// What a double is as a result of type T.
template <class T>
KW_HOST_DEVICE inline T rounded_to(double x) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    return from_value<T>(x);
  } else {
    return from_value<T>(static_cast<float>(x));
  }
}

}  // namespace kw::check
