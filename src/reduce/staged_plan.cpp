// The stages of reduce_staged_kernel, by the length of the rows.
#include "reduce/staged_plan.hpp"

#include <algorithm>
#include <cstdint>

#include "arithmetic.hpp"

namespace kw {

namespace {

// Measured on an H200 (results/h200/explored-reduce-stages.txt).
struct StagedTuning {
  std::int64_t least_bytes_an_sm = 16 << 10;
  int least_row_bytes = 2560;
  int most_segment_bytes = 12 << 10;
  int ring_bytes = 8448;  // of a warp, unless one stage takes more
  std::size_t least_shared_bytes = 96 << 10;
};
constexpr StagedTuning staged;

constexpr std::int64_t ends = 144;  // before a sequence and after it

// Whole lines, with room for what lies beyond both ends of a sequence in its packs.
int stage_for(std::int64_t row_bytes, int head_bytes) {
  constexpr std::int64_t line = 128;
  return static_cast<int>(ceil_div(row_bytes + head_bytes + ends, line) * line);
}

}  // namespace

StagedPlan plan_staged(const Reduce& problem, const StagedElement& element, const Device& device) {
  StagedPlan plan = {};
  const std::int64_t all_bytes = problem.elements() * element.bytes;
  const std::int64_t row_bytes =
      ceil_div(all_bytes, std::max<std::int64_t>(problem.sequences(), 1));
  const int least_bytes = std::min(staged.least_row_bytes, element.from_bytes);
  const int most_bytes =
      problem.shape == ReduceShape::segments ? staged.most_segment_bytes : element.most_row_bytes;
  const bool fits = row_bytes >= least_bytes && row_bytes <= most_bytes &&
                    device.shared_bytes_per_block_optin >= staged.least_shared_bytes &&
                    all_bytes >= staged.least_bytes_an_sm * device.sm_count;
  if (!fits) return plan;
  const int head_bytes = problem.shape == ReduceShape::segments ? staged_head_bytes : 0;
  plan.stage_bytes = stage_for(row_bytes, head_bytes);
  plan.most = (plan.stage_bytes - head_bytes - ends) / element.bytes;
  plan.stages = std::clamp(staged.ring_bytes / plan.stage_bytes, 1, most_staged);
  const auto room = static_cast<std::int64_t>(device.shared_bytes_per_block_optin);
  const std::int64_t of_warp = std::int64_t{plan.stages} * plan.stage_bytes + element.beside_bytes;
  const std::int64_t most = std::min<std::int64_t>(room / of_warp, element.most_warps);
  // As many as take all sequences in as few rounds: more would leave some without one in the last.
  const std::int64_t each = ceil_div(problem.sequences(), std::int64_t{device.sm_count});
  if (most > 0) plan.warps = static_cast<int>(ceil_div(each, ceil_div(each, most)));
  return plan;
}

}  // namespace kw
