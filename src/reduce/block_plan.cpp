// Which segments reduce_segment_blocks_kernel takes, by their number and mean length: the host sees
// no more of them.
#include "reduce/block_plan.hpp"

#include <algorithm>
#include <bit>

#include "arithmetic.hpp"

namespace kw {
namespace {

// Measured on an H200 (results/h200/explored-reduce-blocks.txt).
struct BlockTuning {
  std::int64_t least_mean_bytes = 12 << 10;
  std::int64_t most_mean_chunks = 48;
  // Of smaller arrays the launches that end at once weigh, and blocks have too few to be done
  // together, unless there are some for each.
  std::int64_t least_bytes_an_sm = 1 << 20;
  std::int64_t least_bytes_of_many_an_sm = 256 << 10, least_many_a_block = 3;
  // Of so large arrays a block that has the longest segment is not late.
  std::int64_t any_bytes_an_sm = 8 << 20;
  std::int64_t window_bytes = 48 << 10;  // in the mean
  std::int64_t even_lengths = 2;         // the longest by the mean where segments are alike
  // Whole segments, where one of the mean length leaves so many parts of its chunks empty, or a
  // block has so many: else what a block finds ahead makes others wait for it at the end.
  double least_waste = 1.6;
  std::int64_t least_a_block = 48, most_whole_chunks = 4;
};
constexpr BlockTuning block_tuning;

constexpr std::int64_t most_window = 32;

bool takes_whole_segments(const Reduce& p, const BlockElement& element, std::int64_t at_once) {
  const double mean = static_cast<double>(p.cols) / static_cast<double>(p.segments);
  const std::int64_t chunks = ceil_div(ceil_div(p.cols, p.segments), element.chunk);
  const double waste = static_cast<double>(chunks * element.chunk) / mean;
  return element.takes_whole && chunks <= block_tuning.most_whole_chunks &&
         (waste >= block_tuning.least_waste || p.segments >= block_tuning.least_a_block * at_once);
}

}  // namespace

BlockPlan plan_blocks(const Reduce& p, const BlockElement& element, const Device& device) {
  if (p.shape != ReduceShape::segments || p.segments == 0) return {};
  const std::int64_t at_once = std::int64_t{device.sm_count} * element.blocks_an_sm;
  const std::int64_t bytes = p.cols * element.bytes, mean_bytes = bytes / p.segments;
  const std::int64_t mean_chunks = ceil_div(ceil_div(p.cols, element.chunk), p.segments);
  const std::int64_t least_an_sm = p.segments >= block_tuning.least_many_a_block * at_once
                                       ? block_tuning.least_bytes_of_many_an_sm
                                       : block_tuning.least_bytes_an_sm;
  const bool is_long = p.segments >= device.sm_count && bytes >= least_an_sm * device.sm_count &&
                       mean_bytes >= block_tuning.least_mean_bytes &&
                       mean_chunks <= block_tuning.most_mean_chunks;
  if (!is_long) return {};
  BlockPlan plan;
  plan.most = most_block_chunks * element.chunk;
  const bool takes_whole = takes_whole_segments(p, element, at_once);
  plan.chunk_shift =
      std::countr_zero(static_cast<std::uint64_t>(takes_whole ? plan.most : element.chunk));
  const bool is_large = bytes >= block_tuning.any_bytes_an_sm * device.sm_count;
  // Variances, of which an SM has few warps, do as well without.
  const bool takes_any = is_large && p.op != ReduceOp::variance;
  if (!takes_any) {
    plan.most_of_even =
        std::min(block_tuning.even_lengths * ceil_div(p.cols, p.segments), plan.most);
  }
  const std::int64_t of_window =
      ceil_div(block_tuning.window_bytes, std::max<std::int64_t>(mean_bytes, 1));
  plan.each = static_cast<int>(
      std::clamp<std::int64_t>(std::min(of_window, p.segments / at_once), 1, most_window));
  return plan;
}

}  // namespace kw
