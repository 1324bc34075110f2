// Fixed times and a rate.
#include "estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kw {

void Estimate::done(double seconds) {
  if (done_ >= parts_.size()) return;
  const Part& part = parts_[done_++];
  work_done_ += part.work;
  work_seconds_ += std::max(0.0, seconds - part.fixed_s);
}

std::optional<double> Estimate::remaining_s(double spent_s) const {
  if (done_ == 0) return std::nullopt;
  const double seconds_per_work = work_done_ > 0 ? work_seconds_ / work_done_ : 0;
  double left = -spent_s;
  for (std::size_t i = done_; i < parts_.size(); ++i) {
    left += parts_[i].fixed_s + parts_[i].work * seconds_per_work;
  }
  return std::max(0.0, left);
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::min(seconds, 1e9)));
  if (whole < 90) return fmt::format("{} s", whole);
  const long long minutes = (whole + 30) / 60;
  if (minutes < 90) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace kw
