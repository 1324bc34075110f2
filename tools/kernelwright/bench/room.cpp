// What is free in host memory, from the kernel's own accounts.
#include "bench/room.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <string>

namespace kw::bench {
namespace {

// MemAvailable of /proc/meminfo, or the limit of the control group where it is less.
double read_free_host_bytes() {
  double free = std::numeric_limits<double>::infinity();
  std::ifstream meminfo("/proc/meminfo");
  std::string name, unit;
  for (double kib = 0; meminfo >> name >> kib; std::getline(meminfo, unit)) {
    if (name == "MemAvailable:") free = kib * 1024;
  }
  double limit = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit) free = std::min(free, limit);
  return free;
}

// Before this program took any.
double free_host_bytes() {
  static const double bytes = read_free_host_bytes();
  return bytes;
}

}  // namespace

double usable_bytes(const Device& device) {
  const double share = 0.9 * static_cast<double>(device.memory_bytes);
  return device.is_gpu() ? share : std::min(share, free_host_bytes());
}

std::string bytes_text(double bytes) {
  constexpr std::array units = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  double value = bytes;
  for (; value >= 1000 && unit + 1 < units.size(); value /= 1000) ++unit;
  if (value >= 1000) return fmt::format("{:.2g} bytes", bytes);
  return fmt::format("{:.3g} {}", value, units[unit]);
}

std::string lack_of_room(double bytes, const Device& device) {
  const double usable = usable_bytes(device);
  if (bytes <= usable) return {};
  return fmt::format("{} for its operands and the float64 check, but {} has {} of {} to give",
                     bytes_text(bytes), device.name, bytes_text(usable),
                     bytes_text(static_cast<double>(device.memory_bytes)));
}

}  // namespace kw::bench
