// The configurations of small_tile and the constants of its cost model, as data.
#pragma once

#include <cstdint>

namespace kw {

struct SmallTileConfig {
  int bm, bn;   // block tile
  int bk;       // k of a stage
  int tm, tn;   // outputs per thread
  int parts_k;  // groups of threads that share the tile along k: each takes four k in turn
  int stages;   // of the ring; no more than k has are allocated
  int blocks_per_sm;
  int unroll = 2;  // steps of four k that the loop has side by side

  constexpr int threads_of_part() const { return bm / tm * (bn / tn); }
  constexpr int threads() const { return threads_of_part() * parts_k; }
  // Of the outputs of a thread, those that it stores.
  constexpr int rows_of_part() const { return tm / parts_k; }
};

// Floats that an operand's tile takes in shared memory: lines along k or across it, each with four
// floats that put neighbouring lines in different banks.
constexpr int small_padding = 4;
constexpr int small_operand_floats(int extent, int bk, bool along_k) {
  return along_k ? extent * (bk + small_padding) : bk * (extent + small_padding);
}

// The times by which a launch is predicted (small_plan.hpp): the longest of the time of one block
// alone, of all blocks on SMs that are full of them, and of the operands' way to memory. A part of
// a chunk takes its part of a chunk's time.
struct SmallTileTimes {
  double first_us, chunk_us;       // one block alone: its beginning and end, a chunk of bk
  double block_us, busy_chunk_us;  // the same per block on an SM that is full of blocks
  double c_by_4_us;                // added to a block where rows of C are stored by single elements
  double copies_by_4_us;           // added to a busy chunk where all operands are copied so
  double tail;                     // so many blocks' time goes by while SMs are not full
};

struct SmallTile {
  const char* name;
  const char* idea;
  SmallTileConfig config;
  SmallTileTimes times;
};

// Measured on an NVIDIA H200 (results/h200/explored-short-k.txt, tools/fit_small_tiles.py); older
// timings of batches, also of the slower tiles, are in results/h200/explored-small-tiles.txt. The
// times of those with parts of k are calculated: from the loads from shared memory and the FFMAs
// that a chunk takes, at the rate that the measured tiles reach, and a fifth more.
inline constexpr double small_launch_us = 1.5;
inline constexpr double small_bytes_per_us = 3.7e6;  // where they do not fit in L2
inline constexpr double small_l2_bytes = 50e6;
// With longer k the times do not hold.
inline constexpr std::int64_t small_max_k = 320;
// From this k on, launches with fewer blocks an SM than that are spread evenly (small_plan.hpp):
// below, what the launches gain by overlapping is more.
inline constexpr std::int64_t small_alone_k = 64;
inline constexpr int small_alone_blocks = 4;
inline constexpr SmallTile small_tiles[] = {
    {.name = "small_16x32",
     .idea = "one warp a tile, 4 x 4 outputs a thread",
     .config = {.bm = 16,
                .bn = 32,
                .bk = 32,
                .tm = 4,
                .tn = 4,
                .parts_k = 1,
                .stages = 2,
                .blocks_per_sm = 20},
     .times = {.first_us = 1.83,
               .chunk_us = 1.28,
               .block_us = 0.093,
               .busy_chunk_us = 0.164,
               .c_by_4_us = 0.023,
               .copies_by_4_us = 0.017,
               .tail = 2.59}},
    {.name = "small_32x32",
     .idea = "two warps a tile, 4 x 4 outputs a thread",
     .config = {.bm = 32,
                .bn = 32,
                .bk = 32,
                .tm = 4,
                .tn = 4,
                .parts_k = 1,
                .stages = 2,
                .blocks_per_sm = 10},
     .times = {.first_us = 1.04,
               .chunk_us = 1.38,
               .block_us = 0.158,
               .busy_chunk_us = 0.289,
               .c_by_4_us = 0.050,
               .copies_by_4_us = 0.025,
               .tail = 1.31}},
    {.name = "small_16x64",
     .idea = "the same, wide",
     .config = {.bm = 16,
                .bn = 64,
                .bk = 32,
                .tm = 4,
                .tn = 4,
                .parts_k = 1,
                .stages = 3,
                .blocks_per_sm = 8},
     .times = {.first_us = 2.03,
               .chunk_us = 1.12,
               .block_us = 0.191,
               .busy_chunk_us = 0.379,
               .c_by_4_us = 0.022,
               .copies_by_4_us = 0.009,
               .tail = 0.63}},
    {.name = "small_64x32",
     .idea = "four warps a tile, 4 x 4 outputs a thread",
     .config = {.bm = 64,
                .bn = 32,
                .bk = 32,
                .tm = 4,
                .tn = 4,
                .parts_k = 1,
                .stages = 3,
                .blocks_per_sm = 4},
     .times = {.first_us = 1.39,
               .chunk_us = 1.33,
               .block_us = 0.327,
               .busy_chunk_us = 0.569,
               .c_by_4_us = 0.080,
               .copies_by_4_us = 0.040,
               .tail = 0.48}},
    {.name = "small_64x64",
     .idea = "four warps a tile, 8 x 4 outputs a thread",
     .config = {.bm = 64,
                .bn = 64,
                .bk = 32,
                .tm = 8,
                .tn = 4,
                .parts_k = 1,
                .stages = 2,
                .blocks_per_sm = 4},
     .times = {.first_us = 2.07,
               .chunk_us = 1.54,
               .block_us = 0.543,
               .busy_chunk_us = 0.901,
               .c_by_4_us = 0.069,
               .copies_by_4_us = 0.069,
               .tail = 0.33}},
    {.name = "small_32x128",
     .idea = "the same, wide: a warp stores 128 bytes of a row",
     .config = {.bm = 32,
                .bn = 128,
                .bk = 32,
                .tm = 8,
                .tn = 4,
                .parts_k = 1,
                .stages = 2,
                .blocks_per_sm = 4},
     .times = {.first_us = 2.09,
               .chunk_us = 0.77,
               .block_us = 0.433,
               .busy_chunk_us = 0.993,
               .c_by_4_us = 0.076,
               .copies_by_4_us = 0.089,
               .tail = 0.40}},
    {.name = "small_64x128",
     .idea = "four warps a tile, 8 x 8 outputs a thread",
     .config = {.bm = 64,
                .bn = 128,
                .bk = 32,
                .tm = 8,
                .tn = 8,
                .parts_k = 1,
                .stages = 2,
                .blocks_per_sm = 3},
     .times = {.first_us = 2.42,
               .chunk_us = 2.44,
               .block_us = 0.986,
               .busy_chunk_us = 1.779,
               .c_by_4_us = 0.211,
               .copies_by_4_us = 0.114,
               .tail = 0.00}},
    {.name = "small_128x128",
     .idea = "eight warps a tile, 8 x 8 outputs a thread",
     .config = {.bm = 128,
                .bn = 128,
                .bk = 32,
                .tm = 8,
                .tn = 8,
                .parts_k = 1,
                .stages = 2,
                .blocks_per_sm = 2,
                .unroll = 1},
     .times = {.first_us = 2.27,
               .chunk_us = 3.94,
               .block_us = 2.200,
               .busy_chunk_us = 3.500,
               .c_by_4_us = 0.356,
               .copies_by_4_us = 0.310,
               .tail = 0.00}},
    {.name = "small_16x64k",
     .idea = "four warps along k, 8 x 4 outputs a thread",
     .config = {.bm = 16,
                .bn = 64,
                .bk = 32,
                .tm = 8,
                .tn = 4,
                .parts_k = 4,
                .stages = 4,
                .blocks_per_sm = 4},
     .times = {.first_us = 2.10,
               .chunk_us = 0.45,
               .block_us = 0.400,
               .busy_chunk_us = 0.340,
               .c_by_4_us = 0.050,
               .copies_by_4_us = 0.030,
               .tail = 0.50}},
    {.name = "small_32x32k",
     .idea = "the same, square",
     .config = {.bm = 32,
                .bn = 32,
                .bk = 32,
                .tm = 8,
                .tn = 4,
                .parts_k = 4,
                .stages = 4,
                .blocks_per_sm = 4},
     .times = {.first_us = 2.10,
               .chunk_us = 0.45,
               .block_us = 0.400,
               .busy_chunk_us = 0.340,
               .c_by_4_us = 0.050,
               .copies_by_4_us = 0.030,
               .tail = 0.50}},
    {.name = "small_32x64k",
     .idea = "four warps along k, 8 x 8 outputs a thread",
     .config = {.bm = 32,
                .bn = 64,
                .bk = 32,
                .tm = 8,
                .tn = 8,
                .parts_k = 4,
                .stages = 4,
                .blocks_per_sm = 2},
     .times = {.first_us = 2.30,
               .chunk_us = 0.60,
               .block_us = 0.700,
               .busy_chunk_us = 0.500,
               .c_by_4_us = 0.090,
               .copies_by_4_us = 0.060,
               .tail = 0.50}},
    {.name = "small_64x32k",
     .idea = "four warps along k, 16 x 4 outputs a thread",
     .config = {.bm = 64,
                .bn = 32,
                .bk = 32,
                .tm = 16,
                .tn = 4,
                .parts_k = 4,
                .stages = 4,
                .blocks_per_sm = 2},
     .times = {.first_us = 2.30,
               .chunk_us = 0.65,
               .block_us = 0.700,
               .busy_chunk_us = 0.550,
               .c_by_4_us = 0.090,
               .copies_by_4_us = 0.060,
               .tail = 0.50}},
};

}  // namespace kw
