// How the complex parts.cu cuts a product, and how long that will take. Made on the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cgemm/stream/parts_tuning.hpp"
#include "cgemm/stream/plan.hpp"
#include "sgemm/stream/parts_plan.hpp"

namespace kw {

// All tiles are cut along k into equal shares for the blocks, a share shorter than a tile.
struct ComplexPartsSchedule {
  StreamSchedule stream;
  // Threads that share an output's parts when they are added up, a power of two.
  int groups = 1;

  // The parts of a tile lie one after the other, tile after tile: a block that has parts of two
  // tiles has two places.
  KW_HOST_DEVICE constexpr int slot(int tile, int block) const { return tile + block; }
  KW_HOST_DEVICE constexpr int slots() const { return stream.tiles + stream.blocks - 1; }
  // The blocks that share a tile.
  KW_HOST_DEVICE constexpr StreamParts parts(int tile) const {
    return stream.parts_of(tile * stream.iterations, stream.iterations, 0);
  }
};

struct ComplexPartsPlan {
  ComplexPartsSchedule schedule;
  double us = 0;
};

inline std::size_t complex_parts_bytes(const ComplexPartsTile& tile,
                                       const ComplexPartsSchedule& s) {
  return static_cast<std::size_t>(s.slots()) * tile.stream.config.tile_bytes();
}

// Of a narrow tile whose short side C has at most half of: `thin` reads the other operand faster
// than it is predicted to.
inline double complex_parts_share(const ComplexPartsTile& tile, const Cgemm& p) {
  const ComplexStreamConfig& config = tile.stream.config;
  const std::int64_t side = config.bm < config.bn ? p.m : p.n;
  const bool is_half_empty = tile.is_narrow() && 2 * side <= std::min(config.bm, config.bn);
  return is_half_empty ? complex_parts_half_empty * tile.times.share : tile.times.share;
}

inline double predict_complex_parts_us(const ComplexPartsTile& tile, const Cgemm& p,
                                       const ComplexPartsSchedule& s, const Device& device) {
  const ComplexStreamTimes& t = tile.stream.times;
  const auto on_an_sm =
      static_cast<double>(ceil_div(s.stream.blocks, std::max(1, device.sm_count)));
  const double stages = complex_stream_stages(tile.stream.config, p, s.stream);
  const double further = std::max(0.0, on_an_sm - tile.stream.config.blocks_per_sm);
  const double us =
      t.start_us + stages * std::max(t.alone_us, on_an_sm * t.busy_us) + further * t.tile_us;
  const double megabytes =
      1e-6 * static_cast<double>(tile.stream.config.tile_bytes()) * s.stream.blocks;
  const double c_megabytes = 1e-6 * sizeof(Complex) * static_cast<double>(p.m) *
                             static_cast<double>(p.n) * static_cast<double>(p.batch);
  return complex_parts_share(tile, p) *
             std::max(us, t.start_us + memory_us(complex_operand_bytes(p), device)) +
         tile.times.add_us + (on_an_sm > 1 ? tile.times.crowded_us : 0) +
         complex_parts_megabyte_us * megabytes + complex_parts_c_megabyte_us * c_megabytes;
}

// Into so many blocks; nothing where that is no cut.
inline std::optional<ComplexPartsPlan> cut_complex_parts(const ComplexPartsTile& tile,
                                                         const Cgemm& p, const Device& device,
                                                         std::int64_t blocks) {
  const ComplexStreamConfig& config = tile.stream.config;
  const auto shape = detail::shape_of_tiles(config, p);
  if (!shape || shape->tiles == 0 || blocks <= shape->tiles) return std::nullopt;
  const auto cut = detail::cut_stream(*shape, blocks, shape->tiles);
  if (!cut) return std::nullopt;
  ComplexPartsPlan plan;
  plan.schedule.stream = *cut;
  if ((detail::longest_run(*cut) - 1) * config.steps() >= longest_complex_sum(p))
    return std::nullopt;
  plan.schedule.groups = detail::parts_groups(ceil_div(cut->blocks, cut->tiles) + 1);
  plan.us = predict_complex_parts_us(tile, p, plan.schedule, device);
  return plan;
}

// Of blocks that follow each other on a multiprocessor, so many for each that it holds.
inline constexpr int complex_parts_most_rounds = 6;

// Nothing where the tile cannot compute the problem, or has more tiles than there are
// multiprocessors, of which stream.cu leaves most whole; but for sums that are too long for that,
// which blocks that follow each other cut.
inline std::optional<ComplexPartsPlan> plan_complex_parts(const ComplexPartsTile& tile,
                                                          const Cgemm& p, const Device& device) {
  if (p.triangle != Triangle::none || p.loop_k() < complex_stream_least_k) return std::nullopt;
  const std::int64_t sms = std::max(1, device.sm_count);
  const int at_once = tile.stream.config.blocks_per_sm;
  const int rounds = p.loop_k() > longest_complex_sum(p) ? complex_parts_most_rounds : 1;
  const auto shape = detail::shape_of_tiles(tile.stream.config, p);
  if (!shape || shape->tiles > (rounds > 1 ? sms * at_once : sms)) return std::nullopt;
  std::optional<ComplexPartsPlan> best;
  const auto consider = [&](int per_sm) {
    const auto plan = cut_complex_parts(tile, p, device, sms * per_sm);
    if (plan && (!best || plan->us < best->us)) best = plan;
  };
  for (int per_sm = 1; per_sm <= at_once; ++per_sm) consider(per_sm);
  for (int round = 2; round <= rounds; ++round) consider(round * at_once);
  return best;
}

}  // namespace kw
