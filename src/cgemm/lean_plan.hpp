// How many blocks a launch of cgemm_lean has, and how long it takes. Made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "arithmetic.hpp"
#include "cgemm/halves.hpp"
#include "cgemm/lean_tuning.hpp"
#include "cgemm/stream/plan.hpp"
#include "sgemm/tile_cut.hpp"

namespace kw {

inline std::int64_t complex_lean_tiles(const ComplexLeanConfig& tile, const Cgemm& p) {
  return ceil_div<std::int64_t>(p.m, tile.bm()) * ceil_div<std::int64_t>(p.n, tile.bn());
}
inline TileCut forced_complex_cut(const ComplexLeanConfig& tile, const Cgemm& p, const Device& device, int mode, int parts) {
  const int tiles = static_cast<int>(complex_lean_tiles(tile, p) * p.batch), sms = device.sm_count, slots = sms * tile.blocks_per_sm;
  TileCut none{tiles, 0, 1};
  if (parts == 1 || parts > static_cast<int>(ceil_div<std::int64_t>(p.k, tile.bk()))) return none;
  if (mode == 1 && tiles > 2 * sms && tiles < slots) return none;
  if (mode == 1 && tiles % slots == tiles % sms) return none;
  return {tiles, tiles % (mode == 0 ? slots : sms), parts};
}
// The tiles of the SM that has the most of them, each half of one as what it takes: halves are the
// last ones.
inline double complex_lean_tiles_of_sm(const ComplexLeanConfig& tile, const Cgemm& p,
                                       const Device& device) {
  const std::int64_t sms = std::max(device.sm_count, 1);
  const std::int64_t tiles = complex_lean_tiles(tile, p) * p.batch, all = ceil_div(tiles, sms);
  if (!tile.halves) return static_cast<double>(all);
  const std::int64_t halves = p.batch * TilesToHalves(p, tile.bm(), tile.bn())
                                            .count(ceil_div<std::int64_t>(p.m, tile.bm()),
                                                   ceil_div<std::int64_t>(p.n, tile.bn()));
  const std::int64_t whole = ceil_div(tiles - halves, sms);
  return static_cast<double>(whole) + half_tile_time * static_cast<double>(all - whole);
}
inline bool complex_lean_supports(const ComplexLeanConfig& tile, const Cgemm& p,
                                  const Device& device) {
  const std::int64_t tiles = complex_lean_tiles(tile, p);
  return p.triangle == Triangle::none && p.loop_k() >= complex_stream_least_k &&
         p.loop_k() <= longest_complex_sum(p) && tiles > 0 && tiles <= most_launch_blocks &&
         tile.shared_bytes() <= device.shared_bytes_per_block_optin;
}

inline double predict_complex_lean_us(const ComplexLean& lean, const Cgemm& p,
                                      const Device& device) {
  const ComplexLeanTimes& t = lean.times;
  const double of_sm = complex_lean_tiles_of_sm(lean.config, p, device);
  const double steps = static_cast<double>(p.loop_k()) / 16;
  const auto round_us = [&](double blocks) {
    return blocks == 0 ? 0
                       : t.round_us + blocks * t.block_us +
                             steps * std::max(t.alone_us, t.waits_us + blocks * t.busy_us);
  };
  const double at_once = lean.config.blocks_per_sm, rounds = std::floor(of_sm / at_once);
  const double us = rounds * round_us(at_once) + round_us(of_sm - rounds * at_once);
  return t.first_us + std::max(us, t.memory * memory_us(complex_operand_bytes(p), device));
}

}  // namespace kw
