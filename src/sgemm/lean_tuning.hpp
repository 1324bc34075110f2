// The configurations of lean_tile and the constants of its cost model, as data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kw {

struct LeanTileConfig {
  int tm, tn;            // outputs per thread
  int lanes_m, lanes_n;  // threads of a warp
  int warps_m, warps_n;  // of a block
  int bk;                // k of a stage
  int stages;            // of the ring
  int blocks_per_sm;

  constexpr int bm() const { return tm * lanes_m * warps_m; }
  constexpr int bn() const { return tn * lanes_n * warps_n; }
  constexpr int warps() const { return warps_m * warps_n; }
  constexpr int threads() const { return 32 * warps(); }
  // Dynamic shared memory of a block: lines of bm or bn floats and four of padding, bk a stage.
  constexpr std::size_t shared_bytes() const {
    return sizeof(float) * static_cast<std::size_t>(stages * bk * (bm() + bn() + 8));
  }
};

// The times by which a launch is predicted (lean_plan.hpp). A step is 16 k.
struct LeanTileTimes {
  double first_us, step_us;       // one block alone: its beginning and end, a step
  double block_us, busy_step_us;  // the same per block on an SM that is full of blocks
  double c_by_4_us;               // added to a block where rows of C are stored by single elements
  double copies_by_4_us;          // added to a busy step where all operands are copied so
  double few_blocks;  // of a busy step: by which it is longer where an SM has one block, not many
  double along_k_us;  // added to a busy step where all operands lie along k, not across it
  double part_steps;  // added to the steps where the last stage is not whole
  double tail;        // so many blocks' time goes by while SMs are not full
  double memory;      // of the way to memory: how much longer than what memory gives
  double together;    // small_rounds
};

struct LeanTile {
  const char* name;
  const char* idea;
  LeanTileConfig config;
  LeanTileTimes times;
};

// Fitted to timings of random products on an NVIDIA H200 (results/h200/explored-lean-tiles.txt, run
// 3, explored-sgemm-choice-4.txt and explored-narrow.txt) beside those of other kernels at the same
// products. Batches were not measured.
inline constexpr double lean_launch_us = 1.515;
// So much of what its busiest scheduler has more to do than the others adds to a multiprocessor's
// time.
inline constexpr double lean_uneven = 0.35;
// Where so large a share of the multiprocessors has a block fewer, the others take so much of a
// block less.
inline constexpr double lean_fewer = 0.1;
inline constexpr std::int64_t lean_min_k = 48, lean_max_k = 400;  // where the choice gains by them
inline constexpr LeanTile lean_tiles[] = {
    {.name = "lean_64x64",
     .idea = "four warps a tile, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 2, 16, 3, 5},
     .times = {.first_us = 1.545,
               .step_us = 0.453,
               .block_us = 0.392,
               .busy_step_us = 0.365,
               .c_by_4_us = 0.166,
               .copies_by_4_us = 0.029,
               .few_blocks = 0.51,
               .along_k_us = 0.022,
               .part_steps = 0.16,
               .tail = 0.12,
               .memory = 1.04,
               .together = 0.28}},
    {.name = "lean_64x32",
     .idea = "two warps a tile, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 1, 16, 3, 10},
     .times = {.first_us = 2.316,
               .step_us = 0.507,
               .block_us = 0.206,
               .busy_step_us = 0.211,
               .c_by_4_us = 0.081,
               .copies_by_4_us = 0.024,
               .few_blocks = 0.00,
               .along_k_us = 0.028,
               .part_steps = 0.40,
               .tail = 0.83,
               .memory = 1.33,
               .together = 0.20}},
    {.name = "lean_32x64",
     .idea = "the same, wide",
     .config = {8, 4, 4, 8, 1, 2, 16, 3, 10},
     .times = {.first_us = 2.492,
               .step_us = 0.644,
               .block_us = 0.191,
               .busy_step_us = 0.207,
               .c_by_4_us = 0.079,
               .copies_by_4_us = 0.023,
               .few_blocks = 0.00,
               .along_k_us = 0.021,
               .part_steps = 0.41,
               .tail = 0.58,
               .memory = 1.03,
               .together = 0.20}},
    {.name = "lean_128x32",
     .idea = "as lean_64x64, tall",
     .config = {8, 4, 4, 8, 4, 1, 16, 3, 5},
     .times = {.first_us = 1.041,
               .step_us = 0.353,
               .block_us = 0.448,
               .busy_step_us = 0.379,
               .c_by_4_us = 0.166,
               .copies_by_4_us = 0.027,
               .few_blocks = 0.16,
               .along_k_us = 0.031,
               .part_steps = 0.31,
               .tail = 0.39,
               .memory = 0.96,
               .together = 0.25}},
    {.name = "lean_32x128",
     .idea = "the same, wide",
     .config = {8, 4, 4, 8, 1, 4, 16, 3, 5},
     .times = {.first_us = 0.972,
               .step_us = 0.380,
               .block_us = 0.287,
               .busy_step_us = 0.400,
               .c_by_4_us = 0.191,
               .copies_by_4_us = 0.047,
               .few_blocks = 0.22,
               .along_k_us = 0.053,
               .part_steps = 0.47,
               .tail = 0.35,
               .memory = 1.70,
               .together = 0.20}},
    {.name = "lean_96x64",
     .idea = "12 x 4 outputs a thread",
     .config = {12, 4, 4, 8, 2, 2, 16, 3, 4},
     .times = {.first_us = 3.221,
               .step_us = 0.723,
               .block_us = 0.463,
               .busy_step_us = 0.567,
               .c_by_4_us = 0.343,
               .copies_by_4_us = 0.010,
               .few_blocks = 0.28,
               .along_k_us = 0.029,
               .part_steps = 0.39,
               .tail = 0.16,
               .memory = 0.93,
               .together = 0.32}},
    {.name = "lean_64x96",
     .idea = "the same, wide",
     .config = {4, 12, 4, 8, 4, 1, 16, 3, 4},
     .times = {.first_us = 2.875,
               .step_us = 0.746,
               .block_us = 0.529,
               .busy_step_us = 0.555,
               .c_by_4_us = 0.305,
               .copies_by_4_us = 0.035,
               .few_blocks = 0.16,
               .along_k_us = 0.034,
               .part_steps = 0.37,
               .tail = 0.18,
               .memory = 1.56,
               .together = 0.37}},
    {.name = "lean_48x64",
     .idea = "two warps a tile, 12 x 4 outputs a thread",
     .config = {12, 4, 4, 8, 1, 2, 16, 3, 8},
     .times = {.first_us = 3.381,
               .step_us = 0.818,
               .block_us = 0.323,
               .busy_step_us = 0.272,
               .c_by_4_us = 0.127,
               .copies_by_4_us = 0.028,
               .few_blocks = 0.00,
               .along_k_us = 0.011,
               .part_steps = 0.41,
               .tail = 0.65,
               .memory = 1.27,
               .together = 0.29}},
    {.name = "lean_64x48",
     .idea = "the same, tall",
     .config = {4, 12, 8, 4, 2, 1, 16, 3, 8},
     .times = {.first_us = 3.235,
               .step_us = 0.792,
               .block_us = 0.338,
               .busy_step_us = 0.284,
               .c_by_4_us = 0.168,
               .copies_by_4_us = 0.032,
               .few_blocks = 0.00,
               .along_k_us = 0.024,
               .part_steps = 0.40,
               .tail = 0.55,
               .memory = 1.82,
               .together = 0.32}},
    {.name = "lean_128x64",
     .idea = "8 x 8 outputs a thread",
     .config = {8, 8, 4, 8, 4, 1, 16, 3, 3},
     .times = {.first_us = 3.410,
               .step_us = 1.060,
               .block_us = 0.703,
               .busy_step_us = 0.765,
               .c_by_4_us = 0.454,
               .copies_by_4_us = 0.063,
               .few_blocks = 0.16,
               .along_k_us = 0.042,
               .part_steps = 0.20,
               .tail = 0.11,
               .memory = 1.44,
               .together = 0.23}},
    {.name = "lean_64x128",
     .idea = "the same, wide",
     .config = {8, 8, 4, 8, 2, 2, 16, 3, 3},
     .times = {.first_us = 3.449,
               .step_us = 1.059,
               .block_us = 0.693,
               .busy_step_us = 0.776,
               .c_by_4_us = 0.452,
               .copies_by_4_us = 0.048,
               .few_blocks = 0.27,
               .along_k_us = 0.031,
               .part_steps = 0.22,
               .tail = 0.09,
               .memory = 1.82,
               .together = 0.23}},
    {.name = "lean_96x128",
     .idea = "12 x 8 outputs a thread",
     .config = {12, 8, 4, 8, 2, 2, 8, 4, 3},
     .times = {.first_us = 4.085,
               .step_us = 1.479,
               .block_us = 0.840,
               .busy_step_us = 1.076,
               .c_by_4_us = 0.842,
               .copies_by_4_us = 0.044,
               .few_blocks = 0.00,
               .along_k_us = -0.016,
               .part_steps = 0.30,
               .tail = 0.00,
               .memory = 1.32,
               .together = 0.91}},
};

}  // namespace kw
