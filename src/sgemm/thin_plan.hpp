// How `thin` computes a product: which operand is the wide one, how it lies in memory, which
// threads read which part of it. A function of the problem and the device, made on the host.
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

#include "arithmetic.hpp"
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

  // A thread has 4 x 4 elements of the wide operand at a time. A block therefore has 4 row_threads
  // rows, and a step has 4 k_threads along k.
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
  const int along_k =
      detail::thin_threads(p.k, thin_tuning.min_k_threads, thin_tuning.max_k_threads);
  const int most = threads / (plan.along_k ? along_k : thin_tuning.min_k_threads);
  plan.row_threads = detail::thin_threads(plan.rows, 1, most);
  plan.k_threads = threads / plan.row_threads;
  plan.row_blocks = ceil_div(plan.rows, plan.block_rows());

  const std::int64_t steps = ceil_div(p.k, plan.step());
  const std::int64_t unsplit = std::max<std::int64_t>(1, p.batch * plan.row_blocks);
  const std::int64_t wanted = thin_tuning.waves * thin_slots(plan, device);
  const std::int64_t max_parts = std::max<std::int64_t>(1, steps / thin_tuning.min_steps);
  std::int64_t parts = std::clamp<std::int64_t>(ceil_div(wanted, unsplit), 1, max_parts);
  if (unsplit > static_cast<std::int64_t>(ticket_count)) parts = 1;
  const std::int64_t steps_per_part = ceil_div(steps, parts);
  plan.k_per_part = steps_per_part * plan.step();
  plan.parts = steps == 0 ? 1 : ceil_div(steps, steps_per_part);
  return plan;
}

// Whether the largest grid has so many blocks, and a block can count its k in 32 bits.
inline bool thin_counts(const Sgemm& p, const ThinPlan& plan) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return plan.blocks(p.batch) <= most && plan.k_per_part <= most / 2;
}

// The longer of the time in which memory delivers the operands, and of the time that the blocks
// take one after the other.
inline double predict_us(const ThinPlan& plan, const Sgemm& p, const Device& device) {
  const double stated =
      2e-3 * device.memory_clock_khz * device.memory_bus_bits / 8;  // two per clock
  const double bytes_per_us =
      stated > 0 ? thin_tuning.share_of_bandwidth * stated : thin_tuning.unstated_bytes_per_us;
  const double floats = static_cast<double>(p.batch) *
                        (static_cast<double>(plan.rows + plan.width) * static_cast<double>(p.k) +
                         static_cast<double>(plan.rows) * plan.width);
  const std::int64_t slots = thin_slots(plan, device);
  const std::int64_t waves = ceil_div(plan.blocks(p.batch), slots);
  const std::int64_t steps = waves * (plan.k_per_part / plan.step());
  // The waves into which one product is cut overlap; a batch adds more.
  const std::int64_t more_waves = std::max<std::int64_t>(0, waves - thin_tuning.waves);
  return thin_tuning.launch_us + (plan.parts > 1 ? thin_tuning.gather_us : 0) +
         std::max(floats * sizeof(float) / bytes_per_us,
                  static_cast<double>(steps) * thin_tuning.step_us +
                      static_cast<double>(more_waves) * thin_tuning.block_us);
}

}  // namespace kw
