// Which team of threads has a row in its registers: of those that are large enough the one that
// leaves the fewest places empty, the first of equals.
#pragma once

#include <array>

namespace kw {

struct RowTeam {
  int most_columns;
  int values;  // a thread
  int lanes;   // most of a team: up to 32 are part of a warp, more are a block
};

// Shares of the copy bandwidth on an H200, softmax of float32 from memory (results/h200/
// rowwise.json has many more).
inline constexpr std::array<RowTeam, 4> row_teams = {{
    {256, 8, 32},
    {768, 24, 32},
    {6144, 16, 384},
    {9216, 24, 384},
}};

inline constexpr int most_block_threads = 384;
inline constexpr int warp_block_threads = 256;  // of the teams that are part of a warp

// Rows in shared memory: tiles of a block, blocks of a cluster.
inline constexpr int shared_threads = 512, shared_values = 16;
inline constexpr int shared_tile = shared_threads * shared_values - 4;  // a row begins anywhere
inline constexpr int shared_most_tiles = 6, shared_most_blocks = 2;

// Slices of longer rows.
inline constexpr int spread_threads = 256, spread_values = 20;
inline constexpr int spread_tile = spread_threads * spread_values - 4;  // a row begins anywhere
inline constexpr int spread_tiles = 2;                                  // of a slice
inline constexpr int spread_most_slices = 2048;                         // a row

}  // namespace kw
