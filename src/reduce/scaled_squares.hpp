// What the norm of float64 is made of: its squares, none of which leaves the format. The same text
// on the CPU and on a GPU.
#pragma once

#include <cmath>
#include <cstdint>

#include "reduce/element.hpp"

namespace kw {

// Squares of float64 in three ranges, so that none of them leaves the format (Blue, "A portable
// Fortran program to find the Euclidean norm of a vector", ACM TOMS 4, 1978).
struct ScaledSquares {
  double big, middle, small;  // of x 2^-600, x, x 2^600

  static constexpr double above = 0x1p500, below = 0x1p-500;
  KW_HOST_DEVICE void add(double x) {
    const double a = fabs(x);
    if (!(a <= above)) {
      const double s = a * 0x1p-600;
      big = fma(s, s, big);
    } else if (a < below) {
      const double s = a * 0x1p600;
      small = fma(s, s, small);
    } else {
      middle = fma(a, a, middle);
    }
  }
  // Whether x is surely of the middle range, by its exponent.
  KW_HOST_DEVICE static bool is_middle(double x) {
    constexpr std::uint32_t least = (1023 - 500) << 20, more = (1023 + 500) << 20;
    const auto high = static_cast<std::uint32_t>(bits_of(x) >> 32) & 0x7FFFFFFFu;
    return high - least < more - least;
  }
  KW_HOST_DEVICE double root() const {
    if (!(big == 0)) return sqrt(fma(middle * 0x1p-600, 0x1p-600, big)) * 0x1p600;
    if (middle > 0) return sqrt(fma(small * 0x1p-600, 0x1p-600, middle));
    return sqrt(small) * 0x1p-600;
  }
};

}  // namespace kw
