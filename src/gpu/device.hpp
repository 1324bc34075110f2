// What the library knows of a device, whoever made it. Filled once by its backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernelwright/device.hpp"

namespace kw {

inline const char* to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cpu: return "cpu";
    case DeviceKind::cuda: return "cuda";
    case DeviceKind::hip: return "hip";
    case DeviceKind::host_simt: return "host-simt";
  }
  return "unknown";
}

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int ordinal = 0;
  std::string name;
  std::string architecture;    // "sm_90", "gfx90a", or the CPU's instruction set
  int compute_capability = 0;  // 90 for 9.0; 0 where the idea does not apply
  int sm_count = 0;            // multiprocessors, compute units, or CPU threads
  int warp_size = 0;
  int max_threads_per_block = 0;
  int max_threads_per_sm = 0;
  int registers_per_block = 0;
  int registers_per_sm = 0;
  std::size_t shared_bytes_per_block = 0;
  std::size_t shared_bytes_per_block_optin = 0;
  std::size_t shared_bytes_per_sm = 0;
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  std::int64_t max_grid[3] = {0, 0, 0};
  int max_block[3] = {0, 0, 0};
  int sm_clock_khz = 0;      // the maximum that the driver states
  int memory_clock_khz = 0;  // likewise
  int memory_bus_bits = 0;
  std::string driver;  // versions as text, empty where there is none
  std::string runtime;

  bool is_gpu() const { return kind == DeviceKind::cuda || kind == DeviceKind::hip; }
};

}  // namespace kw
