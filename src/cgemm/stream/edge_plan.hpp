// How edge.cu divides a product among its blocks, and how long that will take. Made on the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "arithmetic.hpp"
#include "cgemm/stream/edge_tuning.hpp"
#include "cgemm/stream/plan.hpp"

namespace kw {

// A block for each tile, those of the last rows behind all others.
struct ComplexEdgePlan {
  std::int64_t rows = 0;       // of C in tiles for all of it
  StreamSchedule whole, rest;  // the latter is empty where `rows` are all
  double us = 0;

  constexpr int blocks() const { return whole.blocks + rest.blocks; }
};

// The rows of C that are left to smaller tiles: those behind whole tiles, where they are few.
inline std::int64_t complex_edge_rest(const ComplexEdgeTile& tile, std::int64_t m) {
  const std::int64_t left = m % tile.whole.bm;
  return left < m && left <= tile.rest.bm ? left : 0;
}

// Blocks follow each other on a multiprocessor, which holds one at a time.
inline double predict_complex_edge_us(const ComplexEdgeTile& tile, const Cgemm& p,
                                      const ComplexEdgePlan& plan, const Device& device) {
  const ComplexEdgeTimes& t = tile.times;
  const auto rounds = static_cast<double>(ceil_div(plan.blocks(), std::max(1, device.sm_count)));
  const double stages = plan.whole.iterations - 1 + detail::multiplied_part(tile.whole, p.loop_k());
  const double us = t.start_us + (rounds - 1) * t.tile_us +
                    rounds * (stages * t.stage_us + (p.ldc % 2 != 0 ? t.odd_us : 0));
  return std::max(us, t.start_us + memory_us(complex_operand_bytes(p), device));
}

// Nothing where the tiles cannot compute the product, whose sums they do not cut.
inline std::optional<ComplexEdgePlan> plan_complex_edge(const ComplexEdgeTile& tile, const Cgemm& p,
                                                        const Device& device) {
  if (p.triangle != Triangle::none || p.loop_k() < complex_stream_least_k) return std::nullopt;
  const auto tiles_of = [&](const ComplexStreamConfig& config, std::int64_t rows) {
    Cgemm part = p;
    part.m = rows;
    const auto shape = detail::shape_of_tiles(config, part);
    return shape ? detail::cut_stream(*shape, shape->tiles, 0) : shape;
  };
  ComplexEdgePlan plan;
  const std::int64_t rest = complex_edge_rest(tile, p.m);
  plan.rows = p.m - rest;
  const auto whole = tiles_of(tile.whole, plan.rows), smaller = tiles_of(tile.rest, rest);
  if (!whole || !smaller || whole->tiles == 0 ||
      std::int64_t{whole->tiles} + smaller->tiles > most_launch_blocks ||
      (whole->iterations - 1) * std::int64_t{tile.whole.steps()} >= longest_complex_sum(p))
    return std::nullopt;
  plan.whole = *whole, plan.rest = *smaller;
  plan.us = predict_complex_edge_us(tile, p, plan, device);
  return plan;
}

}  // namespace kw
