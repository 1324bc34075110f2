// The cut that a product of `thin` gets, and how its launch follows the one before it. A function
// of the problem and the device, made on the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "arithmetic.hpp"
#include "sgemm/thin_plan.hpp"

namespace kw {

// Whether a kernel that begins early finds room for some of its blocks only, beside those of the
// previous one: multiprocessors that have it then get more blocks than others.
inline bool thin_crowds(const ThinPlan& plan, const Sgemm& p, const Device& device) {
  const auto blocks = static_cast<double>(plan.blocks(p.batch));
  const auto slots = static_cast<double>(thin_slots(plan, device));
  return 2 * blocks > slots && blocks < thin_tuning.even_share * slots;
}

// Shared memory, beside what a block has, with which no multiprocessor has room for more blocks
// than if they lay evenly; 0 where that is as many as it has room for without.
inline std::size_t thin_apart_bytes(const ThinPlan& plan, const Sgemm& p, const Device& device) {
  const std::int64_t sms = std::max(1, device.sm_count);
  const std::int64_t of_sm = ceil_div(plan.blocks(p.batch), sms);
  if (device.compute_capability < 90 || !plan.begins_early) return 0;
  if (!thin_crowds(plan, p, device) || of_sm * sms >= thin_slots(plan, device)) return 0;
  constexpr std::size_t unit = 128, reserved = 1024;  // the driver's, of a block
  constexpr std::size_t without_opt_in = 48 << 10;    // of all; a launch asks by the dynamic part
  const std::size_t own =
      sizeof(float) * static_cast<std::size_t>(thin_configs[plan.config].shared_floats()) + unit;
  const auto together = static_cast<std::size_t>(of_sm);
  const std::size_t wanted = device.shared_bytes_per_sm / (together + 1) + 2 * unit;
  if (wanted <= own + reserved) return 0;
  std::size_t bytes = ceil_div(wanted - own - reserved, unit) * unit;
  if (own + bytes > without_opt_in) bytes = std::max(bytes, without_opt_in + unit);
  return together * (own + bytes + reserved) <= device.shared_bytes_per_sm ? bytes : 0;
}

// Whether a kernel is to begin while the previous one ends. What L2 holds in part is read more
// quickly where each call has its blocks on the same multiprocessors.
inline bool thin_begins_early(const ThinPlan& plan, const Sgemm& p, const Device& device) {
  constexpr ThinTuning t = thin_tuning;
  const double share = thin_bytes(plan, p) / l2_bytes_of(device);
  if (!thin_configs[plan.config].keeps_steps() || plan.width > t.apart_width) return true;
  if (share < t.apart_from) return true;
  if (thin_crowds(plan, p, device)) return !plan.along_k && thin_apart_bytes(plan, p, device) == 0;
  return !plan.along_k || plan.width > 1 || share > t.apart_to;
}

// Of a thin product that is not empty: the cut of the least prediction. k is whole, or in as many
// parts as fill the device once, half of it, or give each multiprocessor a block.
inline ThinPlan thin_plan(const Sgemm& p, const Device& device) {
  const ThinPlan operands = thin_operands(p);
  ThinPlan best;
  double best_us = std::numeric_limits<double>::infinity();
  const auto consider = [&](const ThinCut& cut) {
    ThinPlan plan = operands;
    cut_thin(plan, p, cut);
    const double us = predict_us(plan, p, device);
    if (us < best_us || best.row_blocks == 0) best = plan, best_us = us;
    return plan;
  };
  const auto consider_parts = [&](ThinCut cut, const ThinPlan& whole) {
    const std::int64_t blocks = std::max<std::int64_t>(1, whole.blocks(p.batch));
    const std::int64_t slots = thin_slots(whole, device);
    for (const std::int64_t wanted : {slots, slots / 2, std::int64_t{device.sm_count}}) {
      cut.parts = wanted / blocks;
      if (cut.parts > 1) consider(cut);
    }
  };
  for (const ThinBlock& block : thin_blocks) {
    int config = 0;
    while (thin_configs[config].rows != block.rows || thin_configs[config].width < operands.width)
      ++config;
    const ThinConfig& instance = thin_configs[config];
    const int k_shift = block.threads_shift - block.row_shift;
    // Not with most of its threads beyond the operand.
    if (block.row_shift > 0 && instance.rows << block.row_shift >= 2 * operands.rows) continue;
    if (k_shift > 0 && instance.depth << k_shift >= 4 * p.k) continue;
    // Nor each thread along a line of its own, but where lines are short.
    if (operands.along_k && k_shift == 0 && p.k > thin_tuning.short_k) continue;
    for (const ThinLoads unaligned : {ThinLoads::single, ThinLoads::shifted}) {
      const ThinCut cut = {config, block.threads_shift, block.row_shift, 1, unaligned};
      if (!is_cut(cut)) continue;
      const ThinPlan whole = consider(cut);
      consider_parts(cut, whole);
      if (!operands.along_k || whole.loads != ThinLoads::single) break;  // there is one way
    }
  }
  if (best.row_blocks > 0) {
    best.begins_early = thin_begins_early(best, p, device);
    const double share =
        best.begins_early ? thin_tuning.steps_share : thin_tuning.steps_share_apart;
    const double kept = thin_kept_share(best, p, device, share);
    if (kept > 0) best.kept_steps = spread_bits(kept);
    return best;
  }
  // Next to nothing to read.
  consider({.config = 5, .threads_shift = 7, .row_shift = 7, .parts = 1});
  return best;
}

// Whether the largest grid has so many blocks, and a block can count its k in 32 bits.
inline bool thin_counts(const Sgemm& p, const ThinPlan& plan) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return plan.blocks(p.batch) <= most && plan.k_per_part <= most / 2;
}

}  // namespace kw
