// The batches and stages of reduce_tiles_kernel, by the mean length of the segments.
#include "reduce/segments/tile_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "arithmetic.hpp"

namespace kw {
namespace {

struct TileTuning {
  double least_mean_bytes = 48;  // of segments; rows of up to 64 bytes are a lane's, side by side
  double least_row_bytes = 65;
  double least_bytes_an_sm = 64 << 10;  // of the array
  // Of what is read where padding is read, too (results/h200/explored-reduce-norms.txt); where
  // sums take long.
  double least_use = 0.58, least_use_of_wide = 0.45;
  double batch_bytes = 8192;  // in the mean, at most
  double units_a_warp = 8;    // so many leave larger ones evenly shared
  // Rows of an array of so many bytes: each warp has two stages, if a batch is no smaller than this
  // then. Of larger arrays warps have a batch often enough with one (explored-reduce-ways.txt).
  // Where order cannot show and of sums of eight bytes; of others (explored-reduce-halves.txt).
  double two_stages_from_an_sm = 80 << 10, two_stages_to_an_sm = 768 << 10;
  double two_stages_to_of_others = 576 << 10;
  double least_batch_bytes = 2600;
  std::size_t least_two_stages_element = 4;
  // The cost of a batch: elements that a lane adds up meanwhile, by eight
  // (explored-reduce-halves.txt).
  double eighths_of_batch = 2;
  double deviations = 1.3;  // by which a batch may be longer than the mean
};
constexpr TileTuning tile_tuning;
constexpr int tile_lanes = 32, tile_line = 128, tile_ends = 144;

int tile_lines(double bytes) { return static_cast<int>(std::ceil(bytes / tile_line)) * tile_line; }

// A batch's bytes; of segments as long as most batches are, by the deviation of their lengths.
int stage_for(const Reduce& p, int each, double mean_bytes) {
  const double spread = p.shape == ReduceShape::rows
                            ? 1.0
                            : std::min(1 + tile_tuning.deviations / std::sqrt(each), 2.0);
  return tile_batch_bytes + tile_lines(each * mean_bytes * spread + tile_ends);
}

// Eights of elements that the lane with the most adds up of a row which so many have together: a
// lane that is not alone has a run of 2^k of them.
std::int64_t eighths_of_lane(const Reduce& p, int lanes) {
  const std::int64_t all = ceil_div(p.cols, std::int64_t{8});
  if (lanes == 1) return all;
  const std::int64_t share = ceil_div(ceil_div(p.cols, std::int64_t{lanes}), std::int64_t{8});
  return std::min(all, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(share))));
}

// The number of rows of a batch of which a warp has the last one done first: with five lanes for
// each of six rows of 280, all but two lanes have something to do, where four rows of eight lanes
// leave twelve without; 32 rows of 140 have a lane each, where two have runs of 128.
int quickest_each(const Reduce& p, const TileElement& element, double mean_bytes, int ring,
                  double all_warps, int each) {
  double least = std::numeric_limits<double>::infinity();
  const auto rows = static_cast<double>(p.rows);
  const int most = static_cast<int>(std::min(rows / all_warps, double{tile_lanes}));
  for (int tried = most; tried > 0; --tried) {
    const std::int64_t eighths = eighths_of_lane(p, tile_lanes / tried);
    if (stage_for(p, tried, mean_bytes) > ring || 8 * eighths > element.most_of_lane) continue;
    const double batches = std::ceil(rows / (tried * all_warps));
    const double time = batches * (static_cast<double>(eighths) + tile_tuning.eighths_of_batch);
    if (time < least) each = tried, least = time;
  }
  return each;
}

// Of rows, so many that a warp has two stages, and all warps as many batches; 0: these would be too
// small.
int each_of_two_stages(const Reduce& p, int each, double mean_bytes, double all_warps, int ring) {
  const double a_warp = static_cast<double>(p.rows) / all_warps;
  while (each > 0 && (each > std::ceil(a_warp) || 2 * stage_for(p, each, mean_bytes) > ring))
    each /= 2;
  if (each * mean_bytes < tile_tuning.least_batch_bytes) return 0;
  // Fewer, with as many lanes each, where that is as many batches; but whole lines stay whole.
  const bool has_whole_lines = static_cast<std::int64_t>(each * mean_bytes) % tile_line == 0;
  const auto even = static_cast<int>(std::ceil(a_warp / std::ceil(a_warp / each)));
  const bool is_even =
      !has_whole_lines && even > each / 2 && even * mean_bytes >= tile_tuning.least_batch_bytes;
  return is_even ? even : each;
}

}  // namespace

TilePlan plan_tiles(const Reduce& p, const TileElement& element, const Device& device) {
  TilePlan plan = {};
  const bool is_rows = p.shape == ReduceShape::rows;
  const auto count = static_cast<double>(std::max<std::int64_t>(p.sequences(), 1));
  const auto size = static_cast<double>(element.bytes);
  const double bytes = static_cast<double>(p.elements()) * size;
  const double mean_bytes = is_rows ? static_cast<double>(p.ld) * size : bytes / count;
  const double least_use = element.is_wide ? tile_tuning.least_use_of_wide : tile_tuning.least_use;
  const bool is_used =
      !is_rows || static_cast<double>(p.cols) >= least_use * static_cast<double>(p.ld);
  const double least_bytes = is_rows ? tile_tuning.least_row_bytes : tile_tuning.least_mean_bytes;
  if (!is_used || mean_bytes < least_bytes || mean_bytes > element.most_mean_bytes ||
      bytes < tile_tuning.least_bytes_an_sm * device.sm_count)
    return plan;
  const std::size_t room =
      std::min(device.shared_bytes_per_sm / static_cast<unsigned>(element.blocks_an_sm),
               device.shared_bytes_per_block_optin + 1024) -
      1024 - tile_barrier_bytes;
  const int ring = static_cast<int>(room / tile_warps) / tile_line * tile_line;
  int each = tile_lanes;
  while (each > 0 && (each * mean_bytes > std::max(tile_tuning.batch_bytes, mean_bytes) ||
                      stage_for(p, each, mean_bytes) > ring))
    each /= 2;
  const double all_warps = static_cast<double>(device.sm_count) * element.blocks_an_sm * tile_warps;
  const double an_sm = bytes / device.sm_count;
  const bool may_have_two = element.bytes >= tile_tuning.least_two_stages_element;
  const bool adds_quickly = element.any_order || (element.bytes == 8 && !element.is_wide);
  const double two_stages_to =
      adds_quickly ? tile_tuning.two_stages_to_an_sm : tile_tuning.two_stages_to_of_others;
  if (is_rows && !element.any_order && (an_sm > two_stages_to || !may_have_two))
    each = quickest_each(p, element, mean_bytes, ring, all_warps, each);
  double fewest = all_warps * each;
  if (is_rows && may_have_two && an_sm >= tile_tuning.two_stages_from_an_sm &&
      an_sm <= two_stages_to) {
    const int less = each_of_two_stages(p, each, mean_bytes, all_warps, ring);
    if (less > 0) each = less, fewest = 1;
  }
  // Where warps would be left without a batch, more of them do better without tiles.
  if (each == 0 || count < fewest) return plan;
  // Larger units, which may be taken in several batches, where few segments have most of the bytes.
  plan.each = each;
  while (plan.each < tile_lanes && !is_rows &&
         count >= 2 * plan.each * tile_tuning.units_a_warp * all_warps)
    plan.each *= 2;
  plan.share = lanes_of_each(tile_lanes / plan.each);
  plan.stages = std::clamp(ring / stage_for(p, each, mean_bytes), 1, most_tile_stages);
  plan.stage_bytes = ring / plan.stages / tile_line * tile_line;
  plan.elements = (plan.stage_bytes - tile_batch_bytes - tile_ends) / static_cast<int>(size);
  plan.most_of_lane = element.most_of_lane;
  plan.most_staged = std::min({plan.elements, element.lanes, tile_lanes * element.most_of_lane});
  return plan;
}

}  // namespace kw
