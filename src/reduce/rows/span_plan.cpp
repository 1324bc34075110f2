// The spans of reduce_row_spans_kernel, by the number and the length of the rows.
#include "reduce/rows/span_plan.hpp"

#include <cstdint>

#include "arithmetic.hpp"

namespace kw {

namespace {

// Measured on an H200 (results/h200/explored-reduce-spans.txt).
struct SpanTuning {
  std::int64_t least_bytes_an_sm = 48 << 10;
  // Of long rows up to so many a block: of more each is one chunk (sequences.hpp).
  std::int64_t long_row_bytes = (56 << 10) + 1, long_rows_a_block = 8;
  // Shorter ones, which else have a warp with a stage each, or of one or two bytes a block.
  std::int64_t row_bytes = 42 << 10, rows_a_block = 3;
  std::int64_t narrow_row_bytes = 30 << 10, narrow_rows_a_block = 4;
};
constexpr SpanTuning span_tuning;

bool have_spans(const Reduce& problem, std::int64_t bytes, std::int64_t blocks,
                std::int64_t sm_count) {
  const SpanTuning& of = span_tuning;
  const std::int64_t row_bytes = problem.cols * bytes;
  if (problem.rows <= 1 || problem.rows * row_bytes < of.least_bytes_an_sm * sm_count) return false;
  if (row_bytes >= of.long_row_bytes) return problem.rows < of.long_rows_a_block * blocks;
  if (bytes < 4)
    return row_bytes >= of.narrow_row_bytes && problem.rows <= of.narrow_rows_a_block * blocks;
  return row_bytes >= of.row_bytes && problem.rows <= of.rows_a_block * blocks;
}

}  // namespace

SpanPlan plan_spans(const Reduce& problem, const Device& device) {
  const auto bytes = static_cast<std::int64_t>(size_of(problem.type));
  const std::int64_t at_once = std::int64_t{device.sm_count} * span_blocks_an_sm;
  if (!have_spans(problem, bytes, at_once, device.sm_count)) return {};
  constexpr std::int64_t line = 128;
  const std::int64_t lines = ceil_div(problem.elements() * bytes, line);
  SpanPlan plan;
  plan.span = ceil_div(lines, at_once) * (line / bytes);
  plan.blocks = ceil_div(problem.elements(), plan.span);
  return plan;
}

}  // namespace kw
