// What is reported of a set of time samples.
#pragma once

#include <vector>

namespace kw::bench {

struct TimeStatistics {
  double min = 0, median = 0, mean = 0, max = 0;
  double iqr = 0;  // third quartile less first, linearly interpolated
  int repeats = 0;

  double spread() const { return median > 0 ? iqr / median : 0; }
};

// `samples` must not be empty.
TimeStatistics summarise_times(std::vector<double> samples);

}  // namespace kw::bench
