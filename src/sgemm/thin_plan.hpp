// How `thin` computes a product: which operand is the wide one, how it lies in memory, who reads
// which part of it. A function of the problem and the device, made on the host.
//
//   out[r][j] = alpha * sum over k of wide[r][k] * narrow[k][j] + beta * C,  j < width <= 8
//
// With n <= 8 the wide operand is op(A), with m <= 8 the transpose of op(B): only the strides of
// the narrow operand and of C differ.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <limits>

#include "sgemm/problem.hpp"
#include "sgemm/thin_tuning.hpp"

namespace kw {

struct ThinPlan {
  bool wide_is_b = false;
  bool along_k = false;  // memory's order of the wide operand: [r][k], else [k][r]
  bool aligned = false;  // its lines all start on a 16-byte boundary
  int width = 0;
  std::int64_t rows = 0, ld = 0;            // of the wide operand
  std::int64_t narrow_k = 0, narrow_j = 0;  // strides of the narrow operand
  std::int64_t c_row = 0, c_j = 0;          // of C

  // A thread has 4 x 4 elements of the wide operand at a time, so a block 4 row_threads rows, and
  // 4 k_threads along k a step.
  int row_threads = 1, k_threads = 1;
  // A product is row_blocks x parts blocks; a part has k_per_part along k, whole steps.
  std::int64_t row_blocks = 0, parts = 1, k_per_part = 0;

  KW_HOST_DEVICE constexpr int block_rows() const { return 4 * row_threads; }
  KW_HOST_DEVICE constexpr int step() const { return 4 * k_threads; }
  KW_HOST_DEVICE constexpr int outputs() const { return width * block_rows(); }  // of a block
  std::int64_t blocks(std::int64_t batch) const { return batch * row_blocks * parts; }
  std::size_t workspace_bytes(std::int64_t batch) const {
    return parts == 1 ? 0 : static_cast<std::size_t>(blocks(batch) * outputs()) * sizeof(float);
  }
};

// The first instance that is wide enough.
inline std::size_t thin_config_of(int width) {
  const auto found = std::find_if(std::begin(thin_configs), std::end(thin_configs),
                                  [&](const ThinConfig& config) { return config.width >= width; });
  return static_cast<std::size_t>(found - std::begin(thin_configs));
}

inline bool is_thin(const Sgemm& p) {
  return std::min(p.m, p.n) <= std::rbegin(thin_configs)->width;
}

// Blocks that run at a time.
inline std::int64_t thin_slots(const ThinPlan& plan, const Device& device) {
  return std::int64_t{thin_configs[thin_config_of(plan.width)].blocks_per_sm} *
         std::max(1, device.sm_count);
}

namespace detail {

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

// Threads that cover `size` four by four: a power of two between the two limits.
inline int thin_threads(std::int64_t size, int least, int most) {
  const std::int64_t wanted = std::clamp<std::int64_t>((size + 3) / 4, least, most);
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
}

}  // namespace detail

// Of a thin product that is not empty.
inline ThinPlan thin_plan(const Sgemm& p, const Device& device) {
  constexpr int threads = thin_tuning.threads;
  ThinPlan plan = detail::thin_operands(p);
  // A warp reads 512 contiguous bytes where there are so many, along k at least 128.
  const int most = plan.along_k ? threads / detail::thin_threads(p.k, 8, 32) : threads / 8;
  plan.row_threads = detail::thin_threads(plan.rows, 1, most);
  plan.k_threads = threads / plan.row_threads;
  plan.row_blocks = (plan.rows + plan.block_rows() - 1) / plan.block_rows();

  const std::int64_t steps = (p.k + plan.step() - 1) / plan.step();
  const std::int64_t unsplit = std::max<std::int64_t>(1, p.batch * plan.row_blocks);
  const std::int64_t wanted = thin_tuning.waves * thin_slots(plan, device);
  const std::int64_t max_parts = std::max<std::int64_t>(1, steps / thin_tuning.min_steps);
  std::int64_t parts = std::clamp<std::int64_t>((wanted + unsplit - 1) / unsplit, 1, max_parts);
  if (unsplit > static_cast<std::int64_t>(ticket_count)) parts = 1;
  const std::int64_t steps_per_part = (steps + parts - 1) / parts;
  plan.k_per_part = steps_per_part * plan.step();
  plan.parts = steps == 0 ? 1 : (steps + steps_per_part - 1) / steps_per_part;
  return plan;
}

// Whether the largest grid has so many blocks, and a block can count its k in 32 bits.
inline bool thin_counts(const Sgemm& p, const ThinPlan& plan) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return plan.blocks(p.batch) <= most && plan.k_per_part <= most / 2;
}

// The wide operand's way through the memory, or where blocks are few the time of one after the
// other.
inline double predict_us(const ThinPlan& plan, const Sgemm& p, const Device& device) {
  constexpr double unstated_bytes_per_us = 1e5;
  const double stated = 2e-3 * device.memory_clock_khz * device.memory_bus_bits / 8;  // two a clock
  const double bytes_per_us =
      stated > 0 ? thin_tuning.share_of_bandwidth * stated : unstated_bytes_per_us;
  const double floats = static_cast<double>(p.batch) *
                        (static_cast<double>(plan.rows + plan.width) * static_cast<double>(p.k) +
                         static_cast<double>(plan.rows) * plan.width);
  const std::int64_t slots = thin_slots(plan, device);
  const std::int64_t waves = (plan.blocks(p.batch) + slots - 1) / slots;
  const std::int64_t steps = waves * (plan.k_per_part / plan.step());
  // The plan's own waves overlap; more of them are a batch's.
  const std::int64_t more_waves = std::max<std::int64_t>(0, waves - thin_tuning.waves);
  return thin_tuning.launch_us + (plan.parts > 1 ? thin_tuning.gather_us : 0) +
         std::max(floats * sizeof(float) / bytes_per_us,
                  static_cast<double>(steps) * thin_tuning.step_us +
                      static_cast<double>(more_waves) * thin_tuning.block_us);
}

}  // namespace kw
