// Sums that variances are made of, within a chunk and from chunk to chunk. The same text on the CPU
// and on a GPU.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "host_device.hpp"

namespace kw {

// Within a chunk: sums of d and d^2, where d is the difference to the chunk's first element. As
// that element is one of them, the sum of d^2 is at most (1 + count) times the squares about the
// mean, so the subtraction in `moments` loses at most a factor count * 2^-53.
struct ShiftedSums {
  double sum, square;
};

// From chunk to chunk: count, mean and sum of squared differences from the mean.
struct Moments {
  double count, mean, squares;
};

// a / b where b is a count. By a power of two it is a product, which rounds alike. Of a zero a
// division takes the long way for what is not normal, and with it all lanes of the warp.
KW_HOST_DEVICE inline double quotient(double a, double b) {
  const auto bits = std::bit_cast<std::uint64_t>(b);
  if (bits << 12 == 0) return a * std::bit_cast<double>((std::uint64_t{2046} << 52) - bits);
  return a == 0 ? a : a / b;
}

KW_HOST_DEVICE inline Moments moments(const ShiftedSums& sums, double shift, double count) {
  if (count == 0) return {0, 0, 0};
  const double mean = quotient(sums.sum, count);
  const double squares = fma(-sums.sum, mean, sums.square);
  return {count, shift + mean, squares < 0 ? 0 : squares};
}

// Chan, Golub and LeVeque, "Algorithms for computing the sample variance", The American
// Statistician 37 (1983), formula 2.1.
KW_HOST_DEVICE inline void merge_moments(Moments& into, const Moments& later) {
  if (later.count == 0) return;
  if (into.count == 0) {
    into = later;
    return;
  }
  const double count = into.count + later.count;
  const double share = later.count == into.count ? 0.5 : later.count / count;
  const double apart = later.mean - into.mean;
  into.squares = fma(apart * apart, into.count * share, into.squares + later.squares);
  into.mean = fma(apart, share, into.mean);
  into.count = count;
}

// x + 2^52, and of a signed number x + 2^52 + 2^31, without a conversion: a GPU makes few of them
// at a time.
KW_HOST_DEVICE inline double above_2_to_52(std::uint32_t x) {
  return std::bit_cast<double>(std::uint64_t{0x43300000} << 32 | x);
}
KW_HOST_DEVICE inline double above_2_to_52(std::int32_t x) {
  return above_2_to_52(static_cast<std::uint32_t>(x) ^ 0x80000000u);
}

// x - y, rounded once. Of int64 by halves of 32 bits, whose differences are exact.
template <class V>
KW_HOST_DEVICE inline double difference(V x, V y) {
  if constexpr (std::is_same_v<V, std::int32_t>) {
    return above_2_to_52(x) - above_2_to_52(y);
  } else if constexpr (std::is_same_v<V, std::int64_t>) {
    const auto high = [](std::int64_t v) { return static_cast<std::int32_t>(v >> 32); };
    const auto low = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
    const double highs = above_2_to_52(high(x)) - above_2_to_52(high(y));
    const double lows = above_2_to_52(low(x)) - above_2_to_52(low(y));
    return fma(highs, 0x1p32, lows);
  } else {
    return static_cast<double>(x) - static_cast<double>(y);
  }
}

}  // namespace kw
