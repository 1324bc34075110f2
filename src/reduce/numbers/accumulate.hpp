// How numbers become one: for each kind of reduction and element type, what a lane keeps while it
// walks over elements (Lane), what lanes become when their walk is over (Partial), how two of those
// merge, and how the last one becomes a result. GPU kernels and the CPU run this same text.
//
//   A::Lane      empty_lane()    add(lane, value, at, first)    one lane's walk over a chunk
//   A::Partial   empty()         close(lane)                    lanes of one chunk, merged
//   A::Total     empty_total()   total(partial, chunk)          chunks, merged
//   A::merge(into, later)        of two Partials or two Totals; `into` came first
//   A::any_order                 exact within a chunk: the order of elements cannot show
//
// `at` is the element's index within the chunk, `first` the value of the chunk's first element.
#pragma once

#include <cmath>
#include <cstdint>

#include "reduce/numbers/element.hpp"
#include "reduce/numbers/moments.hpp"
#include "reduce/numbers/scaled_squares.hpp"

namespace kw {

// Operations that share a walk share a kind.
enum class ReduceKind {
  sum,          // sum, mean
  wide_sum,     // mean of int64: the sum leaves 64 bits
  sum_abs,      // l1_norm
  sum_square,   // sum_of_squares, l2_norm
  norm_square,  // l2_norm of float64, int32 and int64: squares leave the range
  min,
  max,
  min_max,  // min_max, max_norm of other types
  max_abs,  // max_norm of float64
  arg_min,
  arg_max,
  moments,  // variance
};

constexpr ReduceKind kind_of(ReduceOp op, DataType type) {
  switch (op) {
    case ReduceOp::sum: return ReduceKind::sum;
    case ReduceOp::mean: return type == DataType::int64 ? ReduceKind::wide_sum : ReduceKind::sum;
    case ReduceOp::l1_norm: return ReduceKind::sum_abs;
    case ReduceOp::sum_of_squares: return ReduceKind::sum_square;
    case ReduceOp::l2_norm:
      return type == DataType::float64 || type == DataType::int32 || type == DataType::int64
                 ? ReduceKind::norm_square
                 : ReduceKind::sum_square;
    case ReduceOp::min: return ReduceKind::min;
    case ReduceOp::max: return ReduceKind::max;
    case ReduceOp::max_norm:
      return type == DataType::float64 ? ReduceKind::max_abs : ReduceKind::min_max;
    case ReduceOp::min_max: return ReduceKind::min_max;
    case ReduceOp::argmin: return ReduceKind::arg_min;
    case ReduceOp::argmax: return ReduceKind::arg_max;
    case ReduceOp::variance: return ReduceKind::moments;
  }
  return ReduceKind::sum;
}

using Int128 = __int128;

// Sums of x, |x| or x^2. 16-bit formats add in float within a lane (x and |x|), all other floating
// types and the squares of int64 whose root is asked for in double; other integers exactly, in 128
// bits where a mean or a root of the sum is asked for and else modulo 2^64 where 64 bits may not
// hold it: a lane holds what one chunk can bring it, a Partial the rest.
template <ReduceKind kind, class T>
struct Sum {
  static constexpr bool square = kind == ReduceKind::sum_square || kind == ReduceKind::norm_square;
  static constexpr bool integral =
      std::is_integral_v<T> && !(kind == ReduceKind::norm_square && sizeof(T) == 8);
  static constexpr bool half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
  static constexpr bool wide = kind == ReduceKind::wide_sum || kind == ReduceKind::norm_square;
  static constexpr bool modulo =
      std::is_same_v<T, std::int64_t> || (square && std::is_same_v<T, std::int32_t>);
  using Exact =
      std::conditional_t<wide, Int128, std::conditional_t<modulo, std::uint64_t, std::int64_t>>;
  using FloatLane = std::conditional_t<half && !square, float, double>;
  // A lane of a warp may get 2^23 elements of a chunk (walk.hpp): 2^30 at most, their squares 2^37.
  static constexpr bool small = std::is_same_v<T, std::int8_t>;
  using ExactLane = std::conditional_t<small && !square, std::int32_t, Exact>;
  using Lane = std::conditional_t<integral, ExactLane, FloatLane>;
  using Partial = std::conditional_t<integral, Exact, double>;
  using Total = Partial;
  static constexpr bool any_order = integral;

  KW_HOST_DEVICE static Lane empty_lane() { return 0; }
  KW_HOST_DEVICE static Partial empty() { return 0; }
  KW_HOST_DEVICE static Total empty_total() { return 0; }
  KW_HOST_DEVICE static void add(Lane& lane, Value<T> value, std::int32_t, Value<T>) {
    using X = std::conditional_t<small, Value<T>, Lane>;
    const X x = static_cast<X>(value);
    if constexpr (square && std::is_same_v<T, std::int32_t>) {
      lane += static_cast<Lane>(std::int64_t{value} * value);  // 2^62: no product of 128 bits
    } else if constexpr (square && integral) {
      lane += x * x;
    } else if constexpr (square) {
      lane = fma(x, x, lane);
    } else if constexpr (kind == ReduceKind::sum_abs && std::is_same_v<T, std::int32_t>) {
      const auto bits = static_cast<std::uint32_t>(value);  // 32 bits hold |x|
      lane += static_cast<Lane>(value < 0 ? 0 - bits : bits);
    } else if constexpr (kind == ReduceKind::sum_abs && integral) {
      lane += value < 0 ? 0 - x : x;
    } else if constexpr (kind == ReduceKind::sum_abs) {
      lane += static_cast<Lane>(fabs(x));
    } else {
      lane += x;
    }
  }
  // Four squares of up to 2^62, of which 64 bits hold three.
  KW_HOST_DEVICE static void add_four(Lane& lane, Value<T> a, Value<T> b, Value<T> c,
                                      Value<T> d) requires(wide&& std::is_same_v<T, std::int32_t>) {
    const auto squared = [](std::int64_t x) { return static_cast<std::uint64_t>(x * x); };
    lane += static_cast<Lane>(squared(a) + squared(b) + squared(c));
    lane += static_cast<Lane>(squared(d));
  }
  // A lane of one element, but for the sign of a zero, which goes as soon as nothing is added.
  KW_HOST_DEVICE static Lane only(Value<T> value, Value<T>) requires(!integral) {
    const Lane x = static_cast<Lane>(value);
    if constexpr (square) return fma(x, x, Lane{0});
    if constexpr (kind == ReduceKind::sum_abs) return static_cast<Lane>(fabs(x));
    return x;
  }
  KW_HOST_DEVICE static Partial close(Lane lane) { return lane; }
  KW_HOST_DEVICE static Total total(Partial partial, const Chunk<T>&) { return partial; }
  KW_HOST_DEVICE static void merge(Partial& into, const Partial& later) { into += later; }
};

template <ReduceKind kind, class T>
struct Extreme {
  using Lane = Value<T>;
  using Partial = Lane;
  using Total = Lane;
  static constexpr bool any_order = true;

  KW_HOST_DEVICE static Lane empty_lane() {
    return kind == ReduceKind::min ? Limits<T>::largest() : Limits<T>::smallest();
  }
  KW_HOST_DEVICE static Partial empty() { return empty_lane(); }
  KW_HOST_DEVICE static Total empty_total() { return empty_lane(); }
  KW_HOST_DEVICE static void add(Lane& lane, Value<T> value, std::int32_t, Value<T>) {
    lane = kind == ReduceKind::min ? minimum(lane, value) : maximum(lane, value);
  }
  KW_HOST_DEVICE static Lane only(Value<T> value, Value<T>) { return value; }
  KW_HOST_DEVICE static Partial close(Lane lane) { return lane; }
  KW_HOST_DEVICE static Total total(Partial partial, const Chunk<T>&) { return partial; }
  KW_HOST_DEVICE static void merge(Partial& into, Partial later) { add(into, later, 0, later); }
};

template <class V>
struct Range {
  V lowest, highest;
};

template <class T>
struct MinMax {
  using Lane = Range<Value<T>>;
  using Partial = Lane;
  using Total = Lane;
  static constexpr bool any_order = true;

  KW_HOST_DEVICE static Lane empty_lane() { return {Limits<T>::largest(), Limits<T>::smallest()}; }
  KW_HOST_DEVICE static Partial empty() { return empty_lane(); }
  KW_HOST_DEVICE static Total empty_total() { return empty_lane(); }
  KW_HOST_DEVICE static void add(Lane& lane, Value<T> value, std::int32_t, Value<T>) {
    lane.lowest = minimum(lane.lowest, value);
    lane.highest = maximum(lane.highest, value);
  }
  KW_HOST_DEVICE static Lane only(Value<T> value, Value<T>) { return {value, value}; }
  KW_HOST_DEVICE static Partial close(const Lane& lane) { return lane; }
  KW_HOST_DEVICE static Total total(const Partial& partial, const Chunk<T>&) { return partial; }
  KW_HOST_DEVICE static void merge(Partial& into, const Partial& later) {
    into.lowest = minimum(into.lowest, later.lowest);
    into.highest = maximum(into.highest, later.highest);
  }
};

// The largest |x| by its bits, which as an integer are in the order of the values; those of a NaN
// are above all others. So no comparison asks for a NaN or a zero.
struct MaxAbs {
  using Lane = std::int64_t;
  using Partial = Lane;
  using Total = Lane;
  static constexpr bool any_order = true;

  KW_HOST_DEVICE static Lane empty_lane() { return 0; }
  KW_HOST_DEVICE static Partial empty() { return 0; }
  KW_HOST_DEVICE static Total empty_total() { return 0; }
  KW_HOST_DEVICE static Lane only(double value, double) {
    return static_cast<Lane>(bits_of(value) & ~(std::uint64_t{1} << 63));
  }
  KW_HOST_DEVICE static void add(Lane& lane, double value, std::int32_t, double first) {
    merge(lane, only(value, first));
  }
  KW_HOST_DEVICE static Partial close(Lane lane) { return lane; }
  KW_HOST_DEVICE static Total total(Partial partial, const Chunk<double>&) { return partial; }
  KW_HOST_DEVICE static void merge(Partial& into, Partial later) {
    into = later > into ? later : into;
  }
};

// The extreme value and where it first was. A lane starts from the type's last value and `nowhere`,
// and takes what is strictly better; where all elements equal that last value the place is still
// nowhere at the end, which a result reads as element 0. A NaN is taken and then kept.
template <class V>
struct Place {
  V best;
  std::int64_t index;
  static constexpr std::int64_t nowhere = INT64_MAX;
};

template <ReduceKind kind, class T>
struct ArgExtreme {
  static constexpr bool smallest = kind == ReduceKind::arg_min;
  struct Lane {
    Value<T> best;
    std::uint32_t at;  // of the chunk; all bits set: nowhere
  };
  using Partial = Lane;
  using Total = Place<Value<T>>;
  static constexpr std::uint32_t nowhere = ~0u;
  static constexpr bool any_order = true;

  KW_HOST_DEVICE static constexpr Value<T> last() {
    return smallest ? Limits<T>::largest() : Limits<T>::smallest();
  }
  KW_HOST_DEVICE static Lane empty_lane() { return {last(), nowhere}; }
  KW_HOST_DEVICE static Partial empty() { return empty_lane(); }
  KW_HOST_DEVICE static Total empty_total() { return {last(), Total::nowhere}; }
  KW_HOST_DEVICE static bool better(Value<T> x, Value<T> best) {
    if constexpr (std::is_integral_v<T>) return smallest ? x < best : x > best;
    const bool beats = !(smallest ? x >= best : x <= best);  // also where x is NaN
    const bool is_number = !is_nan(best);
    return beats & is_number;
  }
  KW_HOST_DEVICE static void add(Lane& lane, Value<T> value, std::int32_t at, Value<T>) {
    const bool take = better(value, lane.best);
    lane.best = take ? value : lane.best;
    lane.at = take ? static_cast<std::uint32_t>(at) : lane.at;
  }
  KW_HOST_DEVICE static Partial close(const Lane& lane) { return lane; }
  KW_HOST_DEVICE static Total total(const Partial& partial, const Chunk<T>& chunk) {
    const std::int64_t index = chunk.begin + partial.at;
    return {partial.best, partial.at == nowhere ? Total::nowhere : index};
  }
  KW_HOST_DEVICE static bool replaces(const Value<T>& later, const Value<T>& best, bool is_before) {
    const bool best_is_nan = is_nan(best), later_is_nan = is_nan(later);
    const bool same = (best == later) | (best_is_nan & later_is_nan);
    const bool is_better = better(later, best);
    return is_better | (same & is_before);
  }
  KW_HOST_DEVICE static void merge(Partial& into, const Partial& later) {
    const bool take = replaces(later.best, into.best, later.at < into.at);
    into.best = take ? later.best : into.best;
    into.at = take ? later.at : into.at;
  }
  KW_HOST_DEVICE static void merge(Total& into, const Total& later) {
    if (replaces(later.best, into.best, later.index < into.index)) into = later;
  }
};

template <class T>
struct Variance {
  using Lane = ShiftedSums;
  using Partial = ShiftedSums;
  using Total = Moments;
  // Of int8, d^2 is at most 2^16 and a chunk has at most 2^28 elements: all sums are exact.
  static constexpr bool any_order = std::is_same_v<T, std::int8_t>;

  KW_HOST_DEVICE static Lane empty_lane() { return {0, 0}; }
  KW_HOST_DEVICE static Partial empty() { return {0, 0}; }
  KW_HOST_DEVICE static Total empty_total() { return {0, 0, 0}; }
  KW_HOST_DEVICE static void add(Lane& lane, Value<T> value, std::int32_t, Value<T> first) {
    const double d = difference(value, first);
    lane.sum += d;
    lane.square = fma(d, d, lane.square);
  }
  KW_HOST_DEVICE static Lane only(Value<T> value, Value<T> first) {
    const double d = difference(value, first);
    return {d, fma(d, d, 0.0)};
  }
  KW_HOST_DEVICE static Partial close(const Lane& lane) { return lane; }
  KW_HOST_DEVICE static Total total(const Partial& partial, const Chunk<T>& chunk) {
    return moments(partial, static_cast<double>(chunk.first), static_cast<double>(chunk.count));
  }
  KW_HOST_DEVICE static void merge(Partial& into, const Partial& later) {
    into.sum += later.sum;
    into.square += later.square;
  }
  KW_HOST_DEVICE static void merge(Total& into, const Total& later) { merge_moments(into, later); }
};

template <ReduceKind kind, class T>
struct AccumulatorOf {
  using type = Sum<kind, T>;
};
template <class T>
struct AccumulatorOf<ReduceKind::norm_square, T> {
  using type =
      std::conditional_t<std::is_same_v<T, double>, NormSquare, Sum<ReduceKind::norm_square, T>>;
};
template <class T>
struct AccumulatorOf<ReduceKind::min, T> {
  using type = Extreme<ReduceKind::min, T>;
};
template <class T>
struct AccumulatorOf<ReduceKind::max, T> {
  using type = Extreme<ReduceKind::max, T>;
};
template <class T>
struct AccumulatorOf<ReduceKind::min_max, T> {
  using type = MinMax<T>;
};
template <>
struct AccumulatorOf<ReduceKind::max_abs, double> {
  using type = MaxAbs;
};
template <class T>
struct AccumulatorOf<ReduceKind::arg_min, T> {
  using type = ArgExtreme<ReduceKind::arg_min, T>;
};
template <class T>
struct AccumulatorOf<ReduceKind::arg_max, T> {
  using type = ArgExtreme<ReduceKind::arg_max, T>;
};
template <class T>
struct AccumulatorOf<ReduceKind::moments, T> {
  using type = Variance<T>;
};
template <ReduceKind kind, class T>
using Accumulator = typename AccumulatorOf<kind, T>::type;

// Variances and norms of float64, whose sums are two or three numbers.
template <ReduceKind kind, class T>
constexpr bool sums_are_wide =
    kind == ReduceKind::moments || std::is_same_v<Accumulator<kind, T>, NormSquare>;

}  // namespace kw
