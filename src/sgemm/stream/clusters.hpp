// How many blocks of clusters a device holds at a time. A cluster lies in one GPC, so what a GPC
// has left over stays empty. Computed on the host, and without a device.
#pragma once

#include <cstdint>

#include "gpu/device.hpp"

namespace kw {

inline bool device_has_clusters(const Device& device) { return device.compute_capability == 90; }

// Clusters of 0 to 8 blocks that 132 SMs hold, with one block per SM and with two. With one it is
// what cudaOccupancyMaxActiveClusters says of an NVIDIA H200 and an H100 80GB HBM3. With two that
// says 79, 62, 47, 39, 31 and 30 from three blocks on, but launches of as many as those take half
// as long again, and of up to these one round (results/h200/explored-clusters-at-once.txt).
inline constexpr int clusters_of_132_sms[2][9] = {{0, 0, 66, 39, 30, 22, 17, 15, 15},
                                                  {0, 0, 132, 75, 58, 43, 36, 30, 26}};

// Blocks of clusters of `parts` that are resident at a time where an SM takes `blocks_per_sm`, 1 or
// 2. Other numbers of SMs are taken to hold clusters in proportion.
constexpr std::int64_t blocks_in_clusters(int sms, int blocks_per_sm, int parts) {
  const std::int64_t of_132 = clusters_of_132_sms[blocks_per_sm - 1][parts];
  return of_132 * sms / 132 * parts;
}

}  // namespace kw
