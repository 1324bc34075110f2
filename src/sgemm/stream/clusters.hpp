// How many blocks of clusters a device holds at a time. A cluster lies in one GPC, so what a GPC
// has left over stays empty. Computed on the host, and without a device.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/device.hpp"

namespace kw {

// GPCs of a Hopper GPU: so many of 18 SMs, of 16 and of 14.
struct GpcLayout {
  int of_18, of_16, of_14;
  constexpr int sms() const { return 18 * of_18 + 16 * of_16 + 14 * of_14; }
};
// Two that make 132 SMs. Which one a chip has it does not tell: the plans fit both.
inline constexpr GpcLayout gpc_layouts[] = {{2, 6, 0}, {3, 4, 1}};
static_assert(gpc_layouts[0].sms() == 132 && gpc_layouts[1].sms() == 132);

inline bool device_has_clusters(const Device& device) { return device.compute_capability == 90; }

// Blocks of clusters of `parts` that are resident at a time where an SM takes `blocks_per_sm`. At
// least so many: other numbers of SMs are taken for GPCs of 16 and a rest.
constexpr std::int64_t blocks_in_clusters(int sms, int blocks_per_sm, int parts) {
  const auto in_gpc = [&](int gpc_sms) {
    return std::int64_t{gpc_sms} * blocks_per_sm / parts * parts;
  };
  if (sms != gpc_layouts[0].sms()) return sms / 16 * in_gpc(16) + in_gpc(sms % 16);
  std::int64_t least = std::int64_t{sms} * blocks_per_sm;
  for (const GpcLayout& layout : gpc_layouts)
    least = std::min(
        least, layout.of_18 * in_gpc(18) + layout.of_16 * in_gpc(16) + layout.of_14 * in_gpc(14));
  return least;
}

}  // namespace kw
