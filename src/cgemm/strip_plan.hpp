// How cgemm_strip cuts a product into blocks, and how long that takes. Made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "arithmetic.hpp"
#include "cgemm/strip_tuning.hpp"
#include "cgemm/tile_plan.hpp"

namespace kw {

// Of a block's warps `warps_n` have strips side by side, and the others the rows in between.
// `walkers` blocks share the tiles of 2^rows_shift rows of the same strips.
struct ComplexStripCut {
  int config = 0;  // of complex_strips
  int warps_n = 1, blocks_n = 0, walkers = 0, rows_shift = 0;

  std::int64_t blocks() const { return std::int64_t{blocks_n} * walkers; }
  // That a block needs: also for its strips where B lies along k.
  std::size_t shared_bytes(const Cgemm& p) const {
    return static_cast<std::size_t>(
               complex_strips[config].config.elements(p.op_b == Op::none ? 0 : warps_n)) *
           sizeof(Complex);
  }
};

struct TimedComplexStrip {
  ComplexStripCut cut;
  double us = 0;
};

// Calls visit(cut) with as many walkers as the SMs hold blocks at once, and twice as many.
template <class Visit>
void each_complex_strip_cut(int index, const Cgemm& p, const Device& device, const Visit& visit) {
  const ComplexStripConfig& config = complex_strips[index].config;
  const std::int64_t strips = ceil_div<std::int64_t>(p.n, config.width());
  const std::int64_t slots = std::int64_t{config.blocks_per_sm} * std::max(device.sm_count, 1);
  for (int warps_n = 1; warps_n <= config.warps && (warps_n == 1 || warps_n / 2 < strips);
       warps_n *= 2) {
    const std::int64_t blocks_n = ceil_div<std::int64_t>(strips, warps_n);
    if (blocks_n > complex_strip_most_blocks_n) continue;
    for (int shift = 3; shift <= 6; ++shift) {
      const std::int64_t tiles = ceil_div<std::int64_t>(p.m, 1 << shift);
      std::int64_t before = 0;
      for (const std::int64_t blocks : {slots, 2 * slots}) {
        const std::int64_t wanted =
            std::clamp<std::int64_t>(blocks / (blocks_n * p.batch), 1, tiles);
        const std::int64_t walkers = ceil_div(tiles, ceil_div(tiles, wanted));
        const ComplexStripCut cut{index, warps_n, static_cast<int>(blocks_n),
                                  static_cast<int>(walkers), shift};
        if (walkers != before &&
            (p.op_b == Op::none || cut.shared_bytes(p) <= device.shared_bytes_per_block_optin))
          visit(cut);
        before = walkers;
      }
      if (tiles == 1) break;
    }
  }
}

inline double predict_complex_strip_us(const ComplexStrip& strip, const Cgemm& p,
                                       const ComplexStripCut& cut, const Device& device) {
  const ComplexStripTimes& t = strip.times;
  const double sms = std::max(device.sm_count, 1);
  const double of_sm = std::ceil(static_cast<double>(cut.blocks() * p.batch) / sms);
  const auto turns = static_cast<double>(
      ceil_div(ceil_div<std::int64_t>(p.m, 1 << cut.rows_shift), std::int64_t{cut.walkers}));
  const double rounds = std::ceil(of_sm / strip.config.blocks_per_sm);
  const double rows =
      std::max(of_sm, t.alone) * turns * static_cast<double>(cut.warps_n << cut.rows_shift);
  const double us = t.first + of_sm * t.block + rounds * turns * t.tile +
                    std::max(rows * t.row, t.memory * memory_us(complex_operand_bytes(p), device));
  return p.k == 1 ? complex_strip_k_of_one * us : us;
}

// Of the instances that hold a strip's k, those with the fewest rows.
inline std::optional<TimedComplexStrip> fastest_complex_strip(const Cgemm& p,
                                                              const Device& device) {
  if (p.k > complex_strip_most_k || p.m < 1 || p.n < 1) return std::nullopt;
  int rows = 2;
  while (rows < p.k) rows *= 2;
  std::optional<TimedComplexStrip> best;
  for (int i = 0; i < complex_strip_count; ++i) {
    if (complex_strips[i].config.k != rows) continue;
    each_complex_strip_cut(i, p, device, [&](const ComplexStripCut& cut) {
      const double us = predict_complex_strip_us(complex_strips[i], p, cut, device);
      if (!best || us < best->us) best = TimedComplexStrip{cut, us};
    });
  }
  return best;
}

}  // namespace kw
