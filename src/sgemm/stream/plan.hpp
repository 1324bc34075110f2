// How a configuration of stream_tile cuts a product into blocks, and how long that will take: a
// function of the problem, the configuration and the device's number of SMs, made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "sgemm/problem.hpp"
#include "sgemm/stream/schedule.hpp"
#include "sgemm/stream/tuning.hpp"

namespace kw {

struct StreamPlan {
  StreamSchedule schedule;
  double time_us = std::numeric_limits<double>::infinity();  // predicted
  double cost = std::numeric_limits<double>::infinity();     // what the choice compares
};

namespace detail {

constexpr std::int64_t max_stream_blocks = 4096;  // their tickets fit in ticket_count
// From this k on cuBLAS cuts it where tiles are few, and so has the smaller error: at 512 x 512 x
// 4096 the quickest way has 1.37 times its error. A kernel that stands in for a split one must not.
constexpr std::int64_t long_k = 2048;
// In plain use the time decides, but near equals are told apart by the error: from this k on, and
// with so few outputs an SM that k is cut, sums twice as long as the vendor's (1024 at 512 x 512 x
// 16384) count like 7 % more time.
constexpr std::int64_t very_long_k = 8192, few_outputs = 128 * 256 / 2;
constexpr double vendors_sum = 1024;

// `shared` of the tiles, from the last one backwards, are cut along k; 0: none.
inline StreamSchedule stream_schedule(const StreamSchedule& shape, std::int64_t blocks,
                                      std::int64_t shared) {
  StreamSchedule schedule = shape;
  const std::int64_t work = shared * shape.iterations;
  schedule.blocks = static_cast<int>(blocks);
  schedule.whole_tiles = static_cast<int>(shape.tiles - shared);
  schedule.share = static_cast<int>(work / blocks);
  schedule.longer = static_cast<int>(work % blocks);
  return schedule;
}

// Whether rows of B are copied by 4 bytes instead of 16, as far as its shape tells: a workspace
// that was asked for without the address is then the right one with it.
inline bool is_b_by_4(const Sgemm& p) {
  return p.op_b == Op::none && (p.ldb % 4 != 0 || (p.batch > 1 && p.stride_b % 4 != 0));
}

// Of k, in one accumulator.
inline double longest_sum(const StreamTileConfig& config, const StreamSchedule& s) {
  const int iterations = s.whole_tiles > 0 ? s.iterations : s.share + (s.longer > 0 ? 1 : 0);
  return static_cast<double>(iterations) * config.bk / config.warps_k;
}

inline double predict_stream_us(const StreamTile& tile, const StreamSchedule& s, bool b_by_4,
                                int sms) {
  const StreamTileTimes& t = tile.times;
  const bool shared = s.whole_tiles < s.tiles;
  const std::int64_t rounds = (std::int64_t{s.whole_tiles} + s.blocks - 1) / s.blocks;
  const double share = shared ? s.share + (s.longer > 0 ? 1 : 0) : 0;
  const double iterations = static_cast<double>(rounds * s.iterations) + share;
  const double further_tiles =
      static_cast<double>(std::max<std::int64_t>(0, rounds - 1) + (shared && rounds > 0 ? 1 : 0));
  double us = t.start_us + further_tiles * t.tile_us +
              iterations * ((s.blocks > sms ? t.crowded_iteration_us : t.iteration_us) +
                            (b_by_4 ? t.by_4_us : 0));
  if (shared) {
    const int parts = (s.iterations + s.share - 1) / s.share;
    const int levels = parts > stream_fan ? 2 : 1;
    us += levels * (t.part_us + t.each_part_us * std::min(parts, stream_fan));
  }
  return us;
}

}  // namespace detail

// The quickest of a few ways: whole tiles only; the tiles of the last, incomplete wave cut evenly
// over all blocks; or, where there are fewer tiles than blocks, each tile cut into equal parts.
inline std::optional<StreamPlan> plan_stream_tile(const StreamTile& tile, const Sgemm& p,
                                                  const Device& device) {
  const StreamTileConfig& config = tile.config;
  constexpr std::int64_t limit = std::numeric_limits<int>::max();
  const std::int64_t tiles_m = (p.m + config.bm - 1) / config.bm;
  const std::int64_t tiles_n = (p.n + config.bn - 1) / config.bn;
  const std::int64_t iterations = (p.loop_k() + config.bk - 1) / config.bk;
  StreamPlan best;
  if (tiles_m > limit / std::max<std::int64_t>(1, tiles_n) ||
      tiles_m * tiles_n > limit / std::max<std::int64_t>(1, p.batch) ||
      iterations > limit / config.bk)
    return std::nullopt;
  StreamSchedule shape;
  shape.tiles_m = static_cast<int>(tiles_m);
  shape.tiles_n = static_cast<int>(tiles_n);
  shape.tiles = static_cast<int>(tiles_m * tiles_n * p.batch);
  shape.iterations = static_cast<int>(iterations);
  const int sms = std::max(1, device.sm_count);
  const std::int64_t slots =
      std::min(detail::max_stream_blocks, std::int64_t{sms} * config.blocks_per_sm);

  if (shape.tiles == 0) {
    best.time_us = best.cost = 0;
    return best;
  }
  const auto consider = [&](std::int64_t blocks, std::int64_t shared) {
    if (shared > 0 && (shared * iterations < blocks || shared * iterations > limit)) return;
    const StreamSchedule schedule = detail::stream_schedule(shape, blocks, shared);
    const double us = detail::predict_stream_us(tile, schedule, detail::is_b_by_4(p), sms);
    if (us < best.time_us) best = {schedule, us, us};
  };
  consider(std::min<std::int64_t>(slots, shape.tiles), 0);
  if (iterations < 2) return best;
  const bool wants_short_sums = p.is_fallback && p.loop_k() >= detail::long_k;
  if (wants_short_sums && 2 * shape.tiles <= slots) {
    // No more blocks than fit at a time: they come and go in every call that needs no stand-in.
    best.time_us = std::numeric_limits<double>::infinity();
    consider(shape.tiles * std::min(slots / shape.tiles, iterations), shape.tiles);
  } else {
    if (shape.tiles % slots != 0) consider(slots, shape.tiles % slots);
    if (shape.tiles < slots) {
      const std::int64_t most = std::min(slots / shape.tiles, iterations);
      for (const std::int64_t parts :
           {most, most / 2, std::int64_t{8}, std::int64_t{4}, std::int64_t{3}, std::int64_t{2}})
        if (parts >= 2 && parts <= most) consider(shape.tiles * parts, shape.tiles);
    }
  }
  if (best.time_us == std::numeric_limits<double>::infinity()) return std::nullopt;
  // An error grows with the root of the length of sums, and here counts like time.
  const double sum = detail::longest_sum(config, best.schedule);
  if (wants_short_sums)
    best.cost *= std::sqrt(sum);
  else if (p.loop_k() >= detail::very_long_k && p.m * p.n * p.batch <= sms * detail::few_outputs)
    best.cost *= std::pow(std::max(1.0, sum / detail::vendors_sum), 0.1);
  return best;
}

inline std::size_t stream_workspace_bytes(const StreamTile& tile, const StreamSchedule& schedule) {
  return static_cast<std::size_t>(schedule.slots()) * tile.config.bm * tile.config.bn *
         sizeof(float);
}

}  // namespace kw
