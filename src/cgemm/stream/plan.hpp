// How a configuration of the complex stream tiles cuts a product into blocks, and how long that
// will take. Made on the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "arithmetic.hpp"
#include "cgemm/stream/tuning.hpp"
#include "cgemm/tile_plan.hpp"
#include "sgemm/stream/plan.hpp"
#include "sgemm/stream/sum_length.hpp"

namespace kw {

// An accumulator's longest sum. Of so many outputs the vendor cuts no sum, whatever its length, and
// its error is as large.
inline constexpr std::int64_t complex_stream_sum = 2048;
inline std::int64_t longest_complex_sum(const Cgemm& p) {
  return p.m * p.n < sum_length_tuning.many_outputs ? complex_stream_sum : p.k;
}

// Those of a k of a few are stores (outer.cu).
inline constexpr std::int64_t complex_stream_least_k = 8;

// Calls consider(schedule) for each way to cut the tiles: whole ones only; those of the last,
// incomplete wave cut evenly over all blocks; or, where there are fewer tiles than blocks, all of
// them, evenly or each into equal parts, for the blocks of a cluster or for any.
template <class Consider>
void each_complex_stream_cut(const ComplexStreamConfig& config, const StreamSchedule& shape,
                             const Device& device, const Consider& consider) {
  const auto cut = [&](std::int64_t blocks, std::int64_t shared) {
    if (const auto schedule = detail::cut_stream(shape, blocks, shared)) consider(*schedule);
  };
  const std::int64_t sms = std::max(1, device.sm_count), tiles = shape.tiles;
  for (std::int64_t slots = sms; slots <= sms * config.blocks_per_sm; slots += sms) {
    cut(std::min(slots, tiles), 0);
    if (shape.iterations < 2) continue;
    if (tiles % slots != 0) cut(slots, tiles % slots);
    const std::int64_t most = std::min<std::int64_t>(slots / tiles, shape.iterations);
    for (std::int64_t parts = most; parts >= 2; parts -= std::max<std::int64_t>(1, parts / 4))
      cut(tiles * parts, tiles);
  }
  detail::each_cluster_cut(config.clusters, 1, shape, device, [&](int parts) {
    consider(detail::cut_stream_by_clusters(shape, parts));
  });
}

// Stages of the block that has the most; of a tile's last one the part that is multiplied.
inline double complex_stream_stages(const ComplexStreamConfig& config, const Cgemm& p,
                                    const StreamSchedule& s) {
  return detail::most_iterations(s, detail::multiplied_part(config, p.loop_k()));
}

inline double predict_complex_stream_us(const ComplexStreamTile& tile, const Cgemm& p,
                                        const StreamSchedule& s, const Device& device) {
  const ComplexStreamTimes& t = tile.times;
  const bool shares = s.whole_tiles < s.tiles && !s.in_clusters();
  const std::int64_t rounds = ceil_div(std::int64_t{s.whole_tiles}, s.blocks);
  const auto on_an_sm = static_cast<double>(ceil_div(s.blocks, std::max(1, device.sm_count)));
  const double tiles = static_cast<double>(rounds) * on_an_sm + (shares ? 1 : 0);
  const double stage_us = std::max(t.alone_us, s.in_clusters() ? 0 : on_an_sm * t.busy_us);
  const bool lone = on_an_sm == 1 && tile.config.blocks_per_sm > 1;
  double us = t.start_us + complex_stream_stages(tile.config, p, s) * stage_us +
              std::max(0.0, tiles - 1) * (t.tile_us + (lone ? complex_stream_lone_us : 0)) +
              (p.ldc % 2 != 0 ? tiles * t.odd_us : 0);
  if (s.in_clusters()) {
    us += t.cluster_us;
  } else if (shares) {
    us += detail::parts_us(t, s);
  }
  return std::max(us, t.start_us + memory_us(complex_operand_bytes(p), device));
}

inline std::size_t complex_stream_workspace_bytes(const ComplexStreamConfig& config,
                                                  const StreamSchedule& s) {
  return static_cast<std::size_t>(s.slots()) * config.tile_bytes();
}

struct ComplexStreamPlan {
  StreamSchedule schedule;
  double us = std::numeric_limits<double>::infinity();
};

// The quickest plan; nothing where the configuration cannot compute the problem.
inline std::optional<ComplexStreamPlan> plan_complex_stream(const ComplexStreamTile& tile,
                                                            const Cgemm& p, const Device& device) {
  const ComplexStreamConfig& config = tile.config;
  if (p.triangle != Triangle::none || p.loop_k() < complex_stream_least_k) return std::nullopt;
  const auto shape = detail::shape_of_tiles(config, p);
  if (!shape || shape->tiles == 0) return std::nullopt;
  ComplexStreamPlan best;
  each_complex_stream_cut(config, *shape, device, [&](const StreamSchedule& schedule) {
    const std::int64_t run = detail::longest_run(schedule);
    if ((run - 1) * config.steps() >= longest_complex_sum(p)) return;
    const double us = predict_complex_stream_us(tile, p, schedule, device);
    if (us < best.us) best = {schedule, us};
  });
  if (!(best.us < std::numeric_limits<double>::infinity())) return std::nullopt;
  return best;
}

}  // namespace kw
