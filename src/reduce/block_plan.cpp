// Which segments reduce_segment_blocks_kernel takes, by their number and mean length: the host sees
// no more of them.
#include "reduce/block_plan.hpp"

#include <algorithm>

#include "arithmetic.hpp"

namespace kw {
namespace {

struct BlockTuning {
  std::int64_t least_mean_bytes = 12 << 10;  // of many segments
  std::int64_t most_mean_chunks = 48;
  // Of no more segments than blocks at once: of short ones, which may be one long one among them.
  std::int64_t few_mean_bytes = 16 << 10;
  std::int64_t few_chunks = 5;        // of the array
  std::int64_t window_bytes = 64 << 10;  // in the mean
  std::int64_t least_most_chunks = 16;
  std::int64_t shares_of_most = 4;  // a segment has at most this part of what an SM has
};
constexpr BlockTuning tuning;

}  // namespace

BlockPlan plan_blocks(const Reduce& p, const BlockElement& element, const Device& device) {
  if (p.shape != ReduceShape::segments || p.segments == 0) return {};
  const std::int64_t at_once = std::int64_t{device.sm_count} * element.blocks_an_sm;
  const std::int64_t mean_bytes = p.cols * element.bytes / p.segments;
  const std::int64_t chunks = ceil_div(p.cols, element.chunk);
  const std::int64_t mean_chunks = ceil_div(chunks, p.segments);
  const bool is_few = p.segments <= at_once && (chunks <= tuning.few_chunks ||
                                                mean_bytes <= tuning.few_mean_bytes);
  const bool is_long = p.segments >= device.sm_count && mean_bytes >= tuning.least_mean_bytes &&
                       mean_chunks <= tuning.most_mean_chunks;
  if (!is_few && !is_long) return {};
  const std::int64_t share = chunks / (device.sm_count * tuning.shares_of_most);
  const std::int64_t most = std::clamp<std::int64_t>(std::max(share, mean_chunks + 1),
                                                     tuning.least_most_chunks, most_block_chunks);
  const std::int64_t by_bytes = tuning.window_bytes / std::max<std::int64_t>(mean_bytes, 1);
  const std::int64_t each =
      std::clamp<std::int64_t>(std::min(by_bytes, p.segments / at_once), 1, 32);
  return {static_cast<int>(each), most * element.chunk};
}

}  // namespace kw
