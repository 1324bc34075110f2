// Standard normal values that are the same bits on every processor. Only operations that IEEE 754
// rounds correctly are used (+ - * / sqrt, and fma where two of them meet), so no math library and
// no compiler's contraction can change a result.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "host_device.hpp"

namespace kw::check {

// Natural logarithm of a positive, normal double to about 1e-12: log(x) = e log 2 + 2 atanh(s).
KW_HOST_DEVICE inline double reproducible_log(double x) {
  constexpr std::uint64_t mantissa_mask = (std::uint64_t{1} << 52) - 1;
  constexpr std::uint64_t exponent_of_one = std::uint64_t{1023} << 52;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  auto mantissa = std::bit_cast<double>((bits & mantissa_mask) | exponent_of_one);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  const double s = (mantissa - 1.0) / (mantissa + 1.0);  // |s| <= 0.1716
  const double s2 = s * s;
  double series = 1.0 / 15.0;
  series = fma(series, s2, 1.0 / 13.0);
  series = fma(series, s2, 1.0 / 11.0);
  series = fma(series, s2, 1.0 / 9.0);
  series = fma(series, s2, 1.0 / 7.0);
  series = fma(series, s2, 1.0 / 5.0);
  series = fma(series, s2, 1.0 / 3.0);
  series = fma(series, s2, 1.0);
  return fma(static_cast<double>(exponent), 0.69314718055994531, 2.0 * s * series);
}

// The x below which a standard normal variable falls with probability p, 0 < p < 1: Wichura's
// algorithm AS 241, PPND7 (1988), good to seven digits, as a float has no more.
KW_HOST_DEVICE inline double normal_quantile(double p) {
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    const double r = fma(-q, q, 0.180625);
    const double top =
        fma(fma(fma(59.109374720, r, 159.29113202), r, 50.434271938), r, 3.3871327179);
    const double bottom = fma(fma(fma(67.187563600, r, 78.757757664), r, 17.895169469), r, 1.0);
    return q * top / bottom;
  }
  double r = sqrt(-reproducible_log(q < 0 ? p : 1.0 - p));
  double top = 0;
  double bottom = 1;
  if (r <= 5.0) {
    r -= 1.6;
    top = fma(fma(fma(0.17023821103, r, 1.3067284816), r, 2.7568153900), r, 1.4234372777);
    bottom = fma(fma(0.12021132975, r, 0.73700164250), r, 1.0);
  } else {
    r -= 5.0;
    top = fma(fma(fma(0.017337203997, r, 0.42868294337), r, 3.0812263860), r, 6.6579051150);
    bottom = fma(fma(0.012258202635, r, 0.24197894225), r, 1.0);
  }
  const double x = top / bottom;
  return q < 0 ? -x : x;
}

}  // namespace kw::check
