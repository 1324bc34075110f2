// Sums over products.
#include "check/accuracy/pooled.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kw::check {
namespace {

double over(double sum, std::int64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : 0.0;
}

}  // namespace

void PooledErrors::add(const Partial& own, const Partial& one_sum, double limit) {
  ++products_;
  outputs_ += own.count;
  failures_ += std::max<std::int64_t>(own.failures - one_sum.failures, 0);
  square_ += own.sum_square;
  one_sum_square_ += one_sum.sum_square;
  signed_ += own.sum;
  max_ = std::max(max_, own.max);
  one_sum_max_ = std::max(one_sum_max_, one_sum.max);
  const double difference =
      over(own.sum_square, own.count) - limit * limit * over(one_sum.sum_square, one_sum.count);
  difference_ += difference;
  difference_square_ += difference * difference;
}

double PooledErrors::rms() const {
  return std::isinf(max_) ? max_ : std::sqrt(over(square_, outputs_));
}
double PooledErrors::one_sum_rms() const { return std::sqrt(over(one_sum_square_, outputs_)); }
double PooledErrors::mean_signed() const { return over(signed_, outputs_); }

double PooledErrors::ratio() const {
  const double own = rms(), other = one_sum_rms();
  return own == other ? 1.0 : own / other;
}

double PooledErrors::excess() const {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (std::isinf(max_) && !std::isinf(one_sum_max_)) return infinite;
  if (products_ < 2) return 0;
  const double mean = difference_ / products_;
  const double variance = std::max(difference_square_ - mean * difference_, 0.0) / (products_ - 1);
  if (mean <= 0) return variance > 0 ? mean / std::sqrt(variance / products_) : 0;
  return variance > 0 ? mean / std::sqrt(variance / products_) : infinite;
}

}  // namespace kw::check
