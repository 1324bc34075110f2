// What the tests of wgmma share: halves, encoded the slow way, and operands in the layout that the
// instruction takes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "device/wgmma.hpp"

namespace KW_TARGET {

using Bits = std::uint16_t;

inline constexpr int rows = 64, depth = 16;  // of one instruction's A

struct HalfFormat {
  int fraction, bias;
};
constexpr HalfFormat format_of(Half type) {
  return type == Half::bf16 ? HalfFormat{7, 127} : HalfFormat{10, 15};
}

inline double decode(Half type, Bits bits) {
  const auto [fraction, bias] = format_of(type);
  const int top = (1 << (15 - fraction)) - 1;
  const int field = bits >> fraction & top;
  const int low = bits & ((1 << fraction) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (field == top) return low != 0 ? std::nan("") : sign * HUGE_VAL;
  const int significand = low + (field != 0 ? 1 << fraction : 0);
  return sign * std::ldexp(significand, std::max(field, 1) - bias - fraction);
}

// Exact, or the test is wrong.
inline Bits encode(Half type, double value) {
  const auto [fraction, bias] = format_of(type);
  int exponent = 0;
  std::frexp(value, &exponent);
  const int field = value == 0 ? 0 : std::max(exponent - 1 + bias, 0);
  const double units = std::ldexp(std::fabs(value), fraction + bias - std::max(field, 1));
  const auto low = static_cast<int>(units) - (field != 0 ? 1 << fraction : 0);
  const auto bits = static_cast<Bits>((std::signbit(value) ? 0x8000 : 0) | field << fraction | low);
  EXPECT_EQ(decode(type, bits), value);
  return bits;
}

struct Matrix {
  int rows, k;
  std::vector<Bits> elements;  // by rows
  Bits& at(int row, int column) { return elements[row * k + column]; }
  Bits at(int row, int column) const { return const_cast<Matrix*>(this)->at(row, column); }
};

inline Matrix matrix(int height, int k) {
  return {height, k, std::vector<Bits>(static_cast<unsigned>(height * k))};
}

// Steps of 16 columns, each in core matrices of 8 rows x 8 columns.
inline std::vector<Bits> packed(const Matrix& from, bool k_next) {
  std::vector<Bits> out(from.elements.size());
  for (int row = 0; row < from.rows; ++row) {
    for (int column = 0; column < from.k; ++column) {
      const int core_row = row / 8, core_k = column % depth / 8;
      const int core = k_next ? core_row * 2 + core_k : core_k * (from.rows / 8) + core_row;
      out[column / depth * depth * from.rows + core * 64 + row % 8 * 8 + column % 8] =
          from.at(row, column);
    }
  }
  return out;
}

// Where element i of a thread's accumulator lies in the product, by rows.
inline int accumulator_place(int thread, int i, int n) {
  const int row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
  return row * n + i / 4 * 8 + thread % 4 * 2 + i % 2;
}

}  // namespace KW_TARGET
