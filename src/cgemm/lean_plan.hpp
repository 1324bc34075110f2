// How many blocks a launch of cgemm_lean has, and how long it takes. Made on the host.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arithmetic.hpp"
#include "cgemm/lean_tuning.hpp"
#include "cgemm/stream/plan.hpp"

namespace kw {

inline std::int64_t complex_lean_tiles(const ComplexLeanConfig& tile, const Cgemm& p) {
  return ceil_div<std::int64_t>(p.m, tile.bm()) * ceil_div<std::int64_t>(p.n, tile.bn());
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
  const std::int64_t of_sm = ceil_div(complex_lean_tiles(lean.config, p) * p.batch,
                                      std::int64_t{std::max(device.sm_count, 1)});
  const double steps = static_cast<double>(p.loop_k()) / 16;
  const auto round_us = [&](std::int64_t blocks) {
    const auto count = static_cast<double>(blocks);
    return blocks == 0
               ? 0
               : t.round_us + count * t.block_us + steps * std::max(t.alone_us, count * t.busy_us);
  };
  const std::int64_t at_once = lean.config.blocks_per_sm, rounds = of_sm / at_once;
  const double us =
      static_cast<double>(rounds) * round_us(at_once) + round_us(of_sm - rounds * at_once);
  return t.first_us + std::max(us, t.memory * memory_us(complex_operand_bytes(p), device));
}

}  // namespace kw
