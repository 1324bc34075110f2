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
  // Copies turn an operand that lies along k, float by float. Then all products are multiplied in
  // the same way, which takes the fewest registers and lets FFMAs wait least for those.
  bool turns = false;

  constexpr bool lies_along_k(bool in_memory) const { return in_memory && !turns; }
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
// alone, of all blocks on SMs that are full of them, and of the way to memory. A part of a chunk
// takes its part of a chunk's time.
struct SmallTileTimes {
  double first_us, chunk_us;       // one block alone: its beginning and end, a chunk of bk
  double block_us, busy_chunk_us;  // the same per block on an SM that is full of blocks
  double c_by_4_us;                // added to a block where rows of C are stored by single elements
  double copies_by_4_us;           // added to a busy chunk where all operands are copied so
  double few_blocks;  // of a busy chunk: by which it is longer where an SM has one block, not many
  double along_k_us;  // added to a busy chunk where all operands lie along k, not across it
  double tail;        // so many blocks' time goes by while SMs are not full
  double memory;      // of the way to memory: how much longer than with the tile that stores best
};

struct SmallTile {
  const char* name;
  const char* idea;
  SmallTileConfig config;
  SmallTileTimes times;
};

// Fitted to timings on an NVIDIA H200 (results/h200/explored-short-k.txt by
// tools/fit_small_tiles.py, and then by what the choice among all kernels loses,
// explored-sgemm-choice-3.txt, explored-narrow.txt); older timings of batches, also of the slower
// tiles, are in results/h200/explored-small-tiles.txt.
inline constexpr double small_launch_us = 1.5;
// Where operands and C are more than the first share of L2, the second share of what memory gives.
inline constexpr double small_l2_share = 0.8;
inline constexpr double small_memory_share = 0.84;
inline constexpr double small_together = 0.5;  // small_rounds
// With longer k the times do not hold.
inline constexpr std::int64_t small_max_k = 500;
// Launches with three to eight blocks an SM are spread evenly, and from this k on those with one or
// two (small_plan.hpp): else these gain more by overlapping
// (results/h200/explored-small-apart.txt).
inline constexpr int small_apart_from = 3;
inline constexpr int small_alone_blocks = 8;
inline constexpr std::int64_t small_alone_k = 64;
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
     .times = {.first_us = 1.58,
               .chunk_us = 0.89,
               .block_us = 0.074,
               .busy_chunk_us = 0.150,
               .c_by_4_us = 0.024,
               .copies_by_4_us = 0.031,
               .few_blocks = 0.00,
               .along_k_us = 0.000,
               .tail = 2.30,
               .memory = 2.10}},
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
     .times = {.first_us = 1.42,
               .chunk_us = 0.95,
               .block_us = 0.152,
               .busy_chunk_us = 0.266,
               .c_by_4_us = 0.017,
               .copies_by_4_us = 0.032,
               .few_blocks = 0.10,
               .along_k_us = 0.022,
               .tail = 0.98,
               .memory = 1.60}},
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
     .times = {.first_us = 1.48,
               .chunk_us = 0.90,
               .block_us = 0.140,
               .busy_chunk_us = 0.332,
               .c_by_4_us = 0.018,
               .copies_by_4_us = 0.080,
               .few_blocks = 0.75,
               .along_k_us = 0.060,
               .tail = 0.02,
               .memory = 1.51}},
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
               .chunk_us = 0.99,
               .block_us = 0.322,
               .busy_chunk_us = 0.541,
               .c_by_4_us = 0.057,
               .copies_by_4_us = 0.026,
               .few_blocks = 0.13,
               .along_k_us = 0.054,
               .tail = 0.23,
               .memory = 1.63}},
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
     .times = {.first_us = 0.10,
               .chunk_us = 1.39,
               .block_us = 0.530,
               .busy_chunk_us = 0.833,
               .c_by_4_us = 0.029,
               .copies_by_4_us = 0.065,
               .few_blocks = 0.61,
               .along_k_us = 0.148,
               .tail = 0.07,
               .memory = 1.20}},
    {.name = "small_64x64t",
     .idea = "the same, operands turned, 16 k a stage",
     .config = {.bm = 64,
                .bn = 64,
                .bk = 16,
                .tm = 8,
                .tn = 4,
                .parts_k = 1,
                .stages = 3,
                .blocks_per_sm = 5,
                .unroll = 4,
                .turns = true},
     .times = {.first_us = 1.70,
               .chunk_us = 0.76,
               .block_us = 0.280,
               .busy_chunk_us = 0.419,
               .c_by_4_us = 0.118,
               .copies_by_4_us = 0.016,
               .few_blocks = 0.35,
               .along_k_us = 0.024,
               .tail = 0.33,
               .memory = 1.20}},
    {.name = "small_32x128",
     .idea = "as small_64x64t, wide: a warp stores 128 bytes of a row",
     .config = {.bm = 32,
                .bn = 128,
                .bk = 16,
                .tm = 8,
                .tn = 4,
                .parts_k = 1,
                .stages = 3,
                .blocks_per_sm = 5,
                .unroll = 4,
                .turns = true},
     .times = {.first_us = 1.00,
               .chunk_us = 0.77,
               .block_us = 0.301,
               .busy_chunk_us = 0.410,
               .c_by_4_us = 0.024,
               .copies_by_4_us = 0.115,
               .few_blocks = 0.75,
               .along_k_us = 0.000,
               .tail = 0.08,
               .memory = 1.01}},
    {.name = "small_64x128",
     .idea = "as small_64x64t, 8 x 8 outputs a thread",
     .config = {.bm = 64,
                .bn = 128,
                .bk = 16,
                .tm = 8,
                .tn = 8,
                .parts_k = 1,
                .stages = 3,
                .blocks_per_sm = 3,
                .unroll = 4,
                .turns = true},
     .times = {.first_us = 1.06,
               .chunk_us = 0.39,
               .block_us = 0.846,
               .busy_chunk_us = 0.650,
               .c_by_4_us = 0.225,
               .copies_by_4_us = 0.126,
               .few_blocks = 0.27,
               .along_k_us = 0.002,
               .tail = 0.23,
               .memory = 1.12}},
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
     .times = {.first_us = 1.77,
               .chunk_us = 0.92,
               .block_us = 0.323,
               .busy_chunk_us = 0.620,
               .c_by_4_us = 0.076,
               .copies_by_4_us = 0.134,
               .few_blocks = 0.00,
               .along_k_us = 0.008,
               .tail = 0.01,
               .memory = 1.97}},
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
     .times = {.first_us = 1.77,
               .chunk_us = 0.90,
               .block_us = 0.385,
               .busy_chunk_us = 0.500,
               .c_by_4_us = 0.056,
               .copies_by_4_us = 0.082,
               .few_blocks = 0.01,
               .along_k_us = 0.062,
               .tail = 0.10,
               .memory = 2.08}},
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
     .times = {.first_us = 1.43,
               .chunk_us = 1.47,
               .block_us = 0.422,
               .busy_chunk_us = 1.081,
               .c_by_4_us = 0.079,
               .copies_by_4_us = 0.146,
               .few_blocks = 0.00,
               .along_k_us = 0.094,
               .tail = 0.05,
               .memory = 2.00}},
};

}  // namespace kw
