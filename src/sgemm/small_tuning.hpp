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
// timings of batches, also of the slower tiles, are in results/h200/explored-small-tiles.txt.
inline constexpr double small_launch_us = 1.5;
inline constexpr double small_bytes_per_us = 3.7e6;  // where they do not fit in L2
inline constexpr double small_l2_bytes = 50e6;
inline constexpr double small_together = 0.5;  // small_rounds
// With longer k the times do not hold.
inline constexpr std::int64_t small_max_k = 500;
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
     .times = {.first_us = 1.77,
               .chunk_us = 1.13,
               .block_us = 0.092,
               .busy_chunk_us = 0.169,
               .c_by_4_us = 0.013,
               .copies_by_4_us = 0.010,
               .tail = 2.60}},
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
     .times = {.first_us = 1.11,
               .chunk_us = 1.20,
               .block_us = 0.156,
               .busy_chunk_us = 0.269,
               .c_by_4_us = 0.034,
               .copies_by_4_us = 0.029,
               .tail = 1.07}},
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
     .times = {.first_us = 1.80,
               .chunk_us = 1.00,
               .block_us = 0.191,
               .busy_chunk_us = 0.334,
               .c_by_4_us = 0.024,
               .copies_by_4_us = 0.026,
               .tail = 0.68}},
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
     .times = {.first_us = 1.18,
               .chunk_us = 1.30,
               .block_us = 0.347,
               .busy_chunk_us = 0.553,
               .c_by_4_us = 0.086,
               .copies_by_4_us = 0.020,
               .tail = 0.40}},
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
     .times = {.first_us = 2.08,
               .chunk_us = 1.37,
               .block_us = 0.500,
               .busy_chunk_us = 0.849,
               .c_by_4_us = 0.083,
               .copies_by_4_us = 0.068,
               .tail = 0.30}},
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
     .times = {.first_us = 1.56,
               .chunk_us = 1.59,
               .block_us = 0.422,
               .busy_chunk_us = 0.923,
               .c_by_4_us = 0.063,
               .copies_by_4_us = 0.103,
               .tail = 0.37}},
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
     .times = {.first_us = 2.66,
               .chunk_us = 2.29,
               .block_us = 0.778,
               .busy_chunk_us = 1.617,
               .c_by_4_us = 0.213,
               .copies_by_4_us = 0.160,
               .tail = 0.00}},
    {.name = "small_64x64d64",
     .idea = "as small_64x64, 64 k a stage",
     .config = {.bm = 64,
                .bn = 64,
                .bk = 64,
                .tm = 8,
                .tn = 4,
                .parts_k = 1,
                .stages = 2,
                .blocks_per_sm = 3},
     .times = {.first_us = 2.10,
               .chunk_us = 1.00,
               .block_us = 0.486,
               .busy_chunk_us = 1.765,
               .c_by_4_us = 0.065,
               .copies_by_4_us = 0.052,
               .tail = 0.32}},
    {.name = "small_16x64k64",
     .idea = "four warps along k, 8 x 4 outputs a thread, 64 k a stage",
     .config = {.bm = 16,
                .bn = 64,
                .bk = 64,
                .tm = 8,
                .tn = 4,
                .parts_k = 4,
                .stages = 3,
                .blocks_per_sm = 3},
     .times = {.first_us = 1.56,
               .chunk_us = 0.86,
               .block_us = 0.364,
               .busy_chunk_us = 0.609,
               .c_by_4_us = 0.010,
               .copies_by_4_us = 0.102,
               .tail = 0.42}},
    {.name = "small_32x32k64",
     .idea = "the same, square",
     .config = {.bm = 32,
                .bn = 32,
                .bk = 64,
                .tm = 8,
                .tn = 4,
                .parts_k = 4,
                .stages = 3,
                .blocks_per_sm = 4},
     .times = {.first_us = 1.93,
               .chunk_us = 1.02,
               .block_us = 0.344,
               .busy_chunk_us = 0.506,
               .c_by_4_us = 0.089,
               .copies_by_4_us = 0.047,
               .tail = 0.36}},
    {.name = "small_32x32k128",
     .idea = "the same, 128 k a stage",
     .config = {.bm = 32,
                .bn = 32,
                .bk = 128,
                .tm = 8,
                .tn = 4,
                .parts_k = 4,
                .stages = 2,
                .blocks_per_sm = 3},
     .times = {.first_us = 1.50,
               .chunk_us = 1.85,
               .block_us = 0.458,
               .busy_chunk_us = 1.125,
               .c_by_4_us = 0.019,
               .copies_by_4_us = 0.070,
               .tail = 0.43}},
    {.name = "small_32x96k64",
     .idea = "four warps along k, 8 x 12 outputs a thread, 64 k a stage",
     .config = {.bm = 32,
                .bn = 96,
                .bk = 64,
                .tm = 8,
                .tn = 12,
                .parts_k = 4,
                .stages = 2,
                .blocks_per_sm = 2},
     .times = {.first_us = 2.10,
               .chunk_us = 1.00,
               .block_us = 0.965,
               .busy_chunk_us = 1.510,
               .c_by_4_us = 0.136,
               .copies_by_4_us = 0.030,
               .tail = 0.30}},
};

}  // namespace kw
