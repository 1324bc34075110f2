// Reductions as plain loops over doubles and 64-bit integers, and the sequences of a view: what the
// tests of kw::reduce compare with.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernelwright/reduce.hpp"
#include "reduce/numbers/element.hpp"

namespace kw::test {

inline constexpr ReduceOp every_op[] = {
    ReduceOp::sum,      ReduceOp::mean,           ReduceOp::min,     ReduceOp::max,
    ReduceOp::argmin,   ReduceOp::argmax,         ReduceOp::l1_norm, ReduceOp::l2_norm,
    ReduceOp::max_norm, ReduceOp::sum_of_squares, ReduceOp::min_max, ReduceOp::variance};

// Calls visit.template operator()<T>() for each element type.
template <class Visitor>
void for_every_type(const Visitor& visit) {
  visit.template operator()<float>();
  visit.template operator()<double>();
  visit.template operator()<float16>();
  visit.template operator()<bfloat16>();
  visit.template operator()<std::int8_t>();
  visit.template operator()<std::int32_t>();
  visit.template operator()<std::int64_t>();
}

// An element that stands for the small integer k: k itself, or k / 64 in a floating-point type.
// All types hold those exactly, and a double the sums of a few thousand of them and their squares.
template <class T>
T element(int k) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(k);
  return from_value<T>(static_cast<Value<T>>(k / 64.0));
}

template <class T>
double as_double(T x) {
  return static_cast<double>(to_value(x));
}

using Sequence = std::vector<double>;

inline double sum_over(const Sequence& x, double (*f)(double)) {
  double sum = 0;
  for (double value : x) sum += f(value);
  return sum;
}

// The place of the first element that no other is better than; -1 of nothing.
template <class Better>
double first_best(const Sequence& x, const Better& better) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    if (better(x[i], x[best])) best = i;
  }
  return x.empty() ? -1 : static_cast<double>(best);
}

// Numbers only, and sums that a double holds exactly, also n times that of the squares: variance
// then rounds in its two divisions alone. `low` and `high` are min and max of nothing.
inline std::vector<double> reference(ReduceOp op, const Sequence& x, double low, double high,
                                     std::int64_t correction = 0) {
  const auto n = static_cast<double>(x.size());
  const double sum = sum_over(x, [](double v) { return v; });
  const double squares = sum_over(x, [](double v) { return v * v; });
  double least = low, most = high, magnitude = 0;
  for (double value : x) {
    least = std::fmin(least, value);
    most = std::fmax(most, value);
    magnitude = std::fmax(magnitude, std::fabs(value));
  }
  switch (op) {
    case ReduceOp::sum: return {sum};
    case ReduceOp::mean: return {sum / n};
    case ReduceOp::min: return {least};
    case ReduceOp::max: return {most};
    case ReduceOp::argmin: return {first_best(x, [](double a, double b) { return a < b; })};
    case ReduceOp::argmax: return {first_best(x, [](double a, double b) { return a > b; })};
    case ReduceOp::sum_of_squares: return {squares};
    case ReduceOp::l1_norm: return {sum_over(x, [](double v) { return std::fabs(v); })};
    case ReduceOp::l2_norm: return {std::sqrt(squares)};
    case ReduceOp::max_norm: return {magnitude};
    case ReduceOp::min_max: return {least, most};
    case ReduceOp::variance: {
      const double apart = (n * squares - sum * sum) / n;
      const double divisor = n - static_cast<double>(correction);
      return {divisor > 0 ? apart / divisor : std::numeric_limits<double>::quiet_NaN()};
    }
  }
  return {};
}

template <class T>
std::vector<double> reference_of(ReduceOp op, const Sequence& x, std::int64_t correction = 0) {
  return reference(op, x, static_cast<double>(Limits<T>::largest()),
                   static_cast<double>(Limits<T>::smallest()), correction);
}

}  // namespace kw::test
