// What a launch of lean_tile needs, and how long it will take. Made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "arithmetic.hpp"
#include "gpu/device.hpp"
#include "sgemm/lean_tuning.hpp"
#include "sgemm/memory_time.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/small_plan.hpp"
#include "sgemm/spread_blocks.hpp"

namespace kw {

inline std::int64_t lean_tile_count(const LeanTileConfig& tile, const Sgemm& p) {
  return ceil_div(p.m, tile.bm()) * ceil_div(p.n, tile.bn());
}

// Few blocks on an SM are kept apart.
inline std::size_t lean_shared_bytes_asked(const LeanTileConfig& tile, const Sgemm& p,
                                           const Device& device) {
  return shared_bytes_where_all_fit(lean_tile_count(tile, p) * p.batch, tile.blocks_per_sm,
                                    tile.shared_bytes(), device);
}

inline bool lean_tile_supports(const LeanTileConfig& tile, const Sgemm& p, const Device& device) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  const std::int64_t tiles = lean_tile_count(tile, p);
  return p.is_full() && tiles <= most && p.batch <= most / std::max<std::int64_t>(1, tiles) &&
         p.k <= most && tile.shared_bytes() <= device.shared_bytes_per_block_optin;
}

// Of the floats that a block copies, the share that is copied by 4 bytes instead of 16.
inline double lean_share_by_4(const LeanTileConfig& tile, const Sgemm& p) {
  const bool a = p.op_a == Op::none || rows_by_4(p, p.lda, p.stride_a);
  const bool b = p.op_b != Op::none || rows_by_4(p, p.ldb, p.stride_b);
  return static_cast<double>((a ? tile.bm() : 0) + (b ? tile.bn() : 0)) / (tile.bm() + tile.bn());
}

// Of the operands, the share that lies along k, beyond the half that does where none is transposed
// and the tile is square.
inline double lean_share_along_k(const LeanTileConfig& tile, const Sgemm& p) {
  const int along = (p.op_a == Op::none ? tile.bm() : 0) + (p.op_b != Op::none ? tile.bn() : 0);
  return static_cast<double>(along) / (tile.bm() + tile.bn()) - 0.5;
}

// Blocks one after the other on an SM, with so many an SM on average (small_rounds). Where they do
// not all fit at once, some SMs have one more than others. Where they fit side by side, the warps
// of an odd number of small blocks lie unevenly on an SM's four schedulers, and SMs that have a
// block fewer leave more of L2 to the others.
inline double lean_rounds(const LeanTile& tile, double blocks) {
  constexpr double schedulers = 4;
  const int most = tile.config.blocks_per_sm, warps = tile.config.warps();
  const double rounds = small_rounds(blocks, most, tile.times.together);
  if (blocks > most) return rounds + lean_one_more * (std::ceil(blocks) - blocks);
  const double busiest = std::ceil(rounds * warps / schedulers) * schedulers / warps;
  return rounds + lean_uneven * (busiest - rounds) - lean_fewer * (rounds - blocks);
}

// Infinite where the times were not measured.
inline double predict_lean_us(const LeanTile& tile, const Sgemm& p, const Device& device) {
  if (p.loop_k() > lean_max_k || p.loop_k() < lean_min_k || p.batch > 1)
    return std::numeric_limits<double>::infinity();
  const LeanTileTimes& t = tile.times;
  const double steps =
      static_cast<double>(p.loop_k()) / 16 + (p.loop_k() % tile.config.bk != 0 ? t.part_steps : 0);
  const double blocks =
      static_cast<double>(lean_tile_count(tile.config, p)) / std::max(1, device.sm_count);
  const int most = tile.config.blocks_per_sm;
  const double block_us = t.block_us + (is_c_by_4(p) ? t.c_by_4_us : 0);
  const double step_us = t.busy_step_us * (1 + t.few_blocks * missing_blocks(blocks, most)) +
                         lean_share_by_4(tile.config, p) * t.copies_by_4_us +
                         lean_share_along_k(tile.config, p) * t.along_k_us;
  const double us = std::max(
      {t.first_us + steps * t.step_us,
       lean_launch_us + (lean_rounds(tile, blocks) + t.tail) * (block_us + steps * step_us),
       lean_launch_us + small_memory_us(p, t.memory, device)});
  return lasting_us(us, lean_long);
}

}  // namespace kw
