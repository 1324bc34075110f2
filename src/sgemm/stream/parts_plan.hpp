// How parts.cu cuts a product, and how long that will take. Made on the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "sgemm/stream/parts_tuning.hpp"
#include "sgemm/stream/plan.hpp"

namespace kw {

// All tiles are cut along k into equal shares for the blocks, a share shorter than a tile.
struct PartsSchedule {
  StreamSchedule stream;
  // Sums that are stored of what a block has of a tile: one, or one a piece.
  int stored = 1;
  // Threads that share an output's parts when they are added up, a power of two.
  int groups = 1;

  // The parts of a tile lie one after the other, tile after tile: a block that has parts of two
  // tiles has two places.
  KW_HOST_DEVICE constexpr int slot(int tile, int block) const { return (tile + block) * stored; }
  KW_HOST_DEVICE constexpr int slots() const { return (stream.tiles + stream.blocks - 1) * stored; }
  // Piece `number` of a block's work on a tile that is stored; the last ones are empty where the
  // work is short.
  KW_HOST_DEVICE constexpr StreamWork piece(const StreamWork& work, int number) const {
    const int length = work.end - work.begin, each = ceil_div(length, stored);
    const int from = number * each < length ? number * each : length;
    const int to = from + each < length ? from + each : length;
    return {work.tile, work.begin + from, work.begin + to};
  }
  // The blocks that share a tile.
  KW_HOST_DEVICE constexpr StreamParts parts(int tile) const {
    return stream.parts_of(tile * stream.iterations, stream.iterations, 0);
  }
};

struct PartsPlan {
  PartsSchedule schedule;
  double time_us = std::numeric_limits<double>::infinity();
};

constexpr int parts_adders = 256;  // threads of a block that adds parts up
constexpr int parts_at_once = 8;   // that a thread reads

namespace detail {

// Threads that share an output: until each has few parts.
inline int parts_groups(int parts) {
  int groups = 1;
  while (groups < 16 && ceil_div(parts, groups) > parts_at_once) groups *= 2;
  return groups;
}

inline double predict_parts_us(const PartsTile& tile, const PartsSchedule& s, const Sgemm& p,
                               const Device& device) {
  const StreamTileConfig& config = tile.config;
  const PartsTileTimes& t = tile.times;
  const int run = longest_run(s.stream);
  const bool is_crowded = s.stream.blocks > device.sm_count;
  const double iteration_us = is_crowded ? t.crowded_iteration_us : t.iteration_us;
  const double mean = static_cast<double>(s.stream.tiles) * s.stream.iterations / s.stream.blocks;
  const double iterations = run - parts_evened * (run - mean);
  return parts_scale *
         ((is_crowded ? t.crowded_start_us : t.start_us) +
          (is_c_by_4(p) ? parts_store_by_4_us : 0) + t.exposed * memory_us(p, device) +
          iterations * (iteration_us + stream_copies_us(config, t, p)) * stream_turned(t, p) +
          (ceil_div(run, s.stream.piece) - 1) * t.piece_us +
          t.tile_us * s.stream.tiles / s.stream.blocks);
}

}  // namespace detail

// What parts.cu computes: plain products by a launch that waits for the previous one.
inline bool has_parts(const Sgemm& p) {
  return p.plain() && p.loop_k() > 0 && !p.overlaps_previous && !p.next_overlaps;
}

// Into so many blocks; nothing where that is no cut.
inline std::optional<PartsPlan> cut_parts(const PartsTile& tile, const Sgemm& p,
                                          const Device& device, std::int64_t blocks) {
  const StreamTileConfig& config = tile.config;
  const auto shape = detail::shape_of_tiles(config, p);
  if (!shape || shape->tiles == 0 || blocks <= shape->tiles) return std::nullopt;
  const auto cut = detail::cut_stream(*shape, blocks, shape->tiles);
  if (!cut) return std::nullopt;
  const int sms = std::max(1, device.sm_count);
  PartsPlan plan;
  PartsSchedule& s = plan.schedule;
  s.stream = *cut;
  const double us = detail::predict_parts_us(tile, s, p, device);
  const std::int64_t longest = longest_sum(p, sms);
  const int cuts = std::max(detail::quick_cuts(config, s.stream, us),
                            static_cast<int>(parts_most_time * us / tile.times.piece_us));
  detail::cut_sums(config, {longest, wanted_sum(p, longest, sms), cuts}, &s.stream);
  if (tile.stores_pieces) s.stored = ceil_div(detail::longest_run(s.stream), s.stream.piece);
  s.groups = detail::parts_groups(ceil_div(static_cast<int>(blocks), shape->tiles) * s.stored);
  plan.time_us = detail::predict_parts_us(tile, s, p, device);
  return plan;
}

// Nothing where the tile cannot compute the problem, or has as many tiles as blocks.
inline std::optional<PartsPlan> plan_parts(const PartsTile& tile, const Sgemm& p,
                                           const Device& device) {
  if (!has_parts(p)) return std::nullopt;
  const std::int64_t sms = std::max(1, device.sm_count);
  std::optional<PartsPlan> best;
  for (int per_sm = 1; per_sm <= tile.config.blocks_per_sm; ++per_sm) {
    const auto plan = cut_parts(tile, p, device, sms * per_sm);
    if (plan && (!best || plan->time_us < best->time_us)) best = plan;
  }
  return best;
}

inline std::size_t parts_workspace_bytes(const StreamTileConfig& config, const PartsSchedule& s) {
  return static_cast<std::size_t>(s.slots()) * config.bm * config.bn * sizeof(float);
}

}  // namespace kw
