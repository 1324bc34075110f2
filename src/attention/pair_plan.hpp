// How attention_pair cuts a problem, and what it expects that to take: its configurations as data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arithmetic.hpp"
#include "attention/problem.hpp"
#include "kernel.hpp"

namespace kw {

// Four pairs of warps, `lanes_m` lanes of each along the queries, 8 queries each. A tile has as
// many keys as the head has elements, so that both products have the same extents and the same
// code.
struct PairConfig {
  int dim, lanes_m;
  int steps;   // elements along the head of a stage of K, and keys of one of V
  int stages;  // of the ring of K, and of that of V
  // A tile of keys, the rest of a block, and what merging its parts adds, once a launch, fitted to
  // forced cuts on an H200 (results/h200/explored-attention-rounds.txt).
  double tile_us, start_us, merge_us;

  static constexpr int pairs = 4;
  constexpr int keys() const { return dim; }
  constexpr int warp_rows() const { return 8 * lanes_m; }
  constexpr int rows() const { return pairs * warp_rows(); }
  constexpr int lanes_n() const { return 32 / lanes_m; }
};

// By the head sizes up to which they serve.
inline constexpr PairConfig pair_configs[] = {
    {64, 8, 32, 3, 11.0, 11.2, 7.2},
    {96, 4, 16, 4, 12.8, 8.6, 3.4},
    {128, 4, 32, 2, 20.7, 12.1, 4.2},
    {256, 2, 8, 3, 43.5, 22.1, 6.8},
};
constexpr int pair_config_count = sizeof(pair_configs) / sizeof(pair_configs[0]);

constexpr int most_pair_parts = 16;

// How a launch is cut: the first `whole` tiles of queries have a block each, the others as many as
// their keys are cut into parts. All first parts come before the others: where they are longer, the
// others fill what the wave of them leaves.
struct PairSchedule {
  int config = -1, parts = 1;
  int first_share = 0;  // of the keys that the first part has, in 64ths; 0: parts are equal
  std::int64_t whole = 0;
  TileOrder order = {};

  // Of so many tiles of keys the first one of a part.
  KW_HOST_DEVICE std::int64_t begin_of(int part, std::int64_t tiles) const {
    if (first_share == 0 || part == 0) return tiles * part / parts;
    const int others = parts - 1;
    return tiles * (first_share * others + (64 - first_share) * (part - 1)) / (64 * others);
  }
};

// Tiles of queries.
inline std::int64_t pair_units(const Attention& p, const PairConfig& c) {
  return p.batch * p.heads * ceil_div(p.queries, c.rows());
}
inline std::int64_t pair_blocks(const Attention& p, const PairSchedule& s) {
  return s.whole + (pair_units(p, pair_configs[s.config]) - s.whole) * s.parts;
}

// Whether the launch can be cut so.
bool can_cut_pairs(const Attention& p, const PairSchedule& schedule);
double pair_time_us(const Attention& p, const Device& device, const PairSchedule& schedule);
// The cut that takes least, of configurations with so much shared memory; none: config is -1.
PairSchedule choose_pairs(const Attention& p, const Device& device,
                          const std::size_t (&shared_bytes)[pair_config_count]);

}  // namespace kw
