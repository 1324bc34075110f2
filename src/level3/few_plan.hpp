// Which calls level3_few computes, and how long that takes. Made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "level3/tile_plan.hpp"

namespace kw {

inline constexpr int few_side = 32;  // of a block's square of C
inline constexpr int few_threads = 256;
inline constexpr std::int64_t few_longest_sum = 16;

inline std::int64_t few_tiles(const Level3& p) {
  const std::int64_t side = ceil_div(p.m, std::int64_t{few_side});
  return side * (side + 1) / 2;
}
inline bool level3_few_supports(const Level3& p) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  return p.updates_triangle() && level3_longest_sum(p) <= few_longest_sum && p.m < most &&
         few_tiles(p) < most;
}

// A launch takes first_us, and pair_us more for a second product; of each block of an SM block_us,
// and k_us for each k.
struct FewTimes {
  double first_us, pair_us, block_us, k_us;
};
// Fitted to updates on an NVIDIA H200.
inline constexpr FewTimes few_times = {
    .first_us = 1.15, .pair_us = 0.45, .block_us = 0.45, .k_us = 0.025};

inline double predict_level3_few_us(const Level3& p, const Device& device) {
  const double most = std::ceil(static_cast<double>(few_tiles(p)) / std::max(device.sm_count, 1));
  const auto k = static_cast<double>(level3_longest_sum(p));
  const double busy = most * (few_times.block_us + k * few_times.k_us);
  return few_times.first_us + (p.routine == Routine::syr2k ? few_times.pair_us : 0) +
         std::max(busy, memory_us(level3_operand_bytes(p), device));
}

}  // namespace kw
