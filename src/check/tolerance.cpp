// The bounds of tolerance.hpp.
#include "check/tolerance.hpp"

#include <algorithm>
#include <cmath>

namespace kw::check {

double product_tolerance(Input input, std::int64_t k) {
  const double any_data = static_cast<double>(k) + 2.0;
  switch (input) {
    case Input::unit: return std::min(any_data, 4.0 * std::sqrt(static_cast<double>(k)) + 4.0);
    case Input::uniform:
    case Input::normal: return std::min(any_data, 32.0);
    default: return any_data;
  }
}

bool is_exact(Input input, std::int64_t k, float alpha, float beta) {
  if (input != Input::integers) return false;
  const auto is_half_integer = [](double x) { return 2.0 * x == std::floor(2.0 * x); };
  if (!is_half_integer(alpha) || !is_half_integer(beta)) return false;
  constexpr double largest_value = 3.0;
  constexpr double largest_sum = 8388608.0;  // 2^23: halves below it are floats
  const double sum = largest_value * largest_value * static_cast<double>(k);
  return sum * std::max(1.0, std::fabs(static_cast<double>(alpha))) +
             largest_value * std::fabs(static_cast<double>(beta)) <
         largest_sum;
}

}  // namespace kw::check
