// The last step of a reduction: from a sequence's Total to what the caller reads.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "reduce/numbers/accumulate.hpp"

namespace kw {

// Where results go and how; the same for all sequences of a call.
struct ResultSink {
  ReduceOp op = ReduceOp::sum;
  void* out = nullptr;
  std::int64_t correction = 0;
};

namespace reduce_detail {

// Results that are float32 for narrow types, float64 for float64 and for integers.
template <class T>
using Real =
    std::conditional_t<std::is_floating_point_v<Value<T>> && sizeof(Value<T>) == 4, float, double>;

template <class R>
KW_HOST_DEVICE inline void put(void* out, std::int64_t at, R value) {
  static_cast<R*>(out)[at] = value;
}

template <class T>
KW_HOST_DEVICE inline void put_real(void* out, std::int64_t at, double value) {
  put(out, at, from_value<Real<T>>(value));
}

// A sum as a double, by the same roundings everywhere.
template <class S>
KW_HOST_DEVICE inline double as_double(S sum) {
  if constexpr (sizeof(S) <= 8) {
    return static_cast<double>(sum);
  } else {
    const bool negative = static_cast<Int128>(sum) < 0;
    const auto bits = static_cast<unsigned __int128>(sum);
    const unsigned __int128 magnitude = negative ? 0 - bits : bits;
    const auto high = static_cast<std::uint64_t>(magnitude >> 64);
    const auto low = static_cast<std::uint64_t>(magnitude);
    const double value = fma(static_cast<double>(high), 0x1p64, static_cast<double>(low));
    return negative ? -value : value;
  }
}

KW_HOST_DEVICE constexpr double not_a_number() { return std::numeric_limits<double>::quiet_NaN(); }

}  // namespace reduce_detail

template <class T, ReduceKind kind>
KW_HOST_DEVICE inline void finish(const ResultSink& sink, std::int64_t sequence,
                                  const typename Accumulator<kind, T>::Total& total,
                                  std::int64_t count) {
  using namespace reduce_detail;
  if constexpr (kind == ReduceKind::sum || kind == ReduceKind::wide_sum ||
                kind == ReduceKind::sum_abs || kind == ReduceKind::sum_square) {
    if (sink.op == ReduceOp::mean) {
      const double mean = quotient(as_double(total), static_cast<double>(count));
      put_real<T>(sink.out, sequence, count == 0 ? not_a_number() : mean);
    } else if (sink.op == ReduceOp::l2_norm) {
      put_real<T>(sink.out, sequence, sqrt(as_double(total)));
    } else if constexpr (std::is_integral_v<T>) {
      put(sink.out, sequence, static_cast<std::int64_t>(total));
    } else {
      put_real<T>(sink.out, sequence, total);
    }
  } else if constexpr (kind == ReduceKind::norm_square) {
    if constexpr (std::is_same_v<T, double>) {
      put_real<T>(sink.out, sequence, total.root());
    } else {
      put_real<T>(sink.out, sequence, sqrt(as_double(total)));
    }
  } else if constexpr (kind == ReduceKind::min || kind == ReduceKind::max) {
    put(sink.out, sequence, from_value<T>(total));
  } else if constexpr (kind == ReduceKind::min_max) {
    if (sink.op == ReduceOp::min_max) {
      put(sink.out, 2 * sequence, from_value<T>(total.lowest));
      put(sink.out, 2 * sequence + 1, from_value<T>(total.highest));
    }
    if (sink.op == ReduceOp::max_norm) {
      if constexpr (std::is_integral_v<T>) {
        // |INT64_MIN| is INT64_MIN modulo 2^64, which as an unsigned number is the larger one.
        const auto low = static_cast<std::uint64_t>(static_cast<std::int64_t>(total.lowest));
        const auto high = static_cast<std::uint64_t>(static_cast<std::int64_t>(total.highest));
        const std::uint64_t below = total.lowest < 0 ? 0 - low : low;
        const std::uint64_t above = total.highest < 0 ? 0 - high : high;
        const std::uint64_t norm = count == 0 ? 0 : below > above ? below : above;
        put(sink.out, sequence, static_cast<std::int64_t>(norm));
      } else {
        const Value<T> norm = maximum(static_cast<Value<T>>(fabs(total.lowest)),
                                      static_cast<Value<T>>(fabs(total.highest)));
        put(sink.out, sequence, from_value<T>(count == 0 ? Value<T>{0} : norm));
      }
    }
  } else if constexpr (kind == ReduceKind::max_abs) {
    put(sink.out, sequence, from_value<T>(from_bits<T>(static_cast<BitsOf<T>>(total))));
  } else if constexpr (kind == ReduceKind::arg_min || kind == ReduceKind::arg_max) {
    constexpr std::int64_t nowhere = Place<Value<T>>::nowhere;
    const std::int64_t first = count == 0 ? -1 : 0;
    put(sink.out, sequence, total.index == nowhere ? first : total.index);
  } else {
    const auto divisor = count - sink.correction;
    const double variance =
        divisor > 0 ? quotient(total.squares, static_cast<double>(divisor)) : not_a_number();
    put_real<T>(sink.out, sequence, variance);
  }
}

// The same, out of line: square roots, divisions and 128-bit sums, which would cost the loops
// before them registers. Of types of 2 bytes variances have none left for the sink.
template <class T, ReduceKind kind>
KW_HOST_DEVICE __attribute__((noinline)) void finish_out_of_line(
    std::conditional_t<sizeof(T) == 2, const ResultSink&, ResultSink> sink, std::int64_t sequence,
    typename Accumulator<kind, T>::Total total, std::int64_t count) {
  finish<T, kind>(sink, sequence, total, count);
}

// The result of sequence number `sequence`, which has `count` elements.
template <class T, ReduceKind kind>
KW_HOST_DEVICE inline void write_result(const ResultSink& sink, std::int64_t sequence,
                                        const typename Accumulator<kind, T>::Total& total,
                                        std::int64_t count) {
  constexpr bool heavy = kind == ReduceKind::norm_square || kind == ReduceKind::moments ||
                         std::is_same_v<typename Accumulator<kind, T>::Total, Int128>;
  if constexpr (heavy) {
    finish_out_of_line<T, kind>(sink, sequence, total, count);
  } else {
    finish<T, kind>(sink, sequence, total, count);
  }
}

}  // namespace kw
