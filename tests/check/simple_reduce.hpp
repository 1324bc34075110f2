// Reductions in the plainest way, in long double, and the same with one planted fault each: what
// the check must accept and what it must catch.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "check/reduce/data.hpp"
#include "reduce/problem.hpp"

namespace kw {

enum class ReduceFault {
  none,
  drops_last,  // element of each sequence
  takes_first_twice,
  last_tie_wins,
  ignores_nan,
  takes_zeros_for_equal,  // min and max do not order -0 below +0
  leaves_last_result,
  writes_past_results,
  writes_into_data,
  adds_floats,         // where double is promised
  textbook_variance,   // E[x^2] - E[x]^2
  reads_beyond_range,  // takes segments' offsets as they are
};

template <class T>
class SimpleReduce {
 public:
  using V = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

  SimpleReduce(const Reduce& problem, ReduceFault fault) : p_(problem), fault_(fault) {}

  void run() {
    const std::int64_t sequences = p_.sequences();
    const bool leaves_last = fault_ == ReduceFault::leaves_last_result;
    for (std::int64_t s = 0; s < sequences - (leaves_last ? 1 : 0); ++s) reduce(s);
    if (fault_ == ReduceFault::writes_past_results) put(p_.results(), 1, 1);
    if (fault_ == ReduceFault::writes_into_data) {
      const_cast<T*>(static_cast<const T*>(p_.data))[p_.ld] = T{};
    }
  }

 private:
  std::vector<V> elements_of(std::int64_t s) const {
    std::int64_t begin = 0, step = 1, count = p_.cols;
    if (p_.shape == ReduceShape::rows) begin = s * p_.ld;
    if (p_.shape == ReduceShape::columns) {
      begin = s;
      step = p_.ld;
      count = p_.rows;
    }
    if (p_.shape == ReduceShape::segments) {
      const bool clamps = fault_ != ReduceFault::reads_beyond_range;
      const auto clamped = [&](std::int64_t at) {
        return clamps ? std::clamp<std::int64_t>(at, 0, p_.cols) : at;
      };
      begin = clamped(p_.offsets[s]);
      count = std::max<std::int64_t>(clamped(p_.offsets[s + 1]) - begin, 0);
    }
    if (fault_ == ReduceFault::drops_last && count > 0) --count;
    std::vector<V> elements;
    for (std::int64_t k = 0; k < count; ++k) {
      const V x = static_cast<V>(to_value(static_cast<const T*>(p_.data)[begin + k * step]));
      if (fault_ == ReduceFault::ignores_nan && is_nan(x)) continue;
      elements.push_back(x);
    }
    if (fault_ == ReduceFault::takes_first_twice && count > 0) elements.push_back(elements[0]);
    return elements;
  }

  void reduce(std::int64_t s) {
    const std::vector<V> x = elements_of(s);
    switch (p_.op) {
      case ReduceOp::argmin: return put(s, 0, arg_extreme(x, [](V a, V b) { return a < b; }));
      case ReduceOp::argmax: return put(s, 0, arg_extreme(x, [](V a, V b) { return a > b; }));
      case ReduceOp::min: return put_value(s, lowest(x));
      case ReduceOp::max: return put_value(s, highest(x));
      case ReduceOp::min_max: put_value(2 * s, lowest(x)); return put_value(2 * s + 1, highest(x));
      case ReduceOp::max_norm: return put_max_norm(s, x);
      case ReduceOp::variance: return put(s, variance(x), 0);
      default: return put_sum(s, x);
    }
  }

  template <class Better>
  std::int64_t arg_extreme(const std::vector<V>& x, Better better) const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < x.size() && !is_nan(x[best]); ++i) {
      const bool ties = fault_ == ReduceFault::last_tie_wins && x[i] == x[best];
      if (is_nan(x[i]) || better(x[i], x[best]) || ties) best = i;
    }
    return x.empty() ? -1 : static_cast<std::int64_t>(best);
  }

  bool below(V a, V b) const {
    if constexpr (std::is_floating_point_v<V>) {
      const bool orders_zeros = fault_ != ReduceFault::takes_zeros_for_equal;
      if (orders_zeros && a == 0 && b == 0) return std::signbit(a) && !std::signbit(b);
    }
    return a < b;
  }
  V lowest(const std::vector<V>& x) const {
    V best = static_cast<V>(Limits<T>::largest());
    for (const V value : x) {
      if (is_nan(value)) return value;
      if (below(value, best)) best = value;
    }
    return best;
  }
  V highest(const std::vector<V>& x) const {
    V best = static_cast<V>(Limits<T>::smallest());
    for (const V value : x) {
      if (is_nan(value)) return value;
      if (below(best, value)) best = value;
    }
    return best;
  }

  void put_max_norm(std::int64_t s, const std::vector<V>& x) {
    unsigned __int128 whole = 0;
    double norm = 0;
    for (const V value : x) {
      if constexpr (std::is_integral_v<V>) {
        const __int128 wide = value;
        whole = std::max(whole, static_cast<unsigned __int128>(wide < 0 ? -wide : wide));
      } else {
        if (!(std::fabs(value) <= norm) && !is_nan(norm)) norm = std::fabs(value);
      }
    }
    put(s, norm, static_cast<std::int64_t>(whole));
  }

  long double variance(const std::vector<V>& x) const {
    const auto count = static_cast<long double>(x.size());
    const long double divisor = count - static_cast<long double>(p_.correction);
    if (x.empty() || divisor <= 0) return NAN;
    if (fault_ == ReduceFault::textbook_variance) return textbook_variance(x);
    // Differences to the first element are exact where all elements are alike.
    const auto first = static_cast<long double>(x[0]);
    long double mean = 0, squares = 0;
    for (const V value : x) mean += (static_cast<long double>(value) - first) / count;
    for (const V value : x) {
      const long double apart = static_cast<long double>(value) - first - mean;
      squares += apart * apart;
    }
    return squares / divisor;
  }
  long double textbook_variance(const std::vector<V>& x) const {
    const auto count = static_cast<double>(x.size());
    double sum = 0, square = 0;
    for (const V value : x) {
      sum += static_cast<double>(value);
      square += static_cast<double>(value) * static_cast<double>(value);
    }
    return (square / count - sum / count * (sum / count)) * count /
           (count - static_cast<double>(p_.correction));
  }

  void put_sum(std::int64_t s, const std::vector<V>& x) {
    const bool squares = p_.op == ReduceOp::sum_of_squares || p_.op == ReduceOp::l2_norm;
    long double sum = 0;
    float float_sum = 0;
    unsigned __int128 whole = 0;
    for (const V value : x) {
      long double term = static_cast<long double>(value);
      unsigned __int128 bits = 0;
      if constexpr (std::is_integral_v<V>) bits = static_cast<unsigned __int128>(value);
      if (p_.op == ReduceOp::l1_norm && value < 0) {
        term = -term;
        bits = 0 - bits;
      }
      sum += squares ? term * term : term;
      float_sum += static_cast<float>(squares ? term * term : term);
      whole += squares ? bits * bits : bits;
    }
    if (fault_ == ReduceFault::adds_floats) sum = static_cast<long double>(float_sum);
    if (p_.op == ReduceOp::mean) sum = x.empty() ? NAN : sum / static_cast<long double>(x.size());
    if (p_.op == ReduceOp::l2_norm) sum = std::sqrt(sum);
    put(s, sum == 0 ? 0 : sum, static_cast<std::int64_t>(static_cast<std::uint64_t>(whole)));
  }

  void put_value(std::int64_t at, V value) {
    if constexpr (std::is_integral_v<V>) {
      put(at, 0, value);
    } else {
      put(at, value, 0);
    }
  }

  // `real` where the result is a floating-point number, else `whole`.
  void put(std::int64_t at, long double real, std::int64_t whole) {
    check::with_type(result_type(p_.op, p_.type), [&]<class R>() {
      R& to = static_cast<R*>(p_.out)[at];
      if constexpr (std::is_integral_v<R>) {
        to = static_cast<R>(whole);
      } else {
        to = check::rounded_to<R>(static_cast<double>(real));
      }
    });
  }

  const Reduce& p_;
  ReduceFault fault_;
};

template <ReduceFault fault = ReduceFault::none>
Status simple_reduce(const Reduce& problem, const Device&, Workspace, Stream) {
  check::with_type(problem.type, [&]<class T>() { SimpleReduce<T>(problem, fault).run(); });
  return Status::success();
}

}  // namespace kw
