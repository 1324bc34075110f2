// The stages of reduce_staged_kernel, by the length of the sequences.
#include "reduce/staged_plan.hpp"

#include <algorithm>

#include "arithmetic.hpp"

namespace kw {

namespace {

// Measured on an H200 (docs/reduce.md).
struct StagedTuning {
  std::int64_t least_bytes_an_sm = 16 << 10;
  double least_use_of_rows = 0.7;  // of what is read where padding is read, too
  int least_row_bytes = 2560, most_row_bytes = 12 << 10;
  int tile_bytes = 4096;  // of rows next to each other in a stage
  int ring_bytes = 8448;  // of a warp, unless one stage takes more
  int most_stages = 8;
  int most_warps = staged_threads / 32;
};
constexpr StagedTuning staged;

constexpr int alignment = 128;
constexpr int ends = 32;  // bytes of a run's packs beyond its elements
constexpr std::int64_t chunk_bytes = smallest_chunk_rounds * order_threads * 16;

int stage_for(std::int64_t run_bytes) {
  return static_cast<int>(ceil_div(run_bytes + ends, std::int64_t{alignment}) * alignment);
}

// Stages of the plan's size, and the warps that have room for theirs.
void fill_sm(StagedPlan& plan, const StagedElement& element, const Device& device) {
  plan.stages = std::clamp(staged.ring_bytes / plan.stage_bytes, 1, staged.most_stages);
  const std::int64_t of_warp =
      ceil_div(
          std::int64_t{plan.stages} * (plan.stage_bytes + element.run_bytes) + element.places_bytes,
          std::int64_t{alignment}) *
      alignment;
  const auto room = static_cast<std::int64_t>(device.shared_bytes_per_block_optin);
  plan.warps = static_cast<int>(std::min<std::int64_t>(room / of_warp, staged.most_warps));
}

bool is_of_use(std::int64_t bytes, const Device& device) {
  constexpr std::size_t least_shared = 96 << 10;
  return device.shared_bytes_per_block_optin >= least_shared &&
         bytes >= staged.least_bytes_an_sm * device.sm_count;
}

}  // namespace

StagedPlan plan_staged_rows(const Reduce& problem, const StagedElement& element,
                            const Device& device) {
  StagedPlan plan = {};
  const std::int64_t row_bytes = problem.cols * element.bytes;
  const std::int64_t pitch = problem.ld * element.bytes;
  if (!is_of_use(problem.rows * row_bytes, device)) return plan;
  if (row_bytes < staged.least_row_bytes || row_bytes > staged.most_row_bytes) return plan;
  plan.work = StagedWork::row_tiles;
  const bool dense =
      static_cast<double>(row_bytes) >= staged.least_use_of_rows * static_cast<double>(pitch);
  const std::int64_t warps = std::int64_t{device.sm_count} * staged.most_warps;
  const std::int64_t rows = dense ? std::min(staged.tile_bytes / pitch, problem.rows / warps) : 1;
  plan.rows_a_tile = static_cast<int>(std::max<std::int64_t>(rows, 1));
  plan.items = ceil_div(problem.rows, std::int64_t{plan.rows_a_tile});
  plan.stage_bytes = stage_for((plan.rows_a_tile - 1) * pitch + row_bytes);
  fill_sm(plan, element, device);
  return plan;
}

StagedPlan plan_listed_chunks(const Reduce& problem, const StagedElement& element,
                              const Device& device) {
  StagedPlan plan = {};
  const std::int64_t bytes = problem.cols * element.bytes;
  if (problem.segments == 0 || !is_of_use(bytes, device)) return plan;
  const std::int64_t mean_bytes = bytes / problem.segments;
  if (mean_bytes < staged.least_row_bytes || mean_bytes > staged.most_row_bytes) return plan;
  plan.work = StagedWork::listed_chunks;
  plan.stage_bytes = stage_for(chunk_bytes);
  fill_sm(plan, element, device);
  return plan;
}

}  // namespace kw
