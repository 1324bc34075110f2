// Which segments and rows reduce_shares_kernel takes, by their number and mean length, and how
// large a block's share is.
#include "reduce/segments/share_plan.hpp"

#include <algorithm>

#include "arithmetic.hpp"
#include "reduce/rows/row_shares.hpp"

namespace kw {
namespace {

// Measured on an H200 (results/h200/explored-reduce-shares.txt).
struct ShareTuning {
  // Of smaller arrays the search for a block's first segment weighs: mean of 374 float64 drawn
  // log-uniformly, 29 MB, takes 15.5 us, by lists 15.0; sum of 1300 float32, 51 MB, 22.5 and 28.3.
  std::int64_t least_bytes_an_sm = 256 << 10;
  // Few segments are one launch in any case (counted_chunks.hpp); variances gain by shares: mean of
  // 167 of 110662 int32, 74 MB, takes 28.2 us, without them 26.1.
  std::int64_t few_segments = 1024, least_bytes_of_few_an_sm = 768 << 10;
  // Shorter ones that are alike do better with a stage a warp (staged_plan.hpp); of few long ones
  // blocks find the chunks themselves.
  std::int64_t least_mean_bytes = 12 << 10, most_mean_bytes = 2 << 20;
  std::int64_t segment_bytes = 9 << 10;  // what one costs beside its elements: a warp's latency
  std::size_t least_shared_bytes = 96 << 10;
  int least_capability = 90;  // with a copy engine
  int warp_size = 32;
};
constexpr ShareTuning share_tuning;

bool segments_have_shares(const Reduce& p, const ShareElement& element, const Device& device) {
  const ShareTuning& of = share_tuning;
  if (p.shape != ReduceShape::segments || p.segments == 0) return false;
  const std::int64_t bytes = p.elements() * element.bytes, mean_bytes = bytes / p.segments;
  const bool are_few = p.segments <= of.few_segments && p.op != ReduceOp::variance;
  const std::int64_t least_an_sm = are_few ? of.least_bytes_of_few_an_sm : of.least_bytes_an_sm;
  return bytes >= least_an_sm * device.sm_count && mean_bytes >= of.least_mean_bytes &&
         mean_bytes <= of.most_mean_bytes;
}

bool has_shares(const Reduce& p, const ShareElement& element, const Device& device) {
  const ShareTuning& of = share_tuning;
  const bool is_wanted = p.shape == ReduceShape::rows ? rows_have_shares(p, device)
                                                      : segments_have_shares(p, element, device);
  return is_wanted && device.compute_capability >= of.least_capability &&
         device.warp_size == of.warp_size &&
         device.shared_bytes_per_block_optin >= of.least_shared_bytes;
}

}  // namespace

SharePlan plan_shares(const Reduce& p, const ShareElement& element, const Device& device) {
  SharePlan plan;
  if (!has_shares(p, element, device)) return plan;
  const int room = static_cast<int>(device.shared_bytes_per_block_optin) - element.block_bytes;
  plan.warps = std::min(element.most_warps, room / (share_chunk_bytes + element.beside_bytes));
  constexpr int line = 128;
  plan.ring_bytes = (room / plan.warps - element.beside_bytes) / line * line;
  plan.blocks = device.sm_count;
  plan.cost = share_tuning.segment_bytes / element.bytes;
  const std::int64_t all = p.elements() + p.sequences() * plan.cost;
  plan.a_block = std::max(element.chunk, ceil_div(all + 1, std::int64_t{plan.blocks}));
  return plan;
}

}  // namespace kw
