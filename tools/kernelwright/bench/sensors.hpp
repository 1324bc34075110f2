// What a GPU's board says of itself: clock, power, energy, temperature, and what holds the clock
// down. Through NVML where the driver brings it; the library is opened at run time, so that a build
// needs no driver.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gpu/device.hpp"

namespace kw::bench {

// Empty where the board does not say. All functions may be called from any thread.
class Sensors {
 public:
  Sensors() = default;
  Sensors(const Sensors&) = delete;
  Sensors& operator=(const Sensors&) = delete;
  virtual ~Sensors() = default;

  virtual std::optional<double> sm_clock_mhz() = 0;
  virtual std::optional<double> power_w() = 0;
  // Since some moment long ago. It grows in steps, and may begin again at 0.
  virtual std::optional<double> energy_j() = 0;
  virtual std::optional<double> temperature_c() = 0;
  // A set of ClockLimit.
  virtual std::optional<unsigned long long> clock_limits() = 0;
  virtual std::optional<double> power_limit_w() = 0;
};

// Why the SM clock is lower than it could be, each a bit as NVML numbers them.
struct ClockLimit {
  unsigned long long bit;
  const char* name;
};
inline constexpr ClockLimit clock_limits_known[] = {
    {0x2, "set_clock"},    {0x4, "power_cap"},         {0x8, "hardware"},
    {0x10, "sync_boost"},  {0x20, "software_thermal"}, {0x40, "hardware_thermal"},
    {0x80, "power_brake"}, {0x100, "display_clock"},
};

// Null where there is no GPU or no NVML.
std::unique_ptr<Sensors> open_sensors(const Device& device);

// "580.159.04"; empty without NVML.
std::string nvidia_driver_version();

}  // namespace kw::bench
