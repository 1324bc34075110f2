// The tiles and stages of reduce_tiles_kernel, by the mean length of the sequences.
#include "reduce/tile_plan.hpp"

#include <algorithm>
#include <cstdint>

#include "arithmetic.hpp"
#include "reduce/tile_layout.hpp"

namespace kw {

namespace {

// Measured on an H200 (results/h200/explored-reduce-tiles.txt).
struct TileTuning {
  std::int64_t tile_bytes = 3072;           // unless one sequence has more
  std::int64_t least_bytes_an_sm = 16 << 10;  // of an array whose longer sequences are a warp's, too
  std::int64_t most_bytes = 12 << 10;         // of those
  std::int64_t most_to_find_place = 6 << 10;  // likewise, of argmin and argmax, elements under 8 bytes
  double slack_of_segments = 1.3;   // a stage's room, by the mean length
  std::int64_t least_tiles_an_sm = 16;
  double least_use_of_rows = 0.7;  // of what is read where padding is read, too
  std::size_t least_shared_bytes = 96 << 10;  // of a device whose warps take longer sequences
};
constexpr TileTuning tile_tuning;

constexpr int entries_bytes = tile_sequences * 8;  // of a stage
constexpr std::int64_t ends = 32;  // room for what lies beyond both ends of a run in its packs
constexpr int places_of_strips = 288;  // strip_places of strips.hpp
constexpr std::int64_t unit_bytes = unit_packs * 16;

int to_lines(std::int64_t bytes) { return static_cast<int>(ceil_div(bytes, 128) * 128); }

// The most bytes of a sequence that is a warp's.
std::int64_t longest_bytes(const Reduce& p, const TileElement& element, const Device& device) {
  const std::int64_t bytes = p.elements() * element.bytes;
  const bool is_large = bytes >= tile_tuning.least_bytes_an_sm * device.sm_count &&
                        device.shared_bytes_per_block_optin >= tile_tuning.least_shared_bytes;
  if (!is_large || element.bytes == 1) return unit_bytes;
  return element.finds_place && element.bytes < 8 ? tile_tuning.most_to_find_place : tile_tuning.most_bytes;
}

// As many sequences of `mean` bytes as a tile has, of `count` in all.
int sequences_each(std::int64_t mean, std::int64_t count, const Device& device) {
  std::int64_t each = std::clamp<std::int64_t>(tile_tuning.tile_bytes / std::max<std::int64_t>(mean, 1),
                                               1, tile_sequences);
  const std::int64_t tiles = tile_tuning.least_tiles_an_sm * device.sm_count;
  while (each > 1 && ceil_div(count, each) < tiles) each = ceil_div(each, 2);
  return static_cast<int>(each);
}

void cut_rows(const Reduce& p, std::int64_t size, const Device& device, TilePlan& plan) {
  const std::int64_t row = p.cols * size, apart = p.rows > 1 ? p.ld * size : row;
  const bool read_padding =
      static_cast<double>(row) >= tile_tuning.least_use_of_rows * static_cast<double>(apart);
  const auto pitch = ceil_div(row, 16) * 16 + 16;
  plan.each = sequences_each(read_padding ? apart : pitch, p.rows, device);
  if (!read_padding && plan.each > 1) plan.pitch = static_cast<int>(pitch);
  plan.stage_bytes =
      to_lines(plan.each == 1 ? row + ends : plan.each * (read_padding ? apart : pitch) + ends);
  plan.longest = p.cols;
}

void cut_segments(const Reduce& p, std::int64_t size, std::int64_t longest, const Device& device,
                  TilePlan& plan) {
  const std::int64_t mean = ceil_div(p.cols * size, std::max<std::int64_t>(p.segments, 1));
  plan.each = sequences_each(mean, p.segments, device);
  const auto roomy = static_cast<std::int64_t>(tile_tuning.slack_of_segments *
                                               static_cast<double>(mean * plan.each));
  if (plan.each == 1) {
    const std::int64_t least = std::min(longest, unit_bytes);
    longest = mean > longest ? least : std::clamp(roomy, least, longest);
    plan.stage_bytes = to_lines(longest + ends);
  } else {
    plan.stage_bytes = to_lines(roomy + 2 * ends);
    longest = std::min(unit_bytes, plan.stage_bytes - ends);
  }
  plan.longest = longest / size;
}

}  // namespace

int tile_memory_bytes(const TilePlan& plan, const TileElement& element) {
  const int places = plan.longest * element.bytes > unit_bytes ? places_of_strips : most_units;
  return to_lines(tile_sequences * 16 + most_units + places * element.place_bytes);
}

int warp_memory_bytes(const TilePlan& plan, const TileElement& element) {
  return plan.stages * (plan.stage_bytes + entries_bytes) + tile_memory_bytes(plan, element);
}

TilePlan plan_tiles(const Reduce& p, const TileElement& element, const Device& device) {
  TilePlan plan = {};
  const std::int64_t longest = longest_bytes(p, element, device);
  if (p.shape == ReduceShape::rows) {
    if (p.cols * element.bytes > longest) return plan;
    cut_rows(p, element.bytes, device, plan);
  } else {
    cut_segments(p, element.bytes, longest, device, plan);
  }
  const auto room = static_cast<std::int64_t>(device.shared_bytes_per_block_optin);
  const std::int64_t beside = tile_memory_bytes(plan, element);
  const std::int64_t stage = plan.stage_bytes + entries_bytes;
  plan.stages = static_cast<int>(std::clamp<std::int64_t>(
      (room / element.most_warps - beside) / stage, 1, most_tile_stages));
  const std::int64_t tiles = ceil_div(p.sequences(), std::int64_t{plan.each});
  plan.warps = static_cast<int>(
      std::clamp<std::int64_t>(std::min(room / (plan.stages * stage + beside),
                                        ceil_div(tiles, std::int64_t{device.sm_count})),
                               1, element.most_warps));
  plan.blocks = static_cast<unsigned>(std::clamp<std::int64_t>(
      ceil_div(tiles, std::int64_t{plan.warps}), 1, device.sm_count));
  return plan;
}

}  // namespace kw
