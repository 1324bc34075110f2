// NVML, reached through dlopen with the few declarations that are needed of it.
#include "bench/telemetry.hpp"

#include <dlfcn.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "bench/gpu_ceilings.hpp"

namespace kw::bench {
namespace {

// From NVIDIA's NVML API reference; the names there carry the prefix nvml.
using NvmlDevice = void*;
constexpr int nvml_success = 0;
constexpr unsigned clock_of_sms = 1;
constexpr unsigned field_power_instant = 186;
constexpr unsigned value_is_unsigned_int = 1;

struct NvmlFieldValue {
  unsigned field = 0, scope = 0;
  long long timestamp = 0, latency_us = 0;
  unsigned value_type = 0;
  int status = 0;
  union {
    unsigned as_unsigned;
    double as_double;
    unsigned long long as_unsigned_long_long;
  } value = {};
};

class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    load(init_, "nvmlInit_v2");
    load(shutdown_, "nvmlShutdown");
    load(by_bus_id_, "nvmlDeviceGetHandleByPciBusId_v2");
    load(clock_, "nvmlDeviceGetClockInfo");
    load(power_, "nvmlDeviceGetPowerUsage");
    load(fields_, "nvmlDeviceGetFieldValues");
    load(driver_, "nvmlSystemGetDriverVersion");
    ready_ = init_ != nullptr && shutdown_ != nullptr && by_bus_id_ != nullptr &&
             init_() == nvml_success;
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (ready_) shutdown_();
    if (library_ != nullptr) dlclose(library_);
  }

  NvmlDevice device(const char* bus_id) const {
    NvmlDevice found = nullptr;
    return ready_ && by_bus_id_(bus_id, &found) == nvml_success ? found : nullptr;
  }
  std::optional<double> sm_clock_mhz(NvmlDevice device) const {
    unsigned mhz = 0;
    if (clock_ == nullptr || clock_(device, clock_of_sms, &mhz) != nvml_success) return {};
    return mhz;
  }
  std::string driver_version() const {
    char text[81] = {};
    if (!ready_ || driver_ == nullptr || driver_(text, sizeof(text)) != nvml_success) return {};
    return text;
  }
  // The momentary value where the board gives it, else its average over a second.
  std::optional<double> power_w(NvmlDevice device) const {
    NvmlFieldValue field;
    field.field = field_power_instant;
    if (fields_ != nullptr && fields_(device, 1, &field) == nvml_success &&
        field.status == nvml_success && field.value_type == value_is_unsigned_int) {
      return field.value.as_unsigned / 1000.0;
    }
    unsigned milliwatts = 0;
    if (power_ == nullptr || power_(device, &milliwatts) != nvml_success) return {};
    return milliwatts / 1000.0;
  }

 private:
  template <class Function>
  void load(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
  }

  void* library_;
  bool ready_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*by_bus_id_)(const char*, NvmlDevice*) = nullptr;
  int (*clock_)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*power_)(NvmlDevice, unsigned*) = nullptr;
  int (*fields_)(NvmlDevice, int, NvmlFieldValue*) = nullptr;
  int (*driver_)(char*, unsigned) = nullptr;
};

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
  explicit Sampler(const std::string& bus_id)
      : device_(nvml_.device(bus_id.c_str())),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

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
    slot.clock.add(nvml_.sm_clock_mhz(device_));
    slot.power.add(nvml_.power_w(device_));
  }
  void run(const std::stop_token& stop) {
    using namespace std::chrono_literals;
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (active_ >= 0 && device_ != nullptr) sample();
      wake_.wait_for(lock, stop, 10ms, [] { return false; });
    }
  }

  Nvml nvml_;
  NvmlDevice device_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<Slot> slots_;
  int active_ = -1;
  std::jthread thread_;  // last: it uses all of the above
};

std::string nvidia_driver_version() { return Nvml().driver_version(); }

Telemetry::Telemetry(const Device& device) {
  const GpuWork* gpu = device.kind == DeviceKind::cuda ? gpu_work(device.kind) : nullptr;
  const std::string bus_id = gpu != nullptr ? gpu->bus_id(device.ordinal) : "";
  if (!bus_id.empty()) sampler_ = std::make_unique<Sampler>(bus_id);
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
