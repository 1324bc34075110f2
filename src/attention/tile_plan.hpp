// How attention_tile cuts a problem, and what it expects that to take: its configurations as data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "arithmetic.hpp"
#include "attention/problem.hpp"
#include "kernel.hpp"

namespace kw {

// `lanes_m` lanes of each of `warps` warps along the rows, 8 rows each; `keys` a tile.
struct TileConfig {
  int dim, warps, lanes_m, keys;
  int stage_dims, stage_keys;  // of K and of V in a stage
  int stages;
  int blocks;  // that a multiprocessor holds at a time
  // Fitted to forced cuts on an H200 (results/h200/explored-attention-rounds.txt): a tile of keys
  // where a multiprocessor has so many blocks and where it has one, the rest of a block, and what
  // cutting a tile's keys adds.
  double tile_us, alone_us, start_us, merge_us;

  constexpr int threads() const { return 32 * warps; }
  constexpr int warp_rows() const { return 8 * lanes_m; }
  constexpr int rows() const { return warps * warp_rows(); }
  constexpr int lanes_n() const { return 32 / lanes_m; }
};

// By the head sizes up to which they serve; of each size the one for large problems, then the one
// for small ones.
inline constexpr TileConfig tile_configs[] = {
    {32, 8, 4, 64, 32, 64, 4, 1, 6.9, 6.9, 6.4, 5.7},
    {32, 4, 4, 64, 32, 64, 3, 2, 6.5, 4.4, 5.9, 3.7},
    {64, 8, 4, 64, 32, 32, 6, 1, 12.8, 13.1, 8.6, 9.3},
    {64, 4, 2, 64, 32, 32, 4, 2, 8.0, 5.0, 5.5, 2.9},
    {128, 8, 2, 128, 32, 32, 4, 1, 23.5, 24.1, 11.1, 7.9},
    {128, 4, 2, 64, 32, 16, 4, 2, 14.4, 9.5, 9.3, 5.2},
    {256, 8, 1, 128, 32, 16, 5, 1, 26.8, 28.6, 15.5, 2.8},
};
constexpr int tile_config_count = sizeof(tile_configs) / sizeof(tile_configs[0]);

// How a launch is cut: each tile of queries into so many parts of its keys.
struct TileSchedule {
  int config = -1, parts = 1;
  TileOrder order = {};
};

// Tiles of queries.
inline std::int64_t tile_units(const Attention& p, const TileConfig& c) {
  return p.batch * p.heads * ceil_div(p.queries, c.rows());
}

// Whether the launch can be cut so.
bool can_cut_tiles(const Attention& p, int config, int parts);
double tile_time_us(const Attention& p, const Device& device, const TileConfig& c, int parts);
// The cut that takes least, of configurations with so much shared memory; none: config is -1.
TileSchedule choose_tiles(const Attention& p, const Device& device,
                          const std::size_t (&shared_bytes)[tile_config_count]);

}  // namespace kw
