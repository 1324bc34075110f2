// NVML, reached through dlopen with the few declarations that are needed of it.
#include <dlfcn.h>

#include "bench/gpu_ceilings.hpp"
#include "bench/sensors.hpp"

namespace kw::bench {
namespace {

// From NVIDIA's NVML API reference; the names there carry the prefix nvml.
using NvmlDevice = void*;
constexpr int nvml_success = 0;
constexpr unsigned clock_of_sms = 1;
constexpr unsigned temperature_of_gpu = 0;
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

// The library, its functions null where a driver is too old for them.
class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    load(init_, "nvmlInit_v2");
    load(shutdown_, "nvmlShutdown");
    load(by_bus_id_, "nvmlDeviceGetHandleByPciBusId_v2");
    load(clock, "nvmlDeviceGetClockInfo");
    load(power, "nvmlDeviceGetPowerUsage");
    load(fields, "nvmlDeviceGetFieldValues");
    load(energy, "nvmlDeviceGetTotalEnergyConsumption");
    load(temperature, "nvmlDeviceGetTemperature");
    load(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    load(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
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
  std::string driver_version() const {
    char text[81] = {};
    if (!ready_ || driver_ == nullptr || driver_(text, sizeof(text)) != nvml_success) return {};
    return text;
  }

  int (*clock)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*power)(NvmlDevice, unsigned*) = nullptr;
  int (*fields)(NvmlDevice, int, NvmlFieldValue*) = nullptr;
  int (*energy)(NvmlDevice, unsigned long long*) = nullptr;
  int (*temperature)(NvmlDevice, unsigned, unsigned*) = nullptr;
  int (*reasons)(NvmlDevice, unsigned long long*) = nullptr;
  int (*power_limit)(NvmlDevice, unsigned*) = nullptr;

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
  int (*driver_)(char*, unsigned) = nullptr;
};

class NvmlSensors final : public Sensors {
 public:
  explicit NvmlSensors(const char* bus_id) : device_(nvml_.device(bus_id)) {}
  bool works() const { return device_ != nullptr; }

  std::optional<double> sm_clock_mhz() override {
    unsigned mhz = 0;
    if (nvml_.clock == nullptr || nvml_.clock(device_, clock_of_sms, &mhz) != nvml_success)
      return {};
    return mhz;
  }
  // The momentary value where the board gives it, else its average over a second.
  std::optional<double> power_w() override {
    NvmlFieldValue field;
    field.field = field_power_instant;
    if (nvml_.fields != nullptr && nvml_.fields(device_, 1, &field) == nvml_success &&
        field.status == nvml_success && field.value_type == value_is_unsigned_int) {
      return field.value.as_unsigned / 1000.0;
    }
    return thousandths(nvml_.power);
  }
  std::optional<double> energy_j() override {
    unsigned long long millijoules = 0;
    if (nvml_.energy == nullptr || nvml_.energy(device_, &millijoules) != nvml_success) return {};
    return static_cast<double>(millijoules) / 1000.0;
  }
  std::optional<double> temperature_c() override {
    unsigned degrees = 0;
    if (nvml_.temperature == nullptr ||
        nvml_.temperature(device_, temperature_of_gpu, &degrees) != nvml_success)
      return {};
    return degrees;
  }
  std::optional<unsigned long long> clock_limits() override {
    unsigned long long bits = 0;
    if (nvml_.reasons == nullptr || nvml_.reasons(device_, &bits) != nvml_success) return {};
    return bits;
  }
  std::optional<double> power_limit_w() override { return thousandths(nvml_.power_limit); }

 private:
  std::optional<double> thousandths(int (*read)(NvmlDevice, unsigned*)) const {
    unsigned value = 0;
    if (read == nullptr || read(device_, &value) != nvml_success) return {};
    return value / 1000.0;
  }

  Nvml nvml_;
  NvmlDevice device_;
};

}  // namespace

std::unique_ptr<Sensors> open_sensors(const Device& device) {
  const GpuWork* gpu = device.kind == DeviceKind::cuda ? gpu_work(device.kind) : nullptr;
  const std::string bus_id = gpu != nullptr ? gpu->bus_id(device.ordinal) : "";
  if (bus_id.empty()) return nullptr;
  auto sensors = std::make_unique<NvmlSensors>(bus_id.c_str());
  return sensors->works() ? std::move(sensors) : nullptr;
}

std::string nvidia_driver_version() { return Nvml().driver_version(); }

}  // namespace kw::bench
