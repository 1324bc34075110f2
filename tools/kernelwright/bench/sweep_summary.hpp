// What a sweep of many products comes to: for each kernel one line a third and one for all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/row.hpp"

namespace kw::bench {

// A ratio to the vendor under this counts as a loss; a time in split arithmetic over plain FP32's
// times the other, too.
constexpr double losing_ratio = 0.97, losing_factor = 1.03;

// The vendor's time by the kernel's. Where the vendor takes under 4 us, a kernel that is slower has
// 0.3 us of slack: its time counts as so much shorter, but never as shorter than the vendor's.
double ratio_with_slack(double us, double vendor_us);

// Means are geometric. Empty: without a vendor, a roofline, plain FP32 beside the split kernel.
struct SweepSummary {
  std::string kernel, third;  // "short", "middle", "long", "all"
  int products = 0;
  std::optional<double> mean, fifth_percentile, least;  // of ratio_with_slack
  std::string least_at;                                 // the product's shape
  std::optional<int> below;                             // losing_ratio
  std::optional<double> over_roofline, vendor_over_roofline;
  std::optional<int> slower_than_fp32;  // of a split kernel, by losing_factor; no slack
};

// Of the rows that carry a time, the vendor's own left out; kernels in the rows' order, thirds
// that are empty left out.
std::vector<SweepSummary> summarise_sweep(const std::vector<Row>& rows);

// The same for a terminal, and below it what the columns mean.
std::string sweep_table(const std::vector<Row>& rows);

}  // namespace kw::bench
