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

// Teams of plain rows (plain_rows.hpp): some lanes of a warp, a block, or a cluster of blocks. A
// row goes to the first form that holds it, and there to the team that leaves the fewest places
// empty. A warp with one row is a block of its own: more of these are on a multiprocessor. Shares
// of the copy bandwidth on an H200, when these were chosen (results/h200/rowwise.json has what came
// of it).
enum class PlainForm { lanes, block, cluster };
struct PlainRow {
  PlainForm form;
  int packs;         // of 16 bytes, a thread
  int most_threads;  // lanes of a team, or threads of a block
};
inline constexpr int plain_warp_threads = 256, plain_block_threads = 512;
inline constexpr int plain_least_lanes = 8;         // which have a row's edges
inline constexpr int plain_rounds_with_planes = 2;  // of rows, where a norm's blocks keep gamma
inline constexpr std::array<PlainRow, 5> plain_rows_of_4 = {{
    {PlainForm::lanes, 4, 16},     // 97 columns, softmax: 0.85
    {PlainForm::lanes, 6, 16},     // 134, layer norm: 0.83
    {PlainForm::block, 4, 512},    // 768, layer norm: 0.87
    {PlainForm::block, 6, 512},    // 1063, softmax: 0.97
    {PlainForm::cluster, 6, 384},  // 18772, softmax: 0.82
}};
inline constexpr std::array<PlainRow, 5> plain_rows_of_2 = {{
    {PlainForm::lanes, 2, 16},     // 145, softmax: 0.50
    {PlainForm::lanes, 3, 16},     // 145, softmax: 0.57
    {PlainForm::block, 3, 512},    // 714, softmax: 0.89
    {PlainForm::block, 4, 384},    // 12033, softmax: 0.74
    {PlainForm::cluster, 4, 384},  // 18627, softmax: 0.53
}};
// Blocks of a cluster at most; of longer rows a ring is faster.
inline constexpr int plain_softmax_blocks = 4, plain_norm_blocks = 8;

// Rings of pieces in shared memory (ring.hpp): packs of a piece, threads that compute.
inline constexpr int ring_threads = 384, ring_piece = 2 * ring_threads;
inline constexpr int ring_most_slots = 18, ring_most_blocks = 8;
inline constexpr std::int64_t ring_least_bytes = 8192;  // of a row
// What a cut costs: bytes a nanosecond of the device, what a row takes beside its bytes, alone in a
// block and in several, and by how much a block that has a multiprocessor to itself is slower than
// two that share it: not where exponentials of float32 are kept, whose time is the memory's.
inline constexpr double ring_device_gbs = 4000;
inline constexpr double ring_row_ns = 200, ring_exchange_ns = 1000;
inline constexpr double ring_alone_slower = 1.4;

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
