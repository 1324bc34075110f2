// From how many bytes an SM on rows are shared, by operation and element type.
#include "reduce/rows/row_shares.hpp"

#include <cstdint>
#include <limits>

#include "reduce/rows/staged_plan.hpp"
#include "reduce/walk/order.hpp"

namespace kw {

namespace {

// Measured on an H200 (results/h200/explored-reduce-spans.txt; variances of up to 768 KB:
// explored-reduce-halves.txt).
struct RowShareTuning {
  std::int64_t least_row_bytes = staged_to_of_variances + 1;
  std::int64_t least_narrow_row_bytes = (22 << 10) + 1;           // of 16 bits, but of variances
  std::int64_t most_row_bytes = max_chunks * staged_chunk_bytes;  // longer ones have larger chunks
  // Of an SM, of variances: those of long rows gain later, few of them and of float64 nothing.
  std::int64_t variances = 96 << 10, to_row_bytes = 768 << 10, long_variances = 768 << 10;
  std::int64_t least_long_rows = 64;
  // Squares of 16 bits are added in double, two conversions each: a block has no registers left for
  // them. Sums gain little, and norms of float64.
  std::int64_t narrow_squares = 384 << 10, narrow_sums = 3 << 19, wide_norms = 2 << 20;
};
constexpr RowShareTuning row_share_tuning;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

bool has_16_bits(DataType type) { return type == DataType::float16 || type == DataType::bfloat16; }

// So many bytes an SM.
std::int64_t shared_from(const Reduce& problem, std::int64_t row_bytes) {
  const RowShareTuning& of = row_share_tuning;
  const bool is_narrow = has_16_bits(problem.type);
  switch (problem.op) {
    case ReduceOp::variance:
      if (row_bytes <= of.to_row_bytes) return of.variances;
      return problem.rows < of.least_long_rows || problem.type == DataType::float64
                 ? never
                 : of.long_variances;
    case ReduceOp::sum_of_squares: return is_narrow ? of.narrow_squares : never;
    case ReduceOp::l2_norm:
      if (problem.type == DataType::float64) return of.wide_norms;
      return is_narrow ? of.narrow_squares : never;
    case ReduceOp::sum:
    case ReduceOp::mean:
    case ReduceOp::l1_norm: return is_narrow ? of.narrow_sums : never;
    default: return never;
  }
}

}  // namespace

bool rows_have_shares(const Reduce& problem, const Device& device) {
  const RowShareTuning& of = row_share_tuning;
  const auto bytes = static_cast<std::int64_t>(size_of(problem.type));
  const std::int64_t row_bytes = problem.cols * bytes;
  const bool is_narrow = has_16_bits(problem.type) && problem.op != ReduceOp::variance;
  const std::int64_t least = is_narrow ? of.least_narrow_row_bytes : of.least_row_bytes;
  return row_bytes >= least && row_bytes <= of.most_row_bytes &&
         problem.rows * row_bytes / device.sm_count >= shared_from(problem, row_bytes);
}

}  // namespace kw
