// Which team of threads has a row in its registers: of those that are large enough the one that
// leaves the fewest places empty, the first of equals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

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

// Plain rows (plain_rows.hpp). A thread has so many packs of 16 bytes; a row has as many warps as
// hold it, or lanes of one; more warps than a block has are those of a cluster.
inline constexpr int plain_packs_of_4 = 5, plain_packs_of_2 = 3;
inline constexpr int plain_threads = 384;          // of a block, at most
inline constexpr int plain_cluster_threads = 640;  // likewise, of a cluster: half of them, or all
inline constexpr int plain_sm_threads = 768;       // of a multiprocessor
inline constexpr int plain_least_lanes = 8;
inline constexpr int plain_most_blocks = 8;  // of a cluster

// Rings of pieces in shared memory (ring.hpp): threads that write, threads that find totals, warps
// that meet the team's other blocks, packs of a piece, and how many rows a ring has parts of.
inline constexpr int ring_writers = 256, ring_finders = 256, ring_meeting_warps = 4;
inline constexpr int ring_most_piece = 768, ring_most_slots = 64, ring_rows_held = 8;
inline constexpr std::int64_t ring_least_bytes = 8192;  // of a row
inline constexpr int ring_most_blocks = 160;            // of a team
inline constexpr int ring_least_packs = 64;             // of a slice, where a row is shared
// What a cut costs: bytes a nanosecond of the device and of a multiprocessor, what a block takes
// for a row at least, from a row's first byte to its last one's room without what the bytes take
// (alone and in a team), and gamma's and beta's planes.
inline constexpr double ring_device_gbs = 3950, ring_sm_gbs = 45;
inline constexpr double ring_row_ns = 700, ring_alone_ns = 2500, ring_team_ns = 4500;
inline constexpr double ring_planes_ns = 2000;

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
