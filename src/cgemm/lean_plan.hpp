// How many blocks a launch of cgemm_lean has, and how long it takes. Made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "arithmetic.hpp"
#include "cgemm/halves.hpp"
#include "cgemm/lean_tuning.hpp"
#include "cgemm/stream/plan.hpp"
#include "sgemm/tile_cut.hpp"

namespace kw {

inline std::int64_t complex_lean_tiles(const ComplexLeanConfig& tile, const Cgemm& p) {
  return ceil_div<std::int64_t>(p.m, tile.bm()) * ceil_div<std::int64_t>(p.n, tile.bn());
}
// Of the tiles those that are computed as halves, which are the last ones.
inline std::int64_t complex_lean_halves(const ComplexLeanConfig& tile, const Cgemm& p) {
  if (!tile.halves) return 0;
  return p.batch *
         TilesToHalves(p, tile.bm(), tile.bn())
             .count(ceil_div<std::int64_t>(p.m, tile.bm()), ceil_div<std::int64_t>(p.n, tile.bn()));
}
// What so many tiles and halves take of an SM's time on average, in whole tiles.
inline double complex_lean_mean(std::int64_t tiles, std::int64_t halves, const Device& device) {
  return (static_cast<double>(tiles) - (1 - half_tile_time) * static_cast<double>(halves)) /
         std::max(device.sm_count, 1);
}
// The same of the SM that has the most of them. Where all fit side by side, its halves lie beside
// whole ones, and it ends as if it had none.
inline double complex_lean_tiles_of_sm(const ComplexLeanConfig& tile, const Cgemm& p,
                                       const Device& device) {
  const std::int64_t tiles = complex_lean_tiles(tile, p) * p.batch;
  const std::int64_t halves = complex_lean_halves(tile, p);
  const auto all = static_cast<double>(ceil_div<std::int64_t>(tiles, std::max(device.sm_count, 1)));
  if (halves == 0 || all <= tile.blocks_per_sm) return all;
  return std::min(all, complex_lean_mean(tiles, halves, device) + half_tiles_uneven);
}
inline bool complex_lean_supports(const ComplexLeanConfig& tile, const Cgemm& p,
                                  const Device& device) {
  const std::int64_t tiles = complex_lean_tiles(tile, p);
  return p.triangle == Triangle::none && p.loop_k() >= complex_stream_least_k &&
         p.loop_k() <= longest_complex_sum(p) && tiles > 0 && tiles <= most_launch_blocks &&
         tile.shared_bytes() <= device.shared_bytes_per_block_optin;
}

inline double predict_complex_lean_us(const ComplexLean& lean, const Cgemm& p, const TileCut& cut,
                                      const Device& device) {
  const ComplexLeanTimes& t = lean.times;
  const double steps = static_cast<double>(p.loop_k()) / 16, at_once = lean.config.blocks_per_sm;
  // `blocks` on the SM that has the most, of `all` an SM, each with a part of k, which has more to
  // do in the end.
  const auto blocks_us = [&](double blocks, double all, double part, double more_us) {
    const auto round_us = [&](double here) {
      return here == 0 ? 0
                       : t.round_us + here * (t.block_us + more_us) +
                             part * steps * std::max(t.alone_us, t.waits_us + here * t.busy_us);
    };
    const double rounds = std::floor(blocks / at_once);
    const double last = blocks - rounds * at_once, beside = all - std::ceil(all) + 1;
    const double loose = rounds > 0 && last > 0 ? t.loose * beside : 0;
    return rounds * round_us(at_once) + round_us(std::min(at_once, last + loose));
  };
  const double sms = std::max(device.sm_count, 1);
  const auto each_us = [&](double all, double part, double more_us) {
    return blocks_us(std::ceil(all), all, part, more_us);
  };
  double us = 0;
  if (cut.cut == 0) {
    const double of_sm = complex_lean_tiles_of_sm(lean.config, p, device);
    us = blocks_us(of_sm, static_cast<double>(cut.tiles) / sms, 1, 0);
  } else {
    const ComplexCutTimes& c = complex_cut_times;
    // The halves are the last tiles, and so the first ones to be cut.
    const std::int64_t halves = complex_lean_halves(lean.config, p);
    const std::int64_t halves_cut = std::min<std::int64_t>(halves, cut.cut);
    const double all = cut.whole() / sms;
    us = halves > halves_cut
             ? blocks_us(complex_lean_mean(cut.whole(), halves - halves_cut, device), all, 1, 0)
             : each_us(all, 1, 0);
    const double of_whole = halves_cut == cut.cut ? half_tile_time : 1;
    us += c.launch_us + c.part_us * cut.parts +
          each_us(cut.cut * cut.parts / sms, of_whole / cut.parts, c.block_us);
  }
  return t.first_us + std::max(us, t.memory * memory_us(complex_operand_bytes(p), device));
}

struct PlannedComplexLean {
  TileCut cut;
  double us;
};

// The cut of the least prediction.
inline PlannedComplexLean plan_complex_lean(const ComplexLean& lean, const Cgemm& p,
                                            const Device& device) {
  const std::int64_t tiles = complex_lean_tiles(lean.config, p) * p.batch;
  if (tiles > most_launch_blocks) return {{}, predict_complex_lean_us(lean, p, {}, device)};
  const bool may_cut = lean.config.can_be_cut() && p.loop_k() <= complex_cut_most_k;
  const auto stages =
      may_cut ? static_cast<int>(ceil_div<std::int64_t>(p.loop_k(), lean.config.bk())) : 1;
  PlannedComplexLean best{{}, std::numeric_limits<double>::infinity()};
  each_tile_cut(static_cast<int>(tiles), device.sm_count, lean.config.blocks_per_sm, stages,
                [&](const TileCut& cut) {
                  const double us = predict_complex_lean_us(lean, p, cut, device);
                  if (us < best.us) best = {cut, us};
                });
  return best;
}

}  // namespace kw
