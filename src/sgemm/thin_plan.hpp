// How `thin` computes a product: which operand is the wide one, how it lies in memory, which
// threads read which part of it. A function of the problem and the device, made on the host.
//
//   out[r][j] = alpha * sum over k of wide[r][k] * narrow[k][j] + beta * C,  j < width <= 16
//
// Where op(A) has more rows than op(B) has columns, the wide operand is op(A), else the transpose
// of op(B): only the strides of the narrow operand and of C differ.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "arithmetic.hpp"
#include "sgemm/memory_time.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/thin_tuning.hpp"

namespace kw {

// How a thread reads lines of the wide operand. A line is a row of the operand, or one k of all
// rows.
//   single   an element a load
//   vector   four elements a load: all lines start on a 16-byte boundary
//   shifted  four elements a load, where lines are rows and start anywhere: a block keeps to rows
//            in which boundaries lie alike, every fourth, and begins up to three k before their
//            first one
enum class ThinLoads { single, vector, shifted };

struct ThinPlan {
  bool wide_is_b = false;
  bool along_k = false;  // memory's order of the wide operand: [r][k], else [k][r]
  bool aligned = false;  // its lines all start on a 16-byte boundary
  int width = 0;
  std::int64_t rows = 0, ld = 0;            // of the wide operand
  std::int64_t narrow_k = 0, narrow_j = 0;  // strides of the narrow operand
  std::int64_t c_row = 0, c_j = 0;          // of C

  ThinLoads loads = ThinLoads::single;
  int config = 0;                  // of thin_configs
  int thread_rows = 1, depth = 1;  // the instance's
  // A block has 2^row_shift threads along the rows, each with `thread_rows`, and 2^k_shift along k,
  // each with `depth` in a step.
  int row_shift = 0, k_shift = 0;
  int sum_shift = 0, gather_shift = 0;  // 2^ threads add up an output of a block, of all parts
  // A product is row_blocks x parts blocks; a part has k_per_part along k, whole steps.
  int block_rows = 0;
  std::int64_t row_blocks = 0, parts = 1, k_per_part = 0;
  std::uint32_t kept_steps = ~0U;  // of 32 steps of a block, a bit each: those that L2 is to keep
  // Whether it begins while the stream's previous kernel ends. Where it does not, its blocks come
  // to lie as in the call before, and find in their half of L2 what they left there.
  bool begins_early = true;

  KW_HOST_DEVICE constexpr int threads() const { return 1 << (row_shift + k_shift); }
  // Between neighbouring rows of a block. Where it is not 1, so many blocks share their rows' span.
  KW_HOST_DEVICE constexpr int row_stride() const { return loads == ThinLoads::shifted ? 4 : 1; }
  KW_HOST_DEVICE constexpr std::int64_t first_row(unsigned row_block, unsigned stride) const {
    return std::int64_t{row_block / stride} * (static_cast<int>(stride) * block_rows) +
           row_block % stride;
  }
  KW_HOST_DEVICE constexpr int step() const { return depth << k_shift; }
  KW_HOST_DEVICE constexpr int outputs() const { return width * block_rows; }  // of a block
  // 2^ threads of a warp lie along k.
  KW_HOST_DEVICE constexpr int k_lanes_shift() const {
    const int shift = along_k ? k_shift : 5 - (row_shift < 5 ? row_shift : 5);
    return shift < 5 ? shift : 5;
  }
  std::int64_t blocks(std::int64_t batch) const { return batch * row_blocks * parts; }
  std::size_t workspace_bytes(std::int64_t batch) const {
    return parts == 1 ? 0 : static_cast<std::size_t>(blocks(batch) * outputs()) * sizeof(float);
  }
};

// How a product is cut, as far as it is a choice.
struct ThinCut {
  int config, threads_shift, row_shift;
  std::int64_t parts;
  ThinLoads unaligned = ThinLoads::single;  // where lines are not aligned
};

inline bool is_thin(const Sgemm& p) { return std::min(p.m, p.n) <= thin_max_width; }

// The product's operands, not cut yet.
inline ThinPlan thin_operands(const Sgemm& p) {
  ThinPlan plan;
  plan.wide_is_b = p.m <= p.n;
  if (plan.wide_is_b) {
    plan.width = static_cast<int>(p.m);
    plan.rows = p.n;
    plan.ld = p.ldb;
    plan.along_k = p.op_b == Op::transpose;
    plan.narrow_k = p.op_a == Op::none ? 1 : p.lda;
    plan.narrow_j = p.op_a == Op::none ? p.lda : 1;
    plan.c_row = 1;
    plan.c_j = p.ldc;
  } else {
    plan.width = static_cast<int>(p.n);
    plan.rows = p.m;
    plan.ld = p.lda;
    plan.along_k = p.op_a == Op::none;
    plan.narrow_k = p.op_b == Op::none ? p.ldb : 1;
    plan.narrow_j = p.op_b == Op::none ? 1 : p.ldb;
    plan.c_row = p.ldc;
    plan.c_j = 1;
  }
  const float* x = plan.wide_is_b ? p.b : p.a;
  const std::int64_t stride = p.batch == 1 ? 0 : plan.wide_is_b ? p.stride_b : p.stride_a;
  plan.aligned = p.a_array == nullptr && reinterpret_cast<std::uintptr_t>(x) % 16 == 0 &&
                 plan.ld % 4 == 0 && stride % 4 == 0;
  return plan;
}

namespace detail {

// The largest s with 2^s <= x.
inline int floor_log2(std::int64_t x) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(x))) - 1;
}
// The least s with 2^s >= x.
inline int ceil_log2(std::int64_t x) { return x <= 1 ? 0 : floor_log2(x - 1) + 1; }

}  // namespace detail

// The way of the loads that an operand and a cut allow.
inline ThinLoads thin_loads(const ThinPlan& operands, const ThinCut& cut) {
  const ThinConfig& config = thin_configs[cut.config];
  if (!operands.along_k && config.rows == 1) return ThinLoads::single;
  if (operands.aligned) return ThinLoads::vector;
  if (!operands.along_k) return ThinLoads::single;
  return config.reads_short_lines() ? cut.unaligned : ThinLoads::shifted;
}

// Whether an instance's blocks can be cut so.
inline bool is_cut(const ThinCut& cut) {
  const ThinConfig& config = thin_configs[cut.config];
  const int k_shift = cut.threads_shift - cut.row_shift;
  return 1 << cut.threads_shift <= config.threads && k_shift >= 0 &&
         config.depth << k_shift <= config.chunk();
}

// Threads along k whose sums meet in the lanes of a warp, and the sums of an output that remain.
inline int thin_merged(const ThinPlan& plan) {
  return thin_configs[plan.config].adds_lanes() ? 1 << std::min(plan.k_shift, plan.k_lanes_shift())
                                                : 1;
}
inline int thin_sums(const ThinPlan& plan) { return (1 << plan.k_shift) / thin_merged(plan); }

// Gives a plan that knows the operands its cut. Blocks that share rows need a ticket each.
inline void cut_thin(ThinPlan& plan, const Sgemm& p, const ThinCut& cut) {
  const ThinConfig& config = thin_configs[cut.config];
  plan.loads = thin_loads(plan, cut);
  plan.config = cut.config;
  plan.thread_rows = config.rows;
  plan.depth = config.depth;
  plan.row_shift = cut.row_shift;
  plan.k_shift = cut.threads_shift - cut.row_shift;
  plan.block_rows = config.rows << cut.row_shift;
  const std::int64_t span = std::int64_t{plan.row_stride()} * plan.block_rows;
  plan.row_blocks = plan.rows / span * plan.row_stride() +
                    std::min<std::int64_t>(plan.rows % span, plan.row_stride());
  const int before = plan.row_stride() > 1 ? 3 : 0;  // at most, from a boundary to a line
  const std::int64_t steps = ceil_div(p.k == 0 ? 0 : p.k + before, plan.step());
  std::int64_t parts = std::clamp<std::int64_t>(cut.parts, 1, std::max<std::int64_t>(1, steps));
  if (p.batch * plan.row_blocks > thin_tuning.tickets) parts = 1;
  const std::int64_t steps_per_part = ceil_div(steps, parts);
  plan.k_per_part = steps_per_part * plan.step();
  plan.parts = steps == 0 ? 1 : ceil_div(steps, steps_per_part);

  const auto sharing = [&](std::int64_t outputs, std::int64_t sums) {
    return std::clamp(cut.threads_shift - detail::ceil_log2(outputs), 0,
                      std::min(5, detail::floor_log2(sums)));
  };
  plan.sum_shift = sharing(config.sums_width() * (config.rows << cut.row_shift), thin_sums(plan));
  plan.gather_shift = sharing(plan.outputs(), plan.parts);
}

// Of the wide operand, of all entries of a batch.
inline double thin_bytes(const ThinPlan& plan, const Sgemm& p) {
  const bool is_shared = (plan.wide_is_b ? p.stride_b : p.stride_a) == 0 && p.a_array == nullptr;
  const double operands = is_shared ? 1 : static_cast<double>(p.batch);
  return sizeof(float) * operands * static_cast<double>(plan.rows) * static_cast<double>(p.k);
}

// The part of the wide operand that L2 is told to keep, where so large a share of L2 is for that; 0
// where nothing is told.
inline double thin_kept_share(const ThinPlan& plan, const Sgemm& p, const Device& device,
                              double share) {
  if (!thin_configs[plan.config].keeps_steps()) return 0;
  return std::min(1.0, share * l2_bytes_of(device) / thin_bytes(plan, p));
}

// So large a share of 32 bits, spread evenly.
inline std::uint32_t spread_bits(double share) {
  const int count = static_cast<int>(std::lround(32 * share));
  std::uint32_t bits = 0;
  for (int i = 0; i < 32; ++i)
    if ((i + 1) * count / 32 != i * count / 32) bits |= 1U << i;
  return bits;
}

// Blocks that run at a time.
inline std::int64_t thin_slots(const ThinPlan& plan, const Device& device) {
  const ThinConfig& config = thin_configs[plan.config];
  return std::int64_t{config.blocks_per_sm(plan.along_k) * config.threads / plan.threads()} *
         std::max(1, device.sm_count);
}

namespace detail {

// The neighbouring bytes that one load of a warp asks for.
inline double thin_run_bytes(const ThinPlan& plan) {
  const int lanes = 1 << std::min(5, plan.along_k ? plan.k_shift : plan.row_shift);
  return 4.0 * lanes * (plan.loads == ThinLoads::single ? 1 : 4);
}

// The bytes that a block's loads bring from L2, in whole sectors, over those that they ask for. A
// step has a piece of each line.
inline double thin_traffic(const ThinPlan& plan) {
  constexpr double sector = 32;
  const double piece = 4.0 * (plan.along_k ? plan.step() : plan.thread_rows << plan.row_shift);
  const bool starts_anywhere = !plan.aligned && plan.loads == ThinLoads::single;
  return (std::max(piece, sector) + (starts_anywhere ? sector - 4 : 0)) / piece;
}

// The bytes that loads of four elements bring beside those, in whole sectors, where lines start
// anywhere: half a sector at each end of a run.
inline double thin_sectors_cut(const ThinPlan& plan) {
  constexpr double half_sector = 16;
  return plan.loads == ThinLoads::shifted ? half_sector / thin_run_bytes(plan) : 0;
}

// Lines of the L1 cache that the loads of an element touch, on average over where runs start.
inline double thin_touches(const ThinPlan& plan) {
  constexpr double line = 128;
  const double start = plan.loads == ThinLoads::single ? 4 : 16, run = thin_run_bytes(plan);
  return sizeof(float) / run * (run + line - start) / line;
}

// Of a single column or row whose elements lie apart, the lines of the L1 cache that a warp's
// copies touch, for each element. Along k nothing hides these
// (results/h200/explored-thin-apart.txt).
inline double thin_apart_touches(const ThinPlan& plan) {
  constexpr double line = 128;
  constexpr int lanes = 32;
  if (plan.narrow_k == 1 || plan.width > 1 || !plan.along_k) return 0;
  const double last = sizeof(float) * (lanes - 1) * static_cast<double>(plan.narrow_k);
  return std::min(1.0, (last / line + 1) / lanes);
}

// How much longer memory takes than for long lines that lie alone: where a block or a load of a
// warp has a short piece of each line, where each thread follows four lines, where much is under
// way from many places at a time, and where blocks that share lines read them apart.
inline double thin_memory_factor(const ThinPlan& plan, double blocks_of_sm) {
  constexpr ThinTuning t = thin_tuning;
  constexpr int long_piece = 128;    // elements
  constexpr double long_load = 512;  // bytes
  constexpr double few_bytes = 32 << 10;
  // Of a multiprocessor: two steps of each thread.
  const double under_way =
      2.0 * sizeof(float) * blocks_of_sm * plan.threads() * plan.thread_rows * plan.depth;
  const double crowded = (plan.along_k ? t.crowded_along : t.crowded_across) *
                         std::max(0.0, std::log2(under_way / few_bytes));
  if (plan.along_k)
    return 1 + t.short_load * std::max(0.0, std::log2(long_load / thin_run_bytes(plan))) +
           (plan.thread_rows == 4 ? t.four_lines : 0) + crowded;
  const int piece = plan.thread_rows << plan.row_shift;
  const double factor =
      1 + t.short_piece * std::max(0.0, std::log2(1.0 * long_piece / piece)) + crowded;
  const ThinConfig& config = thin_configs[plan.config];
  if (config.width > t.apart_columns) return factor;
  const double at_once = std::min(
      blocks_of_sm, 1.0 * config.blocks_per_sm(plan.along_k) * config.threads / plan.threads());
  const double parts = static_cast<double>(plan.k_per_part) / t.short_part;
  return factor + t.long_part * std::max(0.0, std::log2(parts)) +
         t.many_blocks * std::max(0.0, std::log2(at_once / 2));
}

// What a block's loads wait for, what L2 and the memory deliver and what the instructions take;
// these hide each other in part.
inline double thin_main_us(const ThinPlan& plan, const Sgemm& p, const Device& device,
                           double blocks_of_sm) {
  constexpr ThinTuning t = thin_tuning;
  const ThinConfig& config = thin_configs[plan.config];
  const double blocks = static_cast<double>(plan.blocks(p.batch));
  const double rounds =
      std::ceil(blocks / static_cast<double>(std::max<std::int64_t>(1, thin_slots(plan, device))));
  const std::int64_t whole_steps = plan.k_per_part / plan.step();
  const auto steps = static_cast<double>(whole_steps);
  const double k = static_cast<double>(std::min(plan.k_per_part, p.k));
  const double rows = static_cast<double>(
      std::min<std::int64_t>(plan.block_rows, ceil_div(plan.rows, plan.row_stride())));

  const double chunks = std::ceil(k / config.chunk());
  const double waits = rounds * ((steps - 1) * t.step + (chunks - 1) * t.chunk +
                                 config.width * std::ceil(k / plan.threads()) * t.fetch) +
                       (blocks_of_sm - 1) * t.block * plan.threads() / 256;

  constexpr double sector = 32;
  const double narrow =
      plan.narrow_k == 1 ? sizeof(float) * plan.width : std::max(sector, 4.0 * plan.width);
  const double more =
      1 + t.repeated * (thin_traffic(plan) - 1) + t.cut_sectors * thin_sectors_cut(plan);
  const double of_block = k * (sizeof(float) * rows * more + narrow);
  const double elements = blocks_of_sm * plan.block_rows * steps * plan.step();
  const double of_l2 =
      std::max({blocks * of_block / t.l2_bytes, blocks_of_sm * of_block / t.sm_bytes,
                elements * thin_touches(plan) / t.touches});

  const double bytes = thin_bytes(plan, p);
  // As of a kernel that begins early: the times are fitted to such.
  const double missing = bytes * (1 - thin_kept_share(plan, p, device, t.steps_share));
  const double stated = stated_bytes_per_us(device);
  const double lost = share_lost(bytes, device, t.kept_share, t.lost_share);
  const double of_memory = stated > 0 ? lost * missing * thin_memory_factor(plan, blocks_of_sm) /
                                            (t.share_of_bandwidth * stated)
                                      : 0;

  // The last blocks are on some multiprocessors only.
  const double fill = blocks_of_sm * std::max(1, device.sm_count) / blocks;
  const double delivered = std::max(of_l2, of_memory) * (1 + t.uneven * (fill - 1));

  const bool single = plan.loads == ThinLoads::single;
  const double narrow_loads = (single && plan.along_k ? 1.0 : 0.25) / plan.thread_rows;
  const double slots = (t.fma_slots + t.narrow_slots * narrow_loads) * config.width +
                       t.element_slots + (single ? t.load_slots : 0);
  const double instructions = elements * slots / t.slots_per_us;

  return std::hypot(waits, delivered, instructions);
}

// What follows the products: sums of threads and of blocks, and the stores.
inline double thin_end_us(const ThinPlan& plan, double blocks_of_sm) {
  constexpr ThinTuning t = thin_tuning;
  const ThinConfig& config = thin_configs[plan.config];
  const auto each = [&](double outputs, int shift) {
    return std::max(1.0, std::ldexp(outputs, shift) / plan.threads());
  };
  double us = thin_merged(plan) > 1 ? t.add_lanes : 0;
  const int sums = thin_sums(plan);
  if (sums > 1) {
    const double passes = std::ceil(static_cast<double>(config.width) / config.sums_width());
    const double outputs = config.sums_width() * (config.rows << plan.row_shift);
    us += passes * (t.sums_pass + t.sums_add * blocks_of_sm * each(outputs, plan.sum_shift) *
                                      ceil_div(sums, 1 << plan.sum_shift));
  } else {
    us += t.output_direct * plan.width * config.rows;
  }
  if (!plan.wide_is_b && plan.width > 1) us += t.scattered * blocks_of_sm * plan.outputs();
  if (plan.parts > 1) {
    const auto parts = static_cast<double>(plan.parts);
    us += t.gather + t.gather_loads * each(plan.outputs(), plan.gather_shift) *
                         std::ceil(std::ldexp(parts, -plan.gather_shift) / 8);
  }
  return us;
}

}  // namespace detail

inline double predict_us(const ThinPlan& plan, const Sgemm& p, const Device& device) {
  constexpr ThinTuning t = thin_tuning;
  const double blocks_of_sm = static_cast<double>(
      ceil_div<std::int64_t>(plan.blocks(p.batch), std::max(1, device.sm_count)));
  const double us = t.start + t.start_twice_threads * (plan.row_shift + plan.k_shift - 8) +
                    (plan.loads == ThinLoads::shifted ? t.start_shifted : 0) +
                    detail::thin_main_us(plan, p, device, blocks_of_sm) +
                    detail::thin_end_us(plan, blocks_of_sm);
  const double apart = detail::thin_apart_touches(plan);
  if (apart == 0) return us;
  const auto k = static_cast<double>(std::min(plan.k_per_part, p.k));
  return (us + blocks_of_sm * k * apart / t.touches) *
         (plan.loads == ThinLoads::single ? t.single_apart : 1);
}

}  // namespace kw
