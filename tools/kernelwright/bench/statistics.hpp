// What is reported of a set of time samples.
#pragma once

#include <optional>
#include <vector>

namespace kw::bench {

struct TimeStatistics {
  double min = 0, median = 0, mean = 0, max = 0;
  double iqr = 0;  // third quartile less first, linearly interpolated
  int repeats = 0;

  double spread() const { return median > 0 ? iqr / median : 0; }
};

// Of the sorted samples, linearly interpolated: 0.5 is the median. None of both may be empty.
double quantile(std::vector<double> samples, double fraction);
// Nothing of nothing.
std::optional<double> geometric_mean(const std::vector<double>& values);
TimeStatistics summarise_times(std::vector<double> samples);

}  // namespace kw::bench
