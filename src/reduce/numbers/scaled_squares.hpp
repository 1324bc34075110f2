// What the norm of float64 is made of: its squares, none of which leaves the format. The same text
// on the CPU and on a GPU.
#pragma once

#include <cmath>
#include <cstdint>

#include "reduce/numbers/element.hpp"

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

// Squares of float64 for a root, in three ranges.
struct NormSquare {
  using Lane = ScaledSquares;
  using Partial = ScaledSquares;
  using Total = ScaledSquares;
  static constexpr bool any_order = false;

  KW_HOST_DEVICE static Lane empty_lane() { return {0, 0, 0}; }
  KW_HOST_DEVICE static Partial empty() { return {0, 0, 0}; }
  KW_HOST_DEVICE static Total empty_total() { return {0, 0, 0}; }
  KW_HOST_DEVICE static void add(Lane& lane, double x, std::int32_t, double) { lane.add(x); }
  // Numbers that no other sum than the middle one takes.
  KW_HOST_DEVICE static bool is_middle(double x) { return ScaledSquares::is_middle(x); }
  KW_HOST_DEVICE static void add_middle(Lane& lane, double x) {
    lane.middle = fma(x, x, lane.middle);
  }
  KW_HOST_DEVICE static Partial close(const Lane& lane) { return lane; }
  KW_HOST_DEVICE static Total total(const Partial& partial, const Chunk<double>&) {
    return partial;
  }
  KW_HOST_DEVICE static void merge(Partial& into, const Partial& later) {
    into.big += later.big;
    into.middle += later.middle;
    into.small += later.small;
  }
};

// One of the three sums by itself: a third of what a tree moves.
template <double ScaledSquares::*range>
struct SquaresOfRange {
  using Lane = double;
  using Partial = double;
  using Total = double;
  static constexpr bool any_order = false;

  KW_HOST_DEVICE static Lane empty_lane() { return 0; }
  KW_HOST_DEVICE static Partial empty() { return 0; }
  KW_HOST_DEVICE static Total empty_total() { return 0; }
  KW_HOST_DEVICE static void add(Lane& lane, double x, std::int32_t, double) {
    ScaledSquares sums = {0, 0, 0};
    sums.*range = lane;
    sums.add(x);
    lane = sums.*range;
  }
  KW_HOST_DEVICE static Partial close(Lane lane) { return lane; }
  KW_HOST_DEVICE static Total total(Partial partial, const Chunk<double>&) { return partial; }
  KW_HOST_DEVICE static void merge(Partial& into, Partial later) { into += later; }
};

// The middle sum of numbers that have no other: one that has makes it a NaN, which stays.
struct MiddleSquares : SquaresOfRange<&ScaledSquares::middle> {
  KW_HOST_DEVICE static void add(Lane& lane, double x, std::int32_t, double) {
    const double own = middle_or_nan(x);
    lane = fma(own, own, lane);
  }
  KW_HOST_DEVICE static Lane only(double x, double) {
    const double own = middle_or_nan(x);
    return fma(own, own, 0.0);
  }

 private:
  KW_HOST_DEVICE static double middle_or_nan(double x) {
    const std::uint64_t bits = bits_of(x), low = bits & 0xFFFFFFFFu;
    const bool has_square = ScaledSquares::is_middle(x) || bits << 1 == 0;
    const std::uint64_t high = has_square ? bits >> 32 : 0x7FF80000u;
    return from_bits<double>(high << 32 | low);
  }
};

}  // namespace kw
