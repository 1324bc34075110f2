// Energy from counters that grow in steps, or from power over time.
#include "bench/board_record.hpp"

#include <algorithm>

namespace kw::bench {
namespace {

constexpr int fewest_growths = 3;

// The mean of what the samples state.
template <class Field>
std::optional<double> mean(const std::vector<BoardSample>& samples, Field field) {
  double sum = 0;
  int count = 0;
  for (const BoardSample& sample : samples) {
    if (const std::optional<double> value = field(sample)) {
      sum += *value;
      ++count;
    }
  }
  return count > 0 ? std::optional<double>(sum / count) : std::nullopt;
}

std::optional<double> power_by_counter(const std::vector<BoardSample>& samples) {
  double joules = 0, seconds = 0;
  int steps = 0;
  std::optional<double> last;         // as the sample before stated it
  const BoardSample* step = nullptr;  // where the counter was last seen to change
  for (const BoardSample& sample : samples) {
    if (!sample.energy_j) continue;
    const bool changed = last && *sample.energy_j != *last;
    const bool began_anew = last && *sample.energy_j < *last;
    last = sample.energy_j;
    if (!changed) continue;
    if (step != nullptr && !began_anew) {
      joules += *sample.energy_j - *step->energy_j;
      seconds += sample.at_s - step->at_s;
      ++steps;
    }
    step = &sample;
  }
  return steps + 1 >= fewest_growths && seconds > 0 ? std::optional<double>(joules / seconds)
                                                    : std::nullopt;
}

std::optional<double> power_by_samples(const std::vector<BoardSample>& samples) {
  double joules = 0, seconds = 0;
  const BoardSample* before = nullptr;
  for (const BoardSample& sample : samples) {
    if (!sample.power_w) continue;
    if (before != nullptr) {
      joules += *before->power_w * (sample.at_s - before->at_s);
      seconds += sample.at_s - before->at_s;
    }
    before = &sample;
  }
  if (seconds > 0) return joules / seconds;
  return before != nullptr ? before->power_w : std::nullopt;
}

std::optional<std::map<std::string, double>> limits_of(const std::vector<BoardSample>& samples) {
  std::map<std::string, double> shares;
  double stated = 0;
  for (const BoardSample& sample : samples) {
    if (!sample.clock_limits) continue;
    ++stated;
    for (const ClockLimit& limit : clock_limits_known) {
      if ((*sample.clock_limits & limit.bit) != 0) ++shares[limit.name];
    }
  }
  if (stated == 0) return std::nullopt;
  for (auto& [name, share] : shares) share /= stated;
  return shares;
}

}  // namespace

BoardSummary summarise_board(const std::vector<BoardSample>& samples) {
  BoardSummary summary;
  summary.sm_clock_mhz = mean(samples, [](const BoardSample& s) { return s.sm_clock_mhz; });
  summary.power_w = power_by_counter(samples);
  summary.energy_from = summary.power_w ? "counter" : "";
  if (!summary.power_w) {
    summary.power_w = power_by_samples(samples);
    if (summary.power_w) summary.energy_from = "power";
  }
  for (const BoardSample& sample : samples) {
    if (!sample.temperature_c) continue;
    summary.hottest_c =
        std::max(summary.hottest_c.value_or(*sample.temperature_c), *sample.temperature_c);
  }
  summary.limited_by = limits_of(samples);
  return summary;
}

BoardRecord::BoardRecord(Sensors* sensors)
    : sensors_(sensors), begin_(std::chrono::steady_clock::now()) {
  if (sensors_ == nullptr) return;
  thread_ = std::jthread([this](const std::stop_token& stop) {
    using namespace std::chrono_literals;
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      sample();
      wake_.wait_for(lock, stop, 10ms, [] { return false; });
    }
  });
}

BoardRecord::~BoardRecord() = default;

void BoardRecord::sample() {
  const std::chrono::duration<double> at = std::chrono::steady_clock::now() - begin_;
  samples_.push_back({at.count(), sensors_->sm_clock_mhz(), sensors_->power_w(),
                      sensors_->energy_j(), sensors_->temperature_c(), sensors_->clock_limits()});
}

BoardSummary BoardRecord::stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  return summarise_board(samples_);
}

}  // namespace kw::bench
