// Into which work items the split pass is cut, and where fp16x3's rows are sampled: what its
// slowest block takes decides, counted in stages of an A that lies along k. Constants are in
// tuning.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "arithmetic.hpp"
#include "gpu/device.hpp"
#include "sgemm/hopper/packed_layout.hpp"
#include "sgemm/hopper/split_items.hpp"
#include "sgemm/hopper/split_pass_tuning.hpp"
#include "sgemm/hopper/tuning.hpp"
#include "sgemm/problem.hpp"

namespace kw::hopper {

// Into how many segments the split pass cuts the stages of a row block. The work items of both
// operands go to the blocks that the SMs hold, in rounds; the best number makes rounds times the
// stages of an item the least. More segments fill the last round better and cost more starts.
inline unsigned split_segments(SplitPass pass, Direct direct, const Sgemm& p,
                               const Device& device) {
  const std::int64_t row_blocks = (direct == Direct::a ? 0 : PackedLayout(p.m, p.k).blocks) +
                                  (direct == Direct::b ? 0 : PackedLayout(p.n, p.k).blocks);
  const std::int64_t stages = PackedLayout(p.m, p.k).stages;
  std::int64_t best = 1;
  double least = std::numeric_limits<double>::max();
  for (std::int64_t segments = 1; segments <= max_segments; ++segments) {
    if (segments > 1 && stages < segments * stages_at_once) break;
    const std::int64_t items = p.batch * row_blocks * segments;
    const std::int64_t rounds = ceil_div(items, split_blocks_at_once(pass, device));
    const std::int64_t longest = ceil_div(stages, segments * stages_at_once) * stages_at_once;
    const double time = static_cast<double>(rounds) * (rounds == 1 ? slower_operand : 1) *
                        (static_cast<double>(longest) + segment_start_stages);
    if (time < least) best = segments, least = time;
  }
  return static_cast<unsigned>(best);
}

// What the launches of a split pass are told.
struct SplitCut {
  // Segments of the stages of a row block of A, and of B; none of an operand that is not split.
  std::uint16_t a = 1, b = 1;
  bool samples_apart = false;  // fp16x3's scales take a launch of their own
};

// For fp16x3. Where each block samples for itself, every item costs a sample, so that few long ones
// are best: one round of them, in which A has fewer segments than B if it is quicker. Else as many
// segments of both as fill rounds best.
inline SplitCut cut_sampled_pass(const Sgemm& p, const Device& device) {
  const std::int64_t rows_a = p.batch * PackedLayout(p.m, p.k).blocks,
                     rows_b = p.batch * PackedLayout(p.n, p.k).blocks,
                     stages = PackedLayout(p.m, p.k).stages,
                     blocks = split_blocks_at_once(SplitPass::sampled_fp16, device);
  const double of_a = p.op_a == Op::none ? 1 : slow_stage, of_b = slow_stage;
  const auto as_short = [](std::int64_t x) { return static_cast<std::uint16_t>(x); };

  const std::int64_t equal = split_segments(SplitPass::sampled_fp16, Direct::none, p, device);
  const auto rounds = static_cast<double>(ceil_div((rows_a + rows_b) * equal, blocks));
  const auto longest =
      static_cast<double>(ceil_div(stages, equal * stages_at_once) * stages_at_once);
  const auto take = [&](double start) {
    return rounds * (longest + start) * (rounds > 1 ? (of_a + of_b) / 2 : of_b);
  };
  SplitCut best = {as_short(equal), as_short(equal)};
  const double inside = take(sample_stages),
               apart = take(segment_start_stages) + sample_launch_stages;
  best.samples_apart = apart < launch_share * inside && !p.diagonal_apart;

  double least = one_round_share * (best.samples_apart ? apart : inside);
  const std::int64_t most = std::min(max_segments, stages);
  for (std::int64_t a = 1; a <= most && rows_a * a + rows_b <= blocks; ++a) {
    const std::int64_t b = std::min((blocks - rows_a * a) / rows_b, most);
    const auto item = [&](std::int64_t segments) {
      return static_cast<double>(ceil_div(stages, segments)) + sample_stages;
    };
    const double time = std::max(item(a) * of_a, item(b) * of_b);
    if (time <= least) best = {as_short(a), as_short(b)}, least = time;
  }
  if (best.samples_apart)
    best.a = best.b = as_short(split_segments(SplitPass::fp16, Direct::none, p, device));
  return best;
}

constexpr SplitPass split_pass_of(bool fp16, const SplitCut& cut) {
  if (!fp16) return SplitPass::bf16;
  return cut.samples_apart ? SplitPass::fp16 : SplitPass::sampled_fp16;
}

inline SplitCut split_cut(const TileRow& row, const Sgemm& p, const Device& device) {
  if (row.fp16) return cut_sampled_pass(p, device);
  const Direct direct = row.tile.direct;
  const auto segments =
      static_cast<std::uint16_t>(split_segments(SplitPass::bf16, direct, p, device));
  constexpr std::uint16_t none = 0;
  return {direct == Direct::a ? none : segments, direct == Direct::b ? none : segments};
}

}  // namespace kw::hopper
