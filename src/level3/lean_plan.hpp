// Which calls level3_lean computes, and how long that takes. Made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "level3/tile_plan.hpp"
#include "sgemm/lean_tuning.hpp"
#include "sgemm/spread_blocks.hpp"
#include "sgemm/tile_cut.hpp"

namespace kw {

struct Level3Lean {
  const char* name;
  const char* idea;
  LeanTileConfig config;
  UpdateTimes times;
};
inline constexpr Level3Lean level3_leans[] = {
    {.name = "level3_lean",
     .idea = "tiles of little code: four warps, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 2, 16, 3, 5, 16},
     .times = {.first_us = 2.335,
               .alone_step_us = 0.55,
               .block_us = 0.470,
               .step_us = 0.369,
               .c_by_4_us = 0.283,
               .along_k_us = 0.052,
               .by_4_us = 0.025,
               .reads_first_us = 0.10,
               .reads_block_us = 0.62,
               .part_steps = 0.306,
               .tail = 0.571,
               .together = 0.204}},
    {.name = "level3_l64w",
     .idea = "tiles of little code: four warps, 8 x 4 outputs a thread",
     .config = {8, 8, 4, 8, 2, 1, 16, 3, 6, 8},
     .times = {.first_us = 2.335,
               .alone_step_us = 0.55,
               .block_us = 0.470,
               .step_us = 0.369,
               .c_by_4_us = 0.283,
               .along_k_us = 0.052,
               .by_4_us = 0.025,
               .reads_first_us = 0.10,
               .reads_block_us = 0.62,
               .part_steps = 0.306,
               .tail = 0.571,
               .together = 0.204}},
};

inline std::int64_t level3_lean_tiles(const LeanTileConfig& tile, const Level3& p) {
  return update_tiles(tile.bm(), p);
}
inline TileCut forced_cut(const LeanTileConfig& tile, const Level3& p, const Device& device, int mode, int parts) {
  const int tiles = static_cast<int>(level3_lean_tiles(tile, p)), sms = device.sm_count, slots = sms * tile.blocks_per_sm;
  TileCut none{tiles, 0, 1};
  if (parts == 1 || parts > static_cast<int>(ceil_div<std::int64_t>(p.k, tile.bk))) return none;
  if (mode == 1 && tiles > 2 * sms && tiles < slots) return none;
  if (mode == 1 && tiles % slots == tiles % sms) return none;
  return {tiles, tiles % (mode == 0 ? slots : sms), parts};
}
// Few blocks on a multiprocessor are kept apart.
inline std::size_t level3_lean_shared_bytes(const LeanTileConfig& tile, const TileCut& cut,
                                            const Device& device) {
  return shared_bytes_where_all_fit(cut.blocks(), tile.blocks_per_sm,
                                    tile.shared_bytes(), device);
}

// Both operands lie alike.
inline bool level3_lean_supports(const LeanTileConfig& tile, const Level3& p) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  return p.updates_triangle() && (!p.reads_b() || p.op_a == p.op_b) &&
         level3_longest_sum(p) <= level3_tile_longest_sum && p.m < most &&
         level3_lean_tiles(tile, p) < most;
}

inline double predict_level3_lean_us(const Level3Lean& tile, const Level3& p,
                                     const Device& device) {
  return predict_update_us(tile.times, tile.config.bm(), tile.config.bk, tile.config.blocks_per_sm,
                           level3_operand_bytes(p), p, device);
}

}  // namespace kw
