// How many blocks of clusters a device holds at a time. A cluster lies in one GPC, so what a GPC
// has left over stays empty. Computed on the host, and without a device.
#pragma once

#include <cstdint>

#include "gpu/device.hpp"

namespace kw {

inline bool device_has_clusters(const Device& device) { return device.compute_capability == 90; }

// Blocks of clusters of `parts` that are resident at a time where an SM takes `blocks_per_sm`. A
// GPC counts as 16 SMs, and what 132 SMs have beyond 124 (for pairs, beyond 128) is left out: with
// more, calls that followed each other took the time of two rounds on an NVIDIA H200.
constexpr std::int64_t blocks_in_clusters(int sms, int blocks_per_sm, int parts) {
  constexpr int gpc_sms = 16;
  const auto in_gpc = [&](int sms_of_gpc) {
    return std::int64_t{sms_of_gpc} * blocks_per_sm / parts * parts;
  };
  const int used = sms - sms / (parts == 2 ? 2 * gpc_sms : gpc_sms);
  return used / gpc_sms * in_gpc(gpc_sms) + in_gpc(used % gpc_sms);
}

}  // namespace kw
