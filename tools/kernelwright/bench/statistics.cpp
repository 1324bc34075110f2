// Order statistics of time samples.
#include "bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kw::bench {

double quantile(std::vector<double> samples, double fraction) {
  std::sort(samples.begin(), samples.end());
  const double position = fraction * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  return std::lerp(samples[below], samples[above], position - static_cast<double>(below));
}

std::optional<double> geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

TimeStatistics summarise_times(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return {samples.front(),
          quantile(samples, 0.5),
          sum / static_cast<double>(samples.size()),
          samples.back(),
          quantile(samples, 0.75) - quantile(samples, 0.25),
          static_cast<int>(samples.size())};
}

}  // namespace kw::bench
