// An NVIDIA H200 as its driver states it, as far as choices among kernels look at it but for its L2
// cache.
#pragma once

#include "gpu/device.hpp"

namespace kw::test {

inline Device h200() {
  Device device;
  device.kind = DeviceKind::cuda;
  device.compute_capability = 90;
  device.sm_count = 132;
  device.warp_size = 32;
  device.shared_bytes_per_block_optin = 227 << 10;
  device.memory_clock_khz = 3201000;
  device.memory_bus_bits = 6144;
  return device;
}

}  // namespace kw::test
