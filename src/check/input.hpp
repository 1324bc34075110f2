// Test data without storage: the value of element `index` of an operand is a pure function of the
// seed, the operand and the index, with the same bits on the CPU and in a GPU kernel. Whoever needs
// an operand's original contents computes them again.
#pragma once

#include <cstdint>
#include <string_view>

#include "check/normal.hpp"
#include "host_device.hpp"

namespace kw::check {

enum class Input {
  uniform,   // [-1, 1), multiples of 2^-24
  unit,      // [0, 1), multiples of 2^-24
  normal,    // mean 0, deviation 1
  constant,  // A = 1.23456789, B = 2.23456789: a quick sanity value, poor as a check
  integers,  // -3 .. 3: sums below 2^24 are exact in any order
};

enum class Operand : std::uint32_t { a = 1, b = 2, c = 3, bias = 4 };

// Everything but the index.
struct InputStream {
  Input input = Input::uniform;
  std::uint64_t seed = 0;
  Operand operand = Operand::a;
};

constexpr std::uint64_t golden_gamma = 0x9E3779B97F4A7C15u;

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit flips every output bit
// with probability one half.
KW_HOST_DEVICE constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

KW_HOST_DEVICE constexpr std::uint64_t random_bits(std::uint64_t seed, Operand operand,
                                                   std::uint64_t index) {
  const std::uint64_t key = mix(seed + golden_gamma * static_cast<std::uint64_t>(operand));
  return mix(key + golden_gamma * (index + 1));
}

KW_HOST_DEVICE inline float input_value(const InputStream& stream, std::int64_t index) {
  if (stream.input == Input::constant) {
    return stream.operand == Operand::a   ? 1.23456789f
           : stream.operand == Operand::b ? 2.23456789f
                                          : 3.23456789f;
  }
  constexpr float two_to_minus_24 = 1.0f / 16777216.0f;
  const std::uint64_t bits =
      random_bits(stream.seed, stream.operand, static_cast<std::uint64_t>(index));
  switch (stream.input) {
    case Input::uniform:
      return static_cast<float>(static_cast<std::int32_t>(bits >> 39) - 16777216) * two_to_minus_24;
    case Input::unit:
      return static_cast<float>(static_cast<std::int32_t>(bits >> 40)) * two_to_minus_24;
    case Input::normal: {
      constexpr double two_to_minus_53 = 1.0 / 9007199254740992.0;
      const auto odd = static_cast<std::int64_t>((bits >> 11) | 1);  // never 0, symmetric about 1/2
      return static_cast<float>(normal_quantile(static_cast<double>(odd) * two_to_minus_53));
    }
    default:  // integers
      return static_cast<float>(static_cast<std::int32_t>((bits >> 32) % 7) - 3);
  }
}

const char* to_string(Input input);
// False, and `*input` untouched, where the name is unknown.
bool parse_input(std::string_view name, Input* input);

}  // namespace kw::check
