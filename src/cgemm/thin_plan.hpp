// How cgemm_thin computes a product: which operand is the wide one, which threads read which part
// of it, and how long that takes. Made on the host.
//
//   out[r][j] = alpha * sum over k of wide[r][k] * narrow[k][j] + beta * C,  j < width <= 16
//
// Where op(A) has more rows than op(B) has columns, the wide operand is op(A), else the transpose
// of op(B).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

#include "arithmetic.hpp"
#include "cgemm/problem.hpp"
#include "cgemm/thin_tuning.hpp"
#include "gpu/device.hpp"
#include "sgemm/memory_time.hpp"
#include "sgemm/thin_plan.hpp"

namespace kw {

struct ComplexThinPlan {
  bool wide_is_b = false;
  int config = 0;   // of complex_thin_configs
  int k_warps = 1;  // of a block's warps lie along k, the others along rows
  int block_rows = 0;
  int width = 0;
  std::int64_t rows = 0, ld = 0;            // of the wide operand
  std::int64_t narrow_k = 0, narrow_j = 0;  // strides of the narrow operand
  // Blocks along the rows, and blocks that share rows, each with k_per_part, a multiple of a step.
  std::int64_t row_blocks = 0, parts = 1, k_per_part = 0;
  // 2^gather_shift threads share an output in the sum over parts.
  int gather_shift = 0;
  std::uint32_t kept_steps = ~0U;  // of 32 steps of a block, a bit each: those that L2 is to keep

  KW_HOST_DEVICE constexpr int outputs() const { return block_rows * width; }  // of a block
  std::int64_t blocks(std::int64_t batch) const { return batch * row_blocks * parts; }
  std::size_t workspace_bytes(std::int64_t batch) const {
    return parts == 1 ? 0 : static_cast<std::size_t>(blocks(batch) * outputs()) * sizeof(Complex);
  }
};

inline bool is_complex_thin(const Cgemm& p) { return std::min(p.m, p.n) <= complex_thin_max_width; }

// The product's operands, not cut yet.
inline ComplexThinPlan complex_thin_operands(const Cgemm& p) {
  ComplexThinPlan plan;
  plan.wide_is_b = p.m <= p.n;
  if (plan.wide_is_b) {
    plan.width = static_cast<int>(p.m);
    plan.rows = p.n;
    plan.ld = p.ldb;
    plan.narrow_k = p.op_a == Op::none ? 1 : p.lda;
    plan.narrow_j = p.op_a == Op::none ? p.lda : 1;
  } else {
    plan.width = static_cast<int>(p.n);
    plan.rows = p.m;
    plan.ld = p.lda;
    plan.narrow_k = p.op_b == Op::none ? p.ldb : 1;
    plan.narrow_j = p.op_b == Op::none ? 1 : p.ldb;
  }
  return plan;
}
inline bool complex_thin_along_k(const Cgemm& p, const ComplexThinPlan& plan) {
  return plan.wide_is_b ? p.op_b == Op::transpose : p.op_a == Op::none;
}

// Whether a block of the instance can have so many warps along k: a chunk has whole pairs of steps.
constexpr bool can_be_cut(const ComplexThinConfig& config, int k_warps) {
  return k_warps <= config.warps && 2 * config.step(k_warps) <= config.chunk();
}

// Gives a plan that knows its operands, instance and warps along k its parts: so many, or as many
// as there are steps. Blocks that share rows need a ticket each.
inline void cut_complex_thin(ComplexThinPlan& plan, const Cgemm& p, std::int64_t wanted) {
  const ComplexThinConfig& config = complex_thin_configs[plan.config];
  plan.block_rows = config.block_rows(plan.k_warps);
  plan.row_blocks = ceil_div<std::int64_t>(plan.rows, plan.block_rows);
  const int step = config.step(plan.k_warps);
  const std::int64_t steps = std::max<std::int64_t>(ceil_div(p.loop_k(), step), 1);
  if (p.batch * plan.row_blocks > static_cast<std::int64_t>(ticket_count)) wanted = 1;
  const std::int64_t share = ceil_div(steps, std::clamp<std::int64_t>(wanted, 1, steps));
  plan.k_per_part = share * step;
  plan.parts = ceil_div(steps, share);
  plan.gather_shift = 0;
  while (plan.gather_shift < 5 && (plan.outputs() << plan.gather_shift) < config.threads &&
         (8 << plan.gather_shift) < plan.parts)
    ++plan.gather_shift;
}

// Of the wide operand, of all entries of a batch.
inline double complex_thin_bytes(const ComplexThinPlan& plan, const Cgemm& p) {
  const bool shared = !p.by_pointers() && (plan.wide_is_b ? p.stride_b : p.stride_a) == 0;
  return sizeof(Complex) * static_cast<double>(plan.rows) * static_cast<double>(p.loop_k()) *
         (shared ? 1.0 : static_cast<double>(p.batch));
}

// Whether L2 keeps all of the wide operand from call to call.
inline bool is_kept_whole(double bytes, const Device& device) {
  return bytes <= memory_tuning.kept_share * l2_bytes_of(device);
}
// The part of it that L2 is told to keep: 0 where nothing is told.
inline double complex_thin_kept_share(const ComplexThinPlan& plan, double bytes,
                                      const Device& device) {
  if (!complex_thin_configs[plan.config].keeps_steps()) return 0;
  return std::min(1.0, thin_tuning.steps_share * l2_bytes_of(device) / bytes);
}

// The bytes in whole sectors that a load of a warp brings beside those that it asks for, over
// these: lines begin at any element.
inline double complex_thin_sectors_cut(const ComplexThinConfig& config) {
  constexpr double sector = 32;
  const int lanes = config.along_k ? config.k_lanes : config.row_lanes();
  return (sector - sizeof(Complex)) / static_cast<double>(sizeof(Complex) * lanes);
}

// How much longer memory takes than for long pieces of lines and little under way.
inline double complex_thin_memory_factor(const ComplexThinPlan& plan, double blocks_of_sm) {
  const ComplexThinTuning& t = complex_thin_tuning;
  const ComplexThinConfig& config = complex_thin_configs[plan.config];
  constexpr double few_bytes = 32 << 10;
  // Of a multiprocessor: two steps of each thread.
  const double under_way =
      2.0 * sizeof(Complex) * blocks_of_sm * config.threads * config.rows * config.depth;
  const double crowded =
      config.along_k ? 0 : t.crowded_across * std::max(0.0, std::log2(under_way / few_bytes));
  const double beyond = static_cast<double>(plan.row_blocks * plan.block_rows - plan.rows);
  return (1 + crowded + t.cut_sectors_memory * complex_thin_sectors_cut(config)) *
         (1 + t.beyond_rows * beyond / static_cast<double>(plan.rows));
}

inline double predict_complex_thin_us(const ComplexThinPlan& plan, const Cgemm& p,
                                      const Device& device) {
  const ComplexThinTuning& t = complex_thin_tuning;
  const ComplexThinConfig& config = complex_thin_configs[plan.config];
  const double sms = std::max(device.sm_count, 1);
  const auto blocks = static_cast<double>(plan.blocks(p.batch));
  const double of_sm = std::ceil(blocks / sms);
  const double rounds = std::ceil(of_sm / config.blocks_per_sm);
  const auto k = static_cast<double>(std::min(plan.k_per_part, p.loop_k()));
  const double steps = std::ceil(k / config.step(plan.k_warps));
  const double chunks = std::ceil(k / config.chunk());
  const double waits = rounds * (steps * t.step + chunks * t.chunk) + (of_sm - 1) * t.block;

  const auto rows = static_cast<double>(std::min<std::int64_t>(plan.block_rows, plan.rows));
  const double of_block = sizeof(Complex) * k * (rows + plan.width);
  const double of_l2 = std::max(blocks * of_block / t.l2_bytes, of_sm * of_block / t.sm_bytes) *
                       (1 + t.cut_sectors * complex_thin_sectors_cut(config));
  const double bytes = complex_thin_bytes(plan, p);
  const double of_memory =
      share_lost(bytes, device, memory_tuning.kept_share, memory_tuning.lost_share) * bytes *
      (1 - complex_thin_kept_share(plan, bytes, device)) *
      complex_thin_memory_factor(plan, std::min<double>(of_sm, config.blocks_per_sm)) /
      (t.share_of_bandwidth / memory_tuning.share_of_bandwidth * memory_bytes_per_us(device));
  const double fill = of_sm * sms / blocks;
  // Of a launch that has more blocks than multiprocessors, and not as many as they hold, some get
  // all that they hold.
  const bool is_loose = of_sm > 1 && of_sm < config.blocks_per_sm;
  const double delivered =
      std::max(of_l2, of_memory) * (1 + t.uneven * (fill - 1)) * (1 + (is_loose ? t.loose : 0));

  const double elements =
      of_sm * plan.block_rows * std::max(steps * config.step(plan.k_warps), 1.0);
  const double loads = config.along_k ? 1.0 : 0.5;
  const double slots =
      4.0 * config.width + t.element_slots + t.narrow_slots * loads * config.width / config.rows;
  const double instructions = elements * slots / t.slots_per_us;

  double end = t.lanes * config.rows * config.width * (config.k_lanes > 1 ? 1 : 0);
  if (plan.k_warps > 1) end += t.warps;
  if (plan.parts > 1) {
    const double each =
        std::max(1.0, std::ldexp(plan.outputs(), plan.gather_shift) / config.threads);
    end += t.gather +
           t.gather_loads * std::ceil(each) *
               std::ceil(std::ldexp(static_cast<double>(plan.parts), -plan.gather_shift) / 8);
  }
  // The lanes of a warp store elements of C that lie apart.
  if (!plan.wide_is_b)
    end += t.store * plan.outputs() *
           (plan.parts == 1 ? of_sm : std::ceil(static_cast<double>(plan.row_blocks) / sms));
  const double c_bytes = sizeof(Complex) * static_cast<double>(p.m) * static_cast<double>(p.n) *
                         static_cast<double>(p.batch) *
                         (p.beta_at != nullptr || !is_zero(p.beta) ? 2 : 1);
  return (1 + t.column * config.width) *
         (t.start + std::hypot(waits, delivered, instructions) + c_bytes / t.l2_bytes + end);
}

// Whether an instance computes a product whose wide operand has so many bytes.
inline bool is_for_bytes(const ComplexThinConfig& config, double bytes, const Device& device) {
  return config.from == ThinFrom::any ||
         (config.from == ThinFrom::l2) == is_kept_whole(bytes, device);
}

// Calls visit(plan) with every cut that is considered, of a product that is thin.
template <class Visit>
void each_complex_thin_cut(const Cgemm& p, const Device& device, const Visit& visit) {
  const ComplexThinTuning& t = complex_thin_tuning;
  ComplexThinPlan plan = complex_thin_operands(p);
  const bool along_k = complex_thin_along_k(p, plan);
  const double bytes = complex_thin_bytes(plan, p);
  int width = 1;
  while (width < plan.width) width *= 2;
  for (int i = 0; i < static_cast<int>(std::size(complex_thin_configs)); ++i) {
    const ComplexThinConfig& config = complex_thin_configs[i];
    if (config.along_k != along_k || config.width != width || !is_for_bytes(config, bytes, device))
      continue;
    for (int k_warps = 1; can_be_cut(config, k_warps); k_warps *= 2) {
      plan.config = i;
      plan.k_warps = k_warps;
      cut_complex_thin(plan, p, 1);
      const std::int64_t whole = std::max<std::int64_t>(plan.blocks(p.batch), 1);
      const std::int64_t sms = std::max(device.sm_count, 1);
      const std::int64_t of_thread = std::int64_t{config.k_lanes} * k_warps * t.longest_sum;
      const std::int64_t fewest = ceil_div(std::max<std::int64_t>(p.loop_k(), 1), of_thread);
      std::int64_t before = 0;
      const int at_once = config.blocks_per_sm;
      const int most = at_once * (config.width <= t.rounds_width ? t.most_rounds : 1);
      for (int of_sm = 0; of_sm <= most; of_sm += of_sm < at_once ? 1 : at_once) {
        const std::int64_t wanted = of_sm == 0 ? 1 : of_sm * sms / whole;
        const std::int64_t parts =
            std::clamp<std::int64_t>(wanted, fewest, std::max<std::int64_t>(t.most_parts, fewest));
        if (parts == before) continue;
        before = parts;
        cut_complex_thin(plan, p, parts);
        visit(plan);
      }
    }
  }
}

// The cut of the least prediction, and that time.
struct TimedComplexThin {
  ComplexThinPlan plan;
  double us = std::numeric_limits<double>::infinity();
};
inline TimedComplexThin fastest_complex_thin(const Cgemm& p, const Device& device) {
  TimedComplexThin best;
  each_complex_thin_cut(p, device, [&](const ComplexThinPlan& plan) {
    const double us = predict_complex_thin_us(plan, p, device);
    if (us < best.us) best = {plan, us};
  });
  const double kept = complex_thin_kept_share(best.plan, complex_thin_bytes(best.plan, p), device);
  if (kept > 0) best.plan.kept_steps = spread_bits(kept);
  return best;
}

}  // namespace kw
