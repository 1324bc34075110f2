// What level3_lean computes, how its tiles are cut, and how long that takes. Made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "level3/tile_plan.hpp"
#include "sgemm/lean_tuning.hpp"
#include "sgemm/shape.hpp"
#include "sgemm/spread_blocks.hpp"
#include "sgemm/tile_cut.hpp"

namespace kw {

struct Level3Lean {
  const char* name;
  const char* idea;
  LeanTileConfig config;
  UpdateTimes times;
  bool can_be_cut = false;  // whether tiles are cut along k
};
// Fitted to 109 updates of 75 to 5443 rows with a k of 32 to 1800, and to 236 cuts of their tiles,
// on an NVIDIA H200 (results/h200/explored-lean-cut.txt): off by 3 and by 6 %. `longer` is set by
// what the choice loses beside stream tiles (run 8 there).
inline constexpr Level3Lean level3_leans[] = {
    {.name = "level3_lean",
     .idea = "tiles of little code: four warps, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 2, 16, 3, 5, 16},
     .times = {.first_us = 1.579,
               .alone_step_us = 0.214,
               .block_us = 0.462,
               .step_us = 0.358,
               .c_by_4_us = 0.078,
               .along_k_us = 0.015,
               .by_4_us = 0.000,
               .reads_first_us = 0.000,
               .reads_block_us = 0.761,
               .part_steps = 0.523,
               .tail = 0.269,
               .together = 0.145,
               .cut_us = 0.87,
               .cut_part_us = 0.27,
               .cut_block_us = 0.36,
               .longer = 0.05},
     .can_be_cut = true},
    {.name = "level3_lean_8x8",
     .idea = "two warps, 8 x 8 outputs a thread",
     .config = {8, 8, 4, 8, 2, 1, 16, 3, 6},
     .times = {.first_us = 2.222,
               .alone_step_us = 0.209,
               .block_us = 0.477,
               .step_us = 0.330,
               .c_by_4_us = 0.028,
               .along_k_us = 0.012,
               .by_4_us = 0.000,
               .reads_first_us = 0.317,
               .reads_block_us = 0.952,
               .part_steps = 0.975,
               .tail = 0.241,
               .together = 0.447,
               .longer = 0.08}},
};

// A product of which a triangle is wanted, and the rows below it or the columns beside it where it
// has any; of syr2k the product with A and B exchanged is added to it.
struct LeanUpdate {
  Sgemm product;
  int products = 1;

  std::int64_t sum() const { return products * product.loop_k(); }
  bool reads_c() const { return product.beta_at != nullptr || product.beta != 0; }
};

KW_HOST_DEVICE constexpr TriangleOfTiles lean_update_tiles(const LeanTileConfig& tile,
                                                           const Sgemm& p) {
  return {p.triangle, 0, static_cast<int>(ceil_div(p.m, tile.bm())),
          static_cast<int>(ceil_div(p.n, tile.bn()))};
}
// Few blocks on a multiprocessor are kept apart.
inline std::size_t lean_update_shared_bytes(const LeanTileConfig& tile, const TileCut& cut,
                                            const Device& device) {
  return shared_bytes_where_all_fit(cut.blocks(), tile.blocks_per_sm, tile.shared_bytes(), device);
}

// Both operands lie alike: along k, or across it.
inline bool lean_update_supports(const LeanTileConfig& tile, const LeanUpdate& update) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  const Sgemm& p = update.product;
  return p.triangle != Triangle::none && p.column_shift == 0 && p.k_range == KRange::all &&
         p.batch == 1 && !p.epilogue.any() && p.only_if == nullptr &&
         (p.op_a == Op::none) != (p.op_b == Op::none) && update.sum() <= level3_tile_longest_sum &&
         p.m < most && p.n < most && lean_update_tiles(tile, p).count() < most;
}

inline double lean_update_bytes(const LeanUpdate& update) {
  const Sgemm& p = update.product;
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n), side = std::min(m, n);
  const double operands = std::max(m, n) * static_cast<double>(p.k) * (p.a == p.b ? 1 : 2);
  return sizeof(float) * (operands + (update.reads_c() ? 2 : 1) * (m * n - side * (side - 1) / 2));
}

// Blocks one after the other on a multiprocessor that is full of them, with so many a
// multiprocessor: its four schedulers have as many warps as the one that has the most.
inline double lean_update_rounds(const Level3Lean& tile, double blocks) {
  const int at_once = tile.config.blocks_per_sm, together = std::max(1, 4 / tile.config.warps());
  const double all = std::ceil(blocks);
  if (all <= at_once) return std::ceil(all / together) * together;
  return small_rounds(blocks, at_once, tile.times.together);
}

inline double predict_lean_update_us(const Level3Lean& tile, const LeanUpdate& update,
                                     const TileCut& cut, const Device& device) {
  const UpdateTimes& t = tile.times;
  const Sgemm& p = update.product;
  const UpdateBlock block = update_block(t, tile.config.bk,
                                         {.k = p.loop_k(),
                                          .products = update.products,
                                          .reads_c = update.reads_c(),
                                          .c_by_4 = p.ldc % 4 != 0,
                                          .along_k = p.op_a == Op::none,
                                          .by_4 = p.lda % 4 != 0});
  const double sms = std::max(1, device.sm_count),
               memory = memory_us(lean_update_bytes(update), device);
  const auto whole_us = [&](double blocks, double tail) {
    return (lean_update_rounds(tile, blocks) + tail) * (block.us + block.steps * block.step_us);
  };
  if (cut.cut == 0)
    return lasting_us(std::max({block.first_us + block.steps * t.alone_step_us,
                                block.first_us + whole_us(cut.tiles / sms, t.tail), memory}),
                      t.longer);
  const double parts = cut.parts, rounds = lean_update_rounds(tile, cut.cut * parts / sms);
  const double of_part = block.us + t.cut_block_us + block.steps / parts * block.step_us;
  const double parts_us =
      std::max((rounds + t.tail) * of_part, block.steps / parts * t.alone_step_us);
  const double cut_us = t.cut_us + t.cut_part_us * parts + parts_us;
  return lasting_us(std::max(block.first_us + whole_us(cut.whole() / sms, 0) + cut_us, memory),
                    t.longer);
}

struct PlannedUpdate {
  TileCut cut;
  double us;
};

// The cut of the least prediction.
inline PlannedUpdate plan_lean_update(const Level3Lean& tile, const LeanUpdate& update,
                                      const Device& device) {
  const Sgemm& p = update.product;
  const int tiles = static_cast<int>(lean_update_tiles(tile.config, p).count());
  const auto stages =
      tile.can_be_cut ? static_cast<int>(ceil_div<std::int64_t>(p.loop_k(), tile.config.bk)) : 1;
  PlannedUpdate best{{}, std::numeric_limits<double>::infinity()};
  each_tile_cut(tiles, device.sm_count, tile.config.blocks_per_sm, stages, [&](const TileCut& cut) {
    const double us = predict_lean_update_us(tile, update, cut, device);
    if (us < best.us) best = {cut, us};
  });
  return best;
}

}  // namespace kw
