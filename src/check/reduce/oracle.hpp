// Reductions in twice the precision of float64, from the generator of the data and not from the
// kernel's array. The same text runs on the CPU and in a GPU kernel; it shares nothing with
// src/reduce/numbers/accumulate.hpp.
#pragma once

#include <cmath>
#include <cstdint>

#include "check/reduce/data.hpp"

namespace kw::check {

// The unevaluated sum of two doubles, about 106 bits (Dekker 1971, Knuth's two-sum).
struct Wide {
  double high, low;
};

KW_HOST_DEVICE inline Wide two_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
KW_HOST_DEVICE inline Wide operator+(const Wide& a, const Wide& b) {
  const Wide sum = two_sum(a.high, b.high);
  return two_sum(sum.high, sum.low + (a.low + b.low));
}
KW_HOST_DEVICE inline Wide operator-(const Wide& a) { return {-a.high, -a.low}; }
KW_HOST_DEVICE inline Wide operator*(const Wide& a, const Wide& b) {
  const double product = a.high * b.high;
  const double rest = fma(a.high, b.high, -product) + (a.high * b.low + a.low * b.high);
  return two_sum(product, rest);
}
KW_HOST_DEVICE inline Wide operator/(const Wide& a, double divisor) {
  const double quotient = a.high / divisor;
  return two_sum(quotient, (fma(-quotient, divisor, a.high) + a.low) / divisor);
}
KW_HOST_DEVICE inline Wide to_wide(double x) { return {x, 0}; }
KW_HOST_DEVICE inline Wide to_wide(std::int64_t x) {  // from two halves, both exact
  return two_sum(0x1p32 * static_cast<double>(x >> 32), static_cast<std::uint32_t>(x));
}

// What one sequence's results must be.
struct Reference {
  double value[2];        // where the result is a floating-point number; [1]: min_max's largest
  std::int64_t whole[2];  // where it is an integer
  double magnitude;  // what errors are measured against: the mean or the sum of |x|, or |value|
};

struct ReduceOracle {
  ReduceOp op = ReduceOp::sum;
  ReduceShape shape = ReduceShape::whole;
  std::int64_t rows = 1, cols = 0;
  const std::int64_t* offsets = nullptr;
  std::int64_t sequences = 0;
  std::int64_t correction = 0;
  ElementStream values;
  std::int64_t pieces = 1;  // that a sequence is cut into; scratch holds findings of all of them
  void* scratch = nullptr;
  Reference* references = nullptr;
};

// Element k of a sequence is element begin + k * step of the array.
struct Sequence {
  std::int64_t begin, step, count;
};

KW_HOST_DEVICE inline Sequence sequence_of(const ReduceOracle& o, std::int64_t which) {
  switch (o.shape) {
    case ReduceShape::rows: return {which * o.cols, 1, o.cols};
    case ReduceShape::columns: return {which, o.cols, o.rows};
    case ReduceShape::segments: {
      const auto inside = [&](std::int64_t at) { return at < 0 ? 0 : at > o.cols ? o.cols : at; };
      const std::int64_t begin = inside(o.offsets[which]);
      const std::int64_t end = inside(o.offsets[which + 1]);
      return {begin, 1, end > begin ? end - begin : 0};
    }
    default: return {0, 1, o.cols};
  }
}

// Floating-point elements are looked at as doubles, integers as int64: both are exact.
template <class T>
using Seen = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

constexpr std::int64_t no_place = INT64_MAX;

// What is known after some elements. An aggregate without initialisers, so that it can live in GPU
// shared memory.
template <class V>
struct Findings {
  Wide sum;                 // of x or |x|, without what is not finite; of differences for variance
  Wide square;              // of squares, likewise, in the unit of square_scale
  Wide ordinary_square;     // of squares that would vanish in that unit
  double magnitude;         // sum of |x|
  unsigned __int128 whole;  // sums of integers, modulo 2^128
  V lowest, highest;        // NaN left out, -0 below +0
  std::int64_t at_lowest, at_highest, first_nan;  // no_place where there is none
  bool above, below;                              // +infinity, -infinity among the elements
};

// Of elements of a type: sums of squares are kept in units in which they neither overflow nor
// underflow.
KW_HOST_DEVICE inline double square_scale(const ElementStream& values) {
  if (values.type != DataType::float64) return 1;
  if (values.sprinkle == Sprinkle::huge) return 0x1p-600;
  return values.sprinkle == Sprinkle::tiny ? 0x1p600 : 1;
}

// Among huge elements, those below have squares that are exact in their own unit and nothing beside
// a huge one's.
constexpr double ordinary_end = 0x1p200;

template <class V>
class Finder {
 public:
  // `first` is the sequence's first element: variance sums differences to it.
  KW_HOST_DEVICE Finder(const ReduceOracle& oracle, V first)
      : op_(oracle.op), scale_(square_scale(oracle.values)), shift_{0, 0} {
    if (op_ == ReduceOp::variance && is_finite(first)) shift_ = to_wide(first);
  }

  KW_HOST_DEVICE static Findings<V> nothing() {
    return {{0, 0}, {0, 0}, {0, 0}, 0, 0, V{0}, V{0}, no_place, no_place, no_place, false, false};
  }

  KW_HOST_DEVICE void take(Findings<V>& f, V x, std::int64_t at) const {
    if (is_nan(x)) {
      if (at < f.first_nan) f.first_nan = at;
      return;
    }
    if (takes_extremes()) {
      take_lowest(f, x, at);
      take_highest(f, x, at);
    } else if (is_finite(x)) {
      take_sums(f, x);
    } else {
      (x > 0 ? f.above : f.below) = true;
    }
  }

  KW_HOST_DEVICE static void merge(Findings<V>& into, const Findings<V>& from) {
    into.sum = into.sum + from.sum;
    into.square = into.square + from.square;
    into.ordinary_square = into.ordinary_square + from.ordinary_square;
    into.magnitude += from.magnitude;
    into.whole += from.whole;
    if (from.at_lowest != no_place) take_lowest(into, from.lowest, from.at_lowest);
    if (from.at_highest != no_place) take_highest(into, from.highest, from.at_highest);
    if (from.first_nan < into.first_nan) into.first_nan = from.first_nan;
    into.above |= from.above;
    into.below |= from.below;
  }

 private:
  KW_HOST_DEVICE static bool is_finite(double x) { return fabs(x) <= 0x1.fffffffffffffp1023; }
  KW_HOST_DEVICE static bool is_finite(std::int64_t) { return true; }
  // Among equal values the one with a sign is the lower one: -0.
  KW_HOST_DEVICE static bool has_sign(double x) { return std::signbit(x); }
  KW_HOST_DEVICE static bool has_sign(std::int64_t) { return false; }

  KW_HOST_DEVICE bool takes_extremes() const {
    return op_ == ReduceOp::min || op_ == ReduceOp::max || op_ == ReduceOp::min_max ||
           op_ == ReduceOp::argmin || op_ == ReduceOp::argmax || op_ == ReduceOp::max_norm;
  }

  KW_HOST_DEVICE static void take_lowest(Findings<V>& f, V x, std::int64_t at) {
    if (f.at_lowest == no_place || x < f.lowest) {
      f.lowest = x;
      f.at_lowest = at;
    } else if (x == f.lowest) {
      if (has_sign(x)) f.lowest = x;
      if (at < f.at_lowest) f.at_lowest = at;
    }
  }
  KW_HOST_DEVICE static void take_highest(Findings<V>& f, V x, std::int64_t at) {
    if (f.at_highest == no_place || x > f.highest) {
      f.highest = x;
      f.at_highest = at;
    } else if (x == f.highest) {
      if (!has_sign(x)) f.highest = x;
      if (at < f.at_highest) f.at_highest = at;
    }
  }

  KW_HOST_DEVICE void take_sums(Findings<V>& f, V x) const {
    const Wide wide = to_wide(x);
    const Wide size = wide.high < 0 ? -wide : wide;
    const bool takes_squares = op_ == ReduceOp::sum_of_squares || op_ == ReduceOp::l2_norm;
    if (op_ == ReduceOp::variance || takes_squares) {
      const Wide apart = wide + -shift_;
      const Wide scaled = {apart.high * scale_, apart.low * scale_};
      f.sum = f.sum + scaled;
      if (takes_squares && scale_ < 1 && size.high < ordinary_end) {
        f.ordinary_square = f.ordinary_square + wide * wide;
      } else {
        f.square = f.square + scaled * scaled;
      }
    } else {
      f.sum = f.sum + (op_ == ReduceOp::l1_norm ? size : wide);
      f.magnitude += size.high;
    }
    if constexpr (std::is_integral_v<V>) {
      const auto bits = static_cast<unsigned __int128>(static_cast<__int128>(x));
      const bool negate = op_ == ReduceOp::l1_norm && x < 0;
      f.whole += takes_squares ? bits * bits : negate ? 0 - bits : bits;
    }
  }

  ReduceOp op_;
  double scale_;
  Wide shift_;
};

// From what was found in a sequence of `count` elements to its results.
template <class T>
class Conclusion {
 public:
  using V = Seen<T>;

  KW_HOST_DEVICE Conclusion(const ReduceOracle& oracle, const Findings<V>& found,
                            std::int64_t count)
      : o_(oracle), f_(found), count_(count) {}

  KW_HOST_DEVICE Reference reference() const {
    switch (o_.op) {
      case ReduceOp::argmin: return place(f_.at_lowest);
      case ReduceOp::argmax: return place(f_.at_highest);
      case ReduceOp::min: return pair(lowest(), lowest());
      case ReduceOp::max: return pair(highest(), highest());
      case ReduceOp::min_max: return pair(lowest(), highest());
      case ReduceOp::max_norm: return max_norm();
      case ReduceOp::variance: return real(variance());
      case ReduceOp::sum_of_squares:
      case ReduceOp::l2_norm: return squares();
      default: return sum();
    }
  }

 private:
  KW_HOST_DEVICE static double nan_value() { return std::numeric_limits<double>::quiet_NaN(); }
  KW_HOST_DEVICE static double infinity() { return std::numeric_limits<double>::infinity(); }
  KW_HOST_DEVICE bool has_nan() const { return f_.first_nan != no_place; }

  KW_HOST_DEVICE static Reference real(double value) {
    return {{value, value}, {0, 0}, fabs(value)};
  }
  KW_HOST_DEVICE static Reference whole(std::int64_t value) {
    return {{0, 0}, {value, value}, fabs(static_cast<double>(value))};
  }
  KW_HOST_DEVICE Reference place(std::int64_t at) const {
    return whole(count_ == 0 ? -1 : has_nan() ? f_.first_nan : at);
  }

  KW_HOST_DEVICE V lowest() const { return count_ == 0 ? V{Limits<T>::largest()} : f_.lowest; }
  KW_HOST_DEVICE V highest() const { return count_ == 0 ? V{Limits<T>::smallest()} : f_.highest; }
  KW_HOST_DEVICE Reference pair(V low, V high) const {
    if constexpr (std::is_integral_v<T>) return {{0, 0}, {low, high}, 0};
    if (has_nan()) return real(nan_value());
    return {{static_cast<double>(low), static_cast<double>(high)},
            {0, 0},
            fmax(fabs(static_cast<double>(low)), fabs(static_cast<double>(high)))};
  }
  KW_HOST_DEVICE Reference max_norm() const {
    if constexpr (std::is_integral_v<T>) {
      const __int128 low = f_.lowest, high = f_.highest;
      return whole(static_cast<std::int64_t>(-low > high ? -low : high));
    }
    if (has_nan()) return real(nan_value());
    return real(fmax(fabs(static_cast<double>(f_.lowest)), fabs(static_cast<double>(f_.highest))));
  }

  // What infinities and NaN make of a sum, or `finite` where there are none.
  KW_HOST_DEVICE double with_specials(double finite) const {
    if (has_nan()) return nan_value();
    if (o_.op == ReduceOp::sum || o_.op == ReduceOp::mean) {
      if (f_.above && f_.below) return nan_value();
      if (f_.below) return -infinity();
    }
    return f_.above || f_.below ? infinity() : finite;
  }

  KW_HOST_DEVICE Reference sum() const {
    const auto count = static_cast<double>(count_);
    if (o_.op == ReduceOp::mean) {
      if (count_ == 0) return real(nan_value());
      const Wide mean = f_.sum / count;
      return {{with_specials(mean.high), 0}, {0, 0}, f_.magnitude / count};
    }
    return {{with_specials(f_.sum.high), 0},
            {static_cast<std::int64_t>(static_cast<std::uint64_t>(f_.whole)), 0},
            f_.magnitude};
  }

  KW_HOST_DEVICE Reference squares() const {
    const bool is_ordinary = f_.square.high == 0;
    const double unit = is_ordinary ? 1 : 1 / square_scale(o_.values);
    const double square = is_ordinary ? f_.ordinary_square.high : f_.square.high;
    const double value = o_.op == ReduceOp::l2_norm ? sqrt(square) * unit : square * unit * unit;
    Reference reference = real(with_specials(value));
    reference.whole[0] = static_cast<std::int64_t>(static_cast<std::uint64_t>(f_.whole));
    return reference;
  }

  KW_HOST_DEVICE double variance() const {
    if (count_ == 0 || count_ <= o_.correction || has_nan() || f_.above || f_.below) {
      return nan_value();
    }
    const double unit = 1 / square_scale(o_.values);
    const Wide squares = f_.square + -((f_.sum * f_.sum) / static_cast<double>(count_));
    const double variance = squares.high / static_cast<double>(count_ - o_.correction);
    return (variance < 0 ? 0 : variance) * unit * unit;
  }

  const ReduceOracle& o_;
  const Findings<V>& f_;
  std::int64_t count_;
};

// Sequence job / pieces, piece job % pieces: every `stride`-th element of it, from `offset` on.
template <class T>
KW_HOST_DEVICE inline Findings<Seen<T>> find_in_piece(const ReduceOracle& o, std::int64_t job,
                                                      std::int64_t offset, std::int64_t stride) {
  using V = Seen<T>;
  const Sequence sequence = sequence_of(o, job / o.pieces);
  const std::int64_t piece = job % o.pieces;
  const std::int64_t end = sequence.count * (piece + 1) / o.pieces;
  const auto at = [&](std::int64_t k) {
    return static_cast<V>(to_value(element<T>(o.values, sequence.begin + k * sequence.step)));
  };
  Findings<V> found = Finder<V>::nothing();
  if (sequence.count == 0) return found;
  const Finder<V> finder(o, at(0));
  for (std::int64_t k = sequence.count * piece / o.pieces + offset; k < end; k += stride) {
    finder.take(found, at(k), k);
  }
  return found;
}

// Findings of a piece: to the reference where it is the only one, else to where they are merged.
template <class T>
KW_HOST_DEVICE inline void deliver(const ReduceOracle& o, std::int64_t job,
                                   const Findings<Seen<T>>& found) {
  if (o.pieces > 1) {
    static_cast<Findings<Seen<T>>*>(o.scratch)[job] = found;
  } else {
    o.references[job] = Conclusion<T>(o, found, sequence_of(o, job).count).reference();
  }
}

// Merges the pieces of a sequence, in order.
template <class T>
struct ConcludeSequence {
  ReduceOracle oracle;

  KW_HOST_DEVICE std::int64_t size() const { return oracle.sequences; }
  KW_HOST_DEVICE void operator()(std::int64_t which) const {
    const auto* pieces = static_cast<const Findings<Seen<T>>*>(oracle.scratch);
    Findings<Seen<T>> found = Finder<Seen<T>>::nothing();
    for (std::int64_t p = 0; p < oracle.pieces; ++p) {
      Finder<Seen<T>>::merge(found, pieces[which * oracle.pieces + p]);
    }
    const std::int64_t count = sequence_of(oracle, which).count;
    oracle.references[which] = Conclusion<T>(oracle, found, count).reference();
  }
};

}  // namespace kw::check
