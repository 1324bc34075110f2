// The fuzzer's rule: is a kernel's mean square error larger than that of one FP32 sum an element,
// by more than chance? Errors of one product are not independent (a row's are alike), so products
// of the same distribution with fresh data are the draws of which the standard error is made.
// A kernel in plain FP32 that cuts k adds up several sums of an element. Where two products count
// and nearly undo each other, each is rounded by itself then, while one sum rounds the first alone:
// twice the mean square error. With more products it is less, and 4 / 3 where signs are random.
#pragma once

#include <cstdint>

#include "check/partial.hpp"

namespace kw::check {

constexpr double plain_fp32_limit = 1.41421356;  // the root of 2

class PooledErrors {
 public:
  // One product: a kernel's errors, and those of one sum an element over the same data, which they
  // may be `limit` times.
  void add(const Partial& own, const Partial& one_sum, double limit = 1);

  int products() const { return products_; }
  std::int64_t outputs() const { return outputs_; }
  double rms() const;
  double one_sum_rms() const;
  double max() const { return max_; }
  double one_sum_max() const { return one_sum_max_; }
  double mean_signed() const;
  // rms / one_sum_rms; 1 where both are 0.
  double ratio() const;
  // By how many standard errors the mean square is above what it may be.
  double excess() const;
  // Whether elements that float64 has finite are not.
  bool has_failures() const { return failures_ > 0; }
  // With eight products or more.
  bool is_violation() const { return has_failures() || excess() > 3; }

 private:
  int products_ = 0;
  std::int64_t outputs_ = 0, failures_ = 0;
  double square_ = 0, one_sum_square_ = 0, signed_ = 0;  // sums over outputs
  double max_ = 0, one_sum_max_ = 0;
  double difference_ = 0, difference_square_ = 0;  // sums over products: mean squares and limits
};

}  // namespace kw::check
