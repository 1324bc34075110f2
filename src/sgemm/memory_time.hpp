// How long a device's memory takes for what a product reads and writes beyond its L2 cache: a term
// of the predicted times of the kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gpu/device.hpp"
#include "sgemm/problem.hpp"

namespace kw {

struct MemoryTuning {
  // Of the L2 cache's size: operands together up to the first share are read from the cache by call
  // after call, from the second share on all come from memory. A line lies in both halves of the
  // cache where SMs of both read it.
  double kept_share, lost_share;
  double share_of_bandwidth;      // of the one that the device states
  double unstated_bytes_per_us;   // where it states none
  std::size_t unstated_l2_bytes;  // likewise
};
inline constexpr MemoryTuning memory_tuning = {.kept_share = 1.0 / 3,
                                               .lost_share = 2.0 / 3,
                                               .share_of_bandwidth = 0.9,
                                               .unstated_bytes_per_us = 4.4e6,
                                               .unstated_l2_bytes = 60 << 20};

// 0 where the device states none.
inline double stated_bytes_per_us(const Device& device) {
  return 2e-3 * device.memory_clock_khz * device.memory_bus_bits / 8;  // two per clock
}

inline double memory_bytes_per_us(const Device& device) {
  const double stated = stated_bytes_per_us(device);
  return stated > 0 ? memory_tuning.share_of_bandwidth * stated
                    : memory_tuning.unstated_bytes_per_us;
}

inline double l2_bytes_of(const Device& device) {
  return static_cast<double>(device.l2_bytes > 0 ? device.l2_bytes
                                                 : memory_tuning.unstated_l2_bytes);
}

// The bytes of a product's operands, each once, and C twice where it is read too.
inline double operand_bytes(const Sgemm& p) {
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.loop_k()), batch = static_cast<double>(p.batch);
  const auto entries = [&](std::int64_t stride) {
    return p.a_array == nullptr && stride == 0 ? 1 : batch;
  };
  return sizeof(float) * (m * k * entries(p.stride_a) + k * n * entries(p.stride_b) +
                          (p.beta == 0 ? 1 : 2) * m * n * batch);
}

// The part of so many bytes that L2 does not keep from call to call: nothing up to `kept` of its
// size, all from `lost` on.
inline double share_lost(double bytes, const Device& device, double kept, double lost) {
  return std::clamp((bytes / l2_bytes_of(device) - kept) / (lost - kept), 0.0, 1.0);
}

// The time in which memory moves what the L2 cache does not keep, of so many bytes, from call to
// call.
inline double memory_us(double bytes, const Device& device) {
  constexpr MemoryTuning t = memory_tuning;
  return share_lost(bytes, device, t.kept_share, t.lost_share) * bytes /
         memory_bytes_per_us(device);
}
inline double memory_us(const Sgemm& p, const Device& device) {
  return memory_us(operand_bytes(p), device);
}

}  // namespace kw
