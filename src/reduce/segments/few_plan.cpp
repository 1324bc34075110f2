// Which arrays of segments are small, and how many blocks they take: by their number and elements.
#include "reduce/segments/few_plan.hpp"

#include <algorithm>

#include "arithmetic.hpp"
#include "reduce/walk/order.hpp"

namespace kw {
namespace {

// Measured on an H200 (results/h200/explored-reduce-few.txt, of several waves
// explored-reduce-waves.txt).
struct FewTuning {
  std::int64_t most_segments = 4096;  // each block of longer ones looks at all
  // Where the mean segment is a longer one, two waves of blocks take less than the other ways: sum
  // of 293 of 1238 float32 3.2 us and 5.4. Where it is short most blocks find nothing: of 2800 of
  // 64 5.1 and 3.3.
  int waves_of_longer = 2;
  // Where it has some chunks of elements of four bytes and more, so many blocks an SM, but for
  // variances (explored-reduce-more-blocks.txt): min of 300 of 14000 int32 8.9 us and 11.2, sum of
  // 500 of 6000 float64 12.9 and 13.6; variance of 500 of 10000 float32 18.7 and 17.4.
  std::int64_t some_chunks_an_sm = 16, least_halves_of_chunk = 5, most_chunk_elements = 4096;
};
constexpr FewTuning few_tuning;
constexpr int lanes_of_warp = 32, warps_of_block = order_threads / lanes_of_warp;

bool has_some_chunks(const Reduce& p, const FewElement& element) {
  return p.op != ReduceOp::variance && element.chunk <= few_tuning.most_chunk_elements &&
         2 * p.cols >= few_tuning.least_halves_of_chunk * p.segments * element.chunk;
}

}  // namespace

FewPlan plan_few(const Reduce& p, const FewElement& element, const Device& device) {
  if (p.shape != ReduceShape::segments || p.segments < 2 || p.segments > few_tuning.most_segments)
    return {};
  FewPlan plan;
  // The lanes that the usual segment takes, by the mean length and somewhat more.
  while (plan.group < lanes_of_warp &&
         plan.group * element.of_lane * p.segments < p.cols + p.cols / 8)
    plan.group *= 2;
  // So few elements that no segment is longer than a warp takes: the shorter kernel is as quick.
  if (plan.group == 1 && p.cols <= element.most_of_warp) return {};
  plan.each = lanes_of_warp / plan.group;
  const std::int64_t batches = ceil_div(p.segments, std::int64_t{plan.each});
  const std::int64_t longer =
      std::min(p.segments, p.cols / (element.most_short + 1)) + p.cols / element.chunk;
  const std::int64_t blocks = ceil_div(batches, std::int64_t{warps_of_block}) + longer;
  std::int64_t most_an_sm = element.blocks_an_sm;
  if (p.cols > p.segments * element.most_short) most_an_sm *= few_tuning.waves_of_longer;
  if (p.cols >= p.segments * element.chunk)
    most_an_sm = std::max(most_an_sm, std::int64_t{element.chunks_an_sm});
  if (element.chunks_an_sm > 0 && has_some_chunks(p, element))
    most_an_sm = std::max(most_an_sm, few_tuning.some_chunks_an_sm);
  if (blocks > std::min(device.sm_count * most_an_sm, most_few_blocks)) return {};
  plan.short_blocks = static_cast<int>(blocks - longer);
  plan.blocks = static_cast<int>(blocks);
  return plan;
}

}  // namespace kw
