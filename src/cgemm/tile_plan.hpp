// How a complex tile computes a product: into how many parts along k its tiles are cut, and how
// long it takes. Made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "arithmetic.hpp"
#include "cgemm/problem.hpp"
#include "cgemm/tile_tuning.hpp"
#include "gpu/device.hpp"
#include "sgemm/memory_time.hpp"

namespace kw {

inline std::int64_t complex_tile_count(const ComplexTileConfig& tile, const Cgemm& p) {
  return ceil_div(p.m, tile.bm) * ceil_div(p.n, tile.bn);
}

// How the launch is cut: `parts` blocks a tile, each with `share` stages of k, the last one with
// what is left.
struct ComplexTileCut {
  std::int64_t parts = 1, share = 0;
};

inline ComplexTileCut complex_cut(const ComplexTileConfig& tile, const Cgemm& p,
                                  std::int64_t parts) {
  const std::int64_t stages = ceil_div(p.loop_k(), tile.bk);
  const std::int64_t share = std::max<std::int64_t>(ceil_div(stages, parts), 1);
  return {std::max<std::int64_t>(ceil_div(stages, share), 1), share};
}

// The sums of all parts.
inline std::size_t complex_sums_bytes(const ComplexTileConfig& tile, const Cgemm& p,
                                      const ComplexTileCut& cut) {
  if (cut.parts == 1) return 0;
  return static_cast<std::size_t>(complex_tile_count(tile, p) * p.batch * cut.parts) *
         static_cast<std::size_t>(tile.bm * tile.bn) * sizeof(Complex);
}

inline double complex_operand_bytes(const Cgemm& p) {
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.loop_k()), batch = static_cast<double>(p.batch);
  const auto entries = [&](std::int64_t stride) {
    return !p.by_pointers() && stride == 0 ? 1 : batch;
  };
  const bool reads_c = p.beta_at != nullptr || !is_zero(p.beta);
  return 8 * (m * k * entries(p.stride_a) + k * n * entries(p.stride_b) +
              (reads_c ? 2 : 1) * m * n * batch);
}

// Blocks of the launch, but of a triangle those that have nothing to do.
inline double complex_blocks(const ComplexTileConfig& tile, const Cgemm& p,
                             const ComplexTileCut& cut) {
  const auto all = static_cast<double>(complex_tile_count(tile, p) * p.batch * cut.parts);
  if (p.triangle == Triangle::none) return all;
  const double diagonal =
      static_cast<double>(tile.bm + tile.bn) / static_cast<double>(std::max<std::int64_t>(p.m, 1));
  return std::ceil(all * std::min(1.0, 0.5 + 0.5 * diagonal));
}

inline double predict_complex_us(const ComplexTile& tile, const Cgemm& p, const ComplexTileCut& cut,
                                 const Device& device) {
  const ComplexTileTimes& t = tile.times;
  const double sms = std::max(device.sm_count, 1);
  const double blocks = complex_blocks(tile.config, p, cut);
  const double most = std::ceil(blocks / sms);  // on one SM
  const double turns = std::ceil(most / tile.config.blocks_per_sm);
  const auto stages = static_cast<double>(p.loop_k() == 0 ? 0 : cut.share);
  const double busy = most * (stages * t.busy_us + t.block_us);
  const double alone = turns * (stages * t.alone_us + t.block_us);
  const ComplexSplitTuning& split = complex_split_tuning;
  const double sum_us =
      cut.parts == 1
          ? 0
          : split.parts_us + split.each_part_us * static_cast<double>(cut.parts) *
                                 std::max(1.0, std::ceil(most / static_cast<double>(cut.parts)));
  const double memory = memory_us(complex_operand_bytes(p), device);
  return t.first_us + std::max({busy, alone, memory}) + sum_us;
}

// The cut of the least time, and that time. Sums longer than the tuning allows are cut however long
// that takes.
struct TimedComplexCut {
  ComplexTileCut cut;
  double us = std::numeric_limits<double>::infinity();
};
inline TimedComplexCut fastest_complex_cut(const ComplexTile& tile, const Cgemm& p,
                                           const Device& device) {
  const ComplexSplitTuning& split = complex_split_tuning;
  const std::int64_t tiles = complex_tile_count(tile.config, p) * p.batch;
  const std::int64_t fewest = std::max<std::int64_t>(ceil_div(p.loop_k(), split.longest_sum), 1);
  const std::int64_t most =
      tiles > static_cast<std::int64_t>(ticket_count)
          ? 1
          : std::max(fewest, std::min<std::int64_t>(p.loop_k() / split.least_k, split.most_parts));
  TimedComplexCut best;
  for (std::int64_t parts = std::min(fewest, most); parts <= most;
       parts += std::max<std::int64_t>(parts / 8, 1)) {
    const ComplexTileCut cut = complex_cut(tile.config, p, parts);
    const double us = predict_complex_us(tile, p, cut, device);
    if (us < best.us) best = {cut, us};
    // More parts than the SMs hold at once only add work.
    if (tiles * parts > std::int64_t{2} * tile.config.blocks_per_sm * std::max(device.sm_count, 1))
      break;
  }
  return best;
}

}  // namespace kw
