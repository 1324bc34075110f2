// A thread that samples.
#include "bench/telemetry.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "bench/sensors.hpp"

namespace kw::bench {
namespace {

struct Mean {
  double sum = 0;
  int count = 0;

  void add(std::optional<double> value) {
    if (!value) return;
    sum += *value;
    ++count;
  }
  std::optional<double> get() const {
    return count > 0 ? std::optional<double>(sum / count) : std::nullopt;
  }
};

}  // namespace

class Telemetry::Sampler {
 public:
  explicit Sampler(std::unique_ptr<Sensors> sensors)
      : sensors_(std::move(sensors)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void reset(int count) {
    const std::lock_guard lock(mutex_);
    slots_.assign(static_cast<std::size_t>(count), {});
    active_ = -1;
  }
  void begin(int slot) {
    const std::lock_guard lock(mutex_);
    active_ = slot;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (active_ >= 0 && slots_[static_cast<std::size_t>(active_)].clock.count == 0) sample();
    active_ = -1;
  }
  Reading reading(int slot) const {
    const std::lock_guard lock(mutex_);
    const Slot& found = slots_.at(static_cast<std::size_t>(slot));
    return {found.clock.get(), found.power.get()};
  }

 private:
  struct Slot {
    Mean clock, power;
  };

  void sample() {
    Slot& slot = slots_[static_cast<std::size_t>(active_)];
    slot.clock.add(sensors_->sm_clock_mhz());
    slot.power.add(sensors_->power_w());
  }
  void run(const std::stop_token& stop) {
    using namespace std::chrono_literals;
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (active_ >= 0) sample();
      wake_.wait_for(lock, stop, 10ms, [] { return false; });
    }
  }

  std::unique_ptr<Sensors> sensors_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<Slot> slots_;
  int active_ = -1;
  std::jthread thread_;  // last: it uses all of the above
};

Telemetry::Telemetry(const Device& device) {
  if (auto sensors = open_sensors(device)) sampler_ = std::make_unique<Sampler>(std::move(sensors));
}
Telemetry::~Telemetry() = default;

void Telemetry::reset(int count) {
  if (sampler_) sampler_->reset(count);
}
void Telemetry::begin(int slot) {
  if (sampler_) sampler_->begin(slot);
}
void Telemetry::end() {
  if (sampler_) sampler_->end();
}
Telemetry::Reading Telemetry::reading(int slot) const {
  return sampler_ ? sampler_->reading(slot) : Reading{};
}

}  // namespace kw::bench
