// Which calls level3_lines computes, how it cuts them, and how long that takes. Made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

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

// A launch takes first_us and block_us for each further block of an SM; where A is on the left,
// and turned on its way to shared memory, first_left_us.
struct Level3LinesTimes {
  int size;
  double first_us, first_left_us, block_us;
};
// Fitted to products on an NVIDIA H100 and an H200.
inline constexpr Level3LinesTimes level3_lines_times[] = {
    {.size = 8, .first_us = 1.95, .first_left_us = 1.95, .block_us = 0.20},
    {.size = 16, .first_us = 2.05, .first_left_us = 2.05, .block_us = 0.41},
    {.size = 32, .first_us = 2.45, .first_left_us = 2.75, .block_us = 0.60},
};

inline double predict_level3_lines_us(const Level3& p, const Device& device) {
  const int size = lines_size(p.k);
  const Level3LinesTimes& t =
      *std::find_if(std::begin(level3_lines_times), std::end(level3_lines_times),
                    [size](const Level3LinesTimes& row) { return row.size == size; });
  const auto lines = static_cast<double>(p.on_left ? p.n : p.m);
  const double blocks = std::ceil(lines / lines_of_block(size));
  const double most = std::max(std::ceil(blocks / std::max(device.sm_count, 1)), 1.0);
  const double memory = memory_us(level3_operand_bytes(p), device);
  return (p.on_left ? t.first_left_us : t.first_us) + std::max((most - 1) * t.block_us, memory);
}

}  // namespace kw
