// Which calls level3_lines computes, how it cuts them, and how long that takes. Made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "level3/tile_plan.hpp"

namespace kw {

inline constexpr int lines_threads = 128;
// Rows and columns of A as a block has them in shared memory.
constexpr int lines_size(std::int64_t k) { return k <= 8 ? 8 : k <= 16 ? 16 : 32; }
// A thread computes eight elements of a line.
constexpr int lines_of_block(int size) { return lines_threads * 8 / size; }

constexpr bool level3_lines_supports(const Level3& p) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  return (p.routine == Routine::symm || p.routine == Routine::trmm) && p.k <= 32 && p.m < most &&
         p.n < most;
}

// NVIDIA H200.
struct Level3LinesTimes {
  double first_us;  // the beginning and end of a launch
  double block_us;  // a block, where an SM has many
};
inline constexpr Level3LinesTimes level3_lines_times = {.first_us = 1.9, .block_us = 0.12};

inline double predict_level3_lines_us(const Level3& p, const Device& device) {
  const auto lines = static_cast<double>(p.on_left ? p.n : p.m);
  const double blocks = std::ceil(lines / lines_of_block(lines_size(p.k)));
  const double most = std::ceil(blocks / std::max(device.sm_count, 1));
  const double memory = memory_us(level3_operand_bytes(p), device);
  return level3_lines_times.first_us + std::max(most * level3_lines_times.block_us, memory);
}

}  // namespace kw
