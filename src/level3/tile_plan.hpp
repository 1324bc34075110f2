// What level3_tile computes of a call, and how long that takes. Made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "arithmetic.hpp"
#include "gpu/device.hpp"
#include "level3/problem.hpp"
#include "level3/tile_tuning.hpp"
#include "sgemm/memory_time.hpp"
#include "sgemm/spread_blocks.hpp"

namespace kw {

struct Level3TileCount {
  std::int64_t rows, cols, all;
};
inline Level3TileCount level3_tile_count(const Level3TileConfig& tile, const Level3& p) {
  const std::int64_t rows = ceil_div(p.m, tile.side), cols = ceil_div(p.n, tile.side);
  return {rows, cols, p.updates_triangle() ? rows * (rows + 1) / 2 : rows * cols};
}

// What a launch asks for: blocks of an update that all fit side by side are kept apart.
inline std::size_t level3_tile_shared_bytes(const Level3TileConfig& tile, const Level3& p,
                                            const Device& device) {
  const auto needed = static_cast<std::size_t>(tile.shared_bytes());
  if (!p.updates_triangle()) return needed;
  return shared_bytes_where_all_fit(level3_tile_count(tile, p).all, tile.blocks_per_sm, needed,
                                    device);
}

// k that a tile sums up, at the most.
inline std::int64_t level3_longest_sum(const Level3& p) {
  return p.routine == Routine::syr2k ? 2 * p.k : p.k;
}

// A product that is in place reads all that its block overwrites, and no other block does, where
// the triangle is no larger than a tile.
inline bool level3_tile_supports(const Level3TileConfig& tile, const Level3& p) {
  if (p.routine > Routine::trmm || level3_longest_sum(p) > level3_tile_longest_sum) return false;
  if (p.in_place() && p.k > tile.side) return false;
  constexpr std::int64_t most = std::int64_t{1} << 30;
  return p.m < most && p.n < most && level3_tile_count(tile, p).all < most;
}

inline double level3_operand_bytes(const Level3& p) {
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.k);
  const double c = p.updates_triangle() ? m * (m + 1) / 2 : m * n;
  const double a = p.updates_triangle() ? m * k : k * (k + 1) / 2;
  const double b = !p.reads_b() ? 0 : p.updates_triangle() ? m * k : m * n;
  return 4 * (a + b + (p.reads_c() ? 2 : 1) * c);
}

// Operands that lie along k in memory; of a symmetric one as much lies across.
inline double level3_operands_along_k(const Level3& p) {
  const double a = p.routine == Routine::symm ? 0.5 : (p.op_a == Op::none) == p.on_left ? 1 : 0;
  if (p.updates_triangle()) return a + ((p.reads_b() ? p.op_b : p.op_a) == Op::none ? 1 : 0);
  return a + ((p.op_b == Op::none) != p.on_left ? 1 : 0);
}

inline double predict_level3_tile_us(const Level3Tile& tile, const Level3& p,
                                     const Device& device) {
  if (p.updates_triangle() && p.m >= update_least_rows &&
      (p.reads_c() || level3_longest_sum(p) >= update_least_k))
    return predict_update_us(tile.update, tile.config.side, tile.config.bk,
                             tile.config.blocks_per_sm, level3_operand_bytes(p), p, device);
  const Level3TileTimes& t = tile.times;
  const double sms = std::max(device.sm_count, 1);
  const auto blocks = static_cast<double>(level3_tile_count(tile.config, p).all);
  const std::int64_t products = p.routine == Routine::syr2k ? 2 : 1;
  const auto longest = static_cast<double>(products * ceil_div(p.k, tile.config.bk));
  const double side = static_cast<double>(tile.config.side) / tile.config.bk;
  const double stages =
      p.routine == Routine::trmm ? std::min(longest, (longest + side) / 2) : longest;
  const double block_us = t.block_us + (p.updates_triangle() ? 0 : t.diagonal_us);
  const double most = std::ceil(blocks / sms);  // on one SM
  const double turns = std::ceil(most / tile.config.blocks_per_sm);
  const double busy_us = t.busy_us + level3_operands_along_k(p) * t.along_k_us;
  const double busy = most * (stages * busy_us + block_us) + stages * t.in_step_us;
  double alone = (turns > 1 ? turns * stages : longest) * t.alone_us + turns * block_us;
  if (p.routine == Routine::trmm) {
    const int together = static_cast<int>(std::min<double>(most, tile.config.blocks_per_sm));
    alone = most * block_us;
    for (int left = 1; left <= together; ++left)
      alone += longest / together * std::max(t.alone_us, left * busy_us);
  }
  const double memory = memory_us(level3_operand_bytes(p), device);
  return t.first_us + std::max({busy, alone, memory});
}

}  // namespace kw
