// The stages of reduce_staged_kernel, by the length of the rows.
#include "reduce/rows/staged_plan.hpp"

#include <algorithm>
#include <cstdint>

#include "arithmetic.hpp"
#include "reduce/segments/tile_plan.hpp"

namespace kw {

namespace {

// Measured on an H200 (results/h200/explored-reduce-stages.txt).
struct StagedTuning {
  std::int64_t least_bytes_an_sm = 16 << 10;
  int least_row_bytes = 2560;
  int most_segment_bytes = 12 << 10;
  int ring_bytes = 8448;  // of a warp, unless one stage takes more
  std::size_t least_shared_bytes = 96 << 10;
  int most_warp_size = 32;  // two warps of a wavefront would have different numbers of sequences
};
constexpr StagedTuning staged;

// Rows that do better with stages than in tiles, though shorter than from_bytes: bytes of a row and
// of an SM's share of the array (results/h200/explored-reduce-ways.txt).
struct RowTuning {
  std::int64_t least_element = 4;  // of rows that are not long
  std::int64_t least_an_sm = 32 << 10;
  std::int64_t least_of_some_an_sm = 16 << 10;  // but for sums of four bytes and more
  // Where order cannot show: of long rows one stage is enough for as many warps as there can be;
  // of shorter ones a small array has no time for a tile's batches.
  std::int64_t long_from = 2000, long_to_an_sm = 5 << 19, always_from = 2700;
  std::int64_t middle_from = 900, middle_to_an_sm = 600 << 10;
  std::int64_t short_from = 560, small_to_an_sm = 80 << 10;
  std::int64_t two_stages_below = 1250, two_stages_from_an_sm = 96 << 10;
  // Sums of floating types (results/h200/explored-reduce-lanes.txt).
  std::int64_t sums_from = 2200, sums_of_8_from = 2400, sums_to_an_sm = 680 << 10;
  std::int64_t one_stage_from = 3000;
  std::int64_t small_sums_from = 880, small_sums_to_an_sm = 112 << 10;
  std::int64_t narrow_from = 1250, narrow_one_from = 4100;
  // (explored-reduce-shadow.txt.)
  std::int64_t narrow_small_from = 700, narrow_small_to_an_sm = 140 << 10;
  std::int64_t narrow_meets_from = 920;
  std::int64_t narrow_smallest_from = 620, narrow_smallest_to_an_sm = 64 << 10;
  std::int64_t narrow_middle_from = 2400, narrow_middle_to_an_sm = 350 << 10;
  // (explored-reduce-norms.txt.) Sums of floating types of large arrays with one stage; variances
  // of 32 bits with two, which have more than half of the order's lanes; rows with gaps.
  std::int64_t large_one_from = 3500;
  std::int64_t variances_past = 2048, variances_to = 3072, variances_from_an_sm = 400 << 10;
  std::int64_t gaps_from = 1400;
  double least_use = 0.75;
};
constexpr RowTuning row_tuning;

constexpr std::int64_t ends = 144;  // before a sequence and after it

// Whole lines, with room for what lies beyond both ends of a sequence in its packs.
int stage_for(std::int64_t row_bytes, int head_bytes) {
  constexpr std::int64_t line = 128;
  return static_cast<int>(ceil_div(row_bytes + head_bytes + ends, line) * line);
}

bool is_row_of_a_warp(const Reduce& problem, std::int64_t row_bytes, const StagedElement& element,
                      std::int64_t rows_an_sm) {
  if (problem.op == ReduceOp::variance && rows_an_sm >= some_variances_an_sm)
    return row_bytes <= staged_to_of_variances;
  const bool are_many = rows_an_sm >= many_of_two_an_sm && element.partial_bytes <= 8;
  const int most_of_two = are_many ? staged_to_of_many_of_two : staged_to_of_two_chunks;
  return row_bytes <= element.most_row_bytes ||
         (row_bytes > staged_chunk_bytes && row_bytes <= most_of_two);
}

}  // namespace

StagedPlan plan_staged(const Reduce& problem, const StagedElement& element, const Device& device,
                       int stages) {
  StagedPlan plan = {};
  const std::int64_t all_bytes = problem.elements() * element.bytes;
  const std::int64_t row_bytes =
      ceil_div(all_bytes, std::max<std::int64_t>(problem.sequences(), 1));
  const int least_bytes = std::min(staged.least_row_bytes, element.from_bytes);
  const bool is_too_long =
      problem.shape == ReduceShape::segments
          ? row_bytes > staged.most_segment_bytes
          : !is_row_of_a_warp(problem, row_bytes, element, problem.rows / device.sm_count);
  const bool fits = (stages > 0 || row_bytes >= least_bytes) && !is_too_long &&
                    device.shared_bytes_per_block_optin >= staged.least_shared_bytes &&
                    device.warp_size <= staged.most_warp_size &&
                    all_bytes >= staged.least_bytes_an_sm * device.sm_count;
  if (!fits) return plan;
  const int head_bytes = problem.shape == ReduceShape::segments ? staged_head_bytes : 0;
  plan.stage_bytes = stage_for(row_bytes, head_bytes);
  plan.most = (plan.stage_bytes - head_bytes - ends) / element.bytes;
  plan.stages =
      stages > 0 ? stages : std::clamp(staged.ring_bytes / plan.stage_bytes, 1, most_staged);
  const auto room = static_cast<std::int64_t>(device.shared_bytes_per_block_optin);
  const std::int64_t of_warp = std::int64_t{plan.stages} * plan.stage_bytes + element.beside_bytes;
  const std::int64_t most = std::min<std::int64_t>(room / of_warp, element.most_warps);
  // As many as take all sequences in as few rounds: more would leave some without one in the last.
  const std::int64_t each = ceil_div(problem.sequences(), std::int64_t{device.sm_count});
  if (most > 0) plan.warps = static_cast<int>(ceil_div(each, ceil_div(each, most)));
  return plan;
}

namespace {

int stages_by_length(const Reduce& problem, const StagedElement& element, const Device& device) {
  const RowTuning& of = row_tuning;
  const std::int64_t row_bytes = problem.cols * element.bytes;
  const std::int64_t an_sm = problem.rows * row_bytes / device.sm_count;
  const bool is_small = an_sm <= of.small_to_an_sm, is_narrow = element.bytes < of.least_element;
  if (an_sm < (element.any_order == is_narrow ? of.least_an_sm : of.least_of_some_an_sm)) return 0;
  if (!element.any_order && is_narrow) {
    const bool has_one = row_bytes >= of.narrow_one_from ||
                         (row_bytes >= of.narrow_middle_from && an_sm <= of.narrow_middle_to_an_sm);
    const bool meets = past_lines(problem.ld * element.bytes) < least_past_lines;
    const bool is_one_of_few =
        (row_bytes >= of.narrow_small_from && an_sm <= of.narrow_small_to_an_sm) ||
        (row_bytes >= of.narrow_smallest_from && an_sm <= of.narrow_smallest_to_an_sm);
    const bool fits = row_bytes >= of.narrow_from || is_one_of_few ||
                      (row_bytes >= of.narrow_meets_from && meets);
    return has_one ? 1 : fits ? 2 : 0;
  }
  if (!element.any_order) {
    const bool is_wide = element.partial_bytes > 8;
    if (is_wide && element.bytes == 4 && an_sm >= of.variances_from_an_sm &&
        row_bytes > of.variances_past && row_bytes <= of.variances_to)
      return 2;
    const std::int64_t from = element.bytes == 8 ? of.sums_of_8_from : of.sums_from;
    if (row_bytes >= from && an_sm <= of.sums_to_an_sm)
      return is_wide || row_bytes >= of.one_stage_from ? 1 : 2;
    if (row_bytes >= of.small_sums_from && an_sm <= of.small_sums_to_an_sm) return 2;
    if (is_wide || row_bytes < element.from_bytes) return 0;
    return row_bytes >= of.large_one_from ? 1 : 2;
  }
  if (row_bytes >= of.always_from || (row_bytes >= of.long_from && an_sm <= of.long_to_an_sm))
    return 1;
  if (is_narrow) return 0;
  // Places of short rows and sums of 128 bits take a warp longer than a tile's lanes.
  const bool is_heavy =
      (element.has_places && row_bytes < of.two_stages_below) || problem.op == ReduceOp::l2_norm;
  const bool fits = (row_bytes >= of.middle_from && an_sm <= of.middle_to_an_sm && !is_heavy) ||
                    (row_bytes >= of.short_from && is_small);
  if (!fits) return 0;
  return row_bytes < of.two_stages_below && an_sm > of.two_stages_from_an_sm ? 2 : 1;
}

// Whether a tile would read more between rows than their copies one by one take.
bool have_wide_gaps(const Reduce& problem, const StagedElement& element) {
  const RowTuning& of = row_tuning;
  return element.bytes >= of.least_element && problem.cols * element.bytes >= of.gaps_from &&
         static_cast<double>(problem.cols) < of.least_use * static_cast<double>(problem.ld);
}

}  // namespace

int stages_of_rows(const Reduce& problem, const StagedElement& element, const Device& device) {
  const int stages = stages_by_length(problem, element, device);
  return stages == 0 && have_wide_gaps(problem, element) ? 2 : stages;
}

}  // namespace kw
