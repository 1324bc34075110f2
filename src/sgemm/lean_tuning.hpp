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
               .block_us = 0.313,
               .busy_step_us = 0.376,
               .c_by_4_us = 0.170,
               .copies_by_4_us = 0.022,
               .few_blocks = 0.28,
               .along_k_us = 0.040,
               .part_steps = 0.23,
               .tail = 0.20,
               .memory = 1.04,
               .together = 0.31}},
    {.name = "lean_64x32",
     .idea = "two warps a tile, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 1, 16, 3, 10},
     .times = {.first_us = 2.316,
               .step_us = 0.507,
               .block_us = 0.201,
               .busy_step_us = 0.211,
               .c_by_4_us = 0.081,
               .copies_by_4_us = 0.024,
               .few_blocks = 0.00,
               .along_k_us = 0.028,
               .part_steps = 0.40,
               .tail = 0.79,
               .memory = 1.33,
               .together = 0.20}},
    {.name = "lean_32x64",
     .idea = "the same, wide",
     .config = {8, 4, 4, 8, 1, 2, 16, 3, 10},
     .times = {.first_us = 2.494,
               .step_us = 0.554,
               .block_us = 0.194,
               .busy_step_us = 0.204,
               .c_by_4_us = 0.079,
               .copies_by_4_us = 0.027,
               .few_blocks = 0.00,
               .along_k_us = 0.032,
               .part_steps = 0.41,
               .tail = 0.77,
               .memory = 1.03,
               .together = 0.20}},
    {.name = "lean_128x32",
     .idea = "as lean_64x64, tall",
     .config = {8, 4, 4, 8, 4, 1, 16, 3, 5},
     .times = {.first_us = 1.041,
               .step_us = 0.353,
               .block_us = 0.382,
               .busy_step_us = 0.385,
               .c_by_4_us = 0.166,
               .copies_by_4_us = 0.034,
               .few_blocks = 0.11,
               .along_k_us = 0.041,
               .part_steps = 0.31,
               .tail = 0.38,
               .memory = 0.96,
               .together = 0.20}},
    {.name = "lean_32x128",
     .idea = "the same, wide",
     .config = {8, 4, 4, 8, 1, 4, 16, 3, 5},
     .times = {.first_us = 0.972,
               .step_us = 0.380,
               .block_us = 0.294,
               .busy_step_us = 0.403,
               .c_by_4_us = 0.191,
               .copies_by_4_us = 0.044,
               .few_blocks = 0.22,
               .along_k_us = 0.053,
               .part_steps = 0.38,
               .tail = 0.29,
               .memory = 1.70,
               .together = 0.20}},
    {.name = "lean_96x64",
     .idea = "12 x 4 outputs a thread",
     .config = {12, 4, 4, 8, 2, 2, 16, 3, 4},
     .times = {.first_us = 2.963,
               .step_us = 0.755,
               .block_us = 0.440,
               .busy_step_us = 0.566,
               .c_by_4_us = 0.310,
               .copies_by_4_us = 0.010,
               .few_blocks = 0.31,
               .along_k_us = 0.034,
               .part_steps = 0.42,
               .tail = 0.16,
               .memory = 0.93,
               .together = 0.31}},
    {.name = "lean_64x96",
     .idea = "the same, wide",
     .config = {4, 12, 4, 8, 4, 1, 16, 3, 4},
     .times = {.first_us = 2.748,
               .step_us = 0.780,
               .block_us = 0.476,
               .busy_step_us = 0.558,
               .c_by_4_us = 0.305,
               .copies_by_4_us = 0.037,
               .few_blocks = 0.16,
               .along_k_us = 0.048,
               .part_steps = 0.37,
               .tail = 0.21,
               .memory = 1.56,
               .together = 0.33}},
    {.name = "lean_48x64",
     .idea = "two warps a tile, 12 x 4 outputs a thread",
     .config = {12, 4, 4, 8, 1, 2, 16, 3, 8},
     .times = {.first_us = 3.382,
               .step_us = 0.806,
               .block_us = 0.317,
               .busy_step_us = 0.267,
               .c_by_4_us = 0.127,
               .copies_by_4_us = 0.030,
               .few_blocks = 0.00,
               .along_k_us = 0.011,
               .part_steps = 0.41,
               .tail = 0.71,
               .memory = 1.27,
               .together = 0.28}},
    {.name = "lean_64x48",
     .idea = "the same, tall",
     .config = {4, 12, 8, 4, 2, 1, 16, 3, 8},
     .times = {.first_us = 2.939,
               .step_us = 0.728,
               .block_us = 0.344,
               .busy_step_us = 0.282,
               .c_by_4_us = 0.168,
               .copies_by_4_us = 0.033,
               .few_blocks = 0.00,
               .along_k_us = 0.025,
               .part_steps = 0.40,
               .tail = 0.74,
               .memory = 1.82,
               .together = 0.32}},
    {.name = "lean_128x64",
     .idea = "8 x 8 outputs a thread",
     .config = {8, 8, 4, 8, 4, 1, 8, 4, 4},
     .times = {.first_us = 3.410,
               .step_us = 1.048,
               .block_us = 0.714,
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
     .config = {8, 8, 4, 8, 2, 2, 8, 4, 4},
     .times = {.first_us = 3.449,
               .step_us = 1.059,
               .block_us = 0.695,
               .busy_step_us = 0.778,
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
               .block_us = 0.807,
               .busy_step_us = 1.076,
               .c_by_4_us = 0.825,
               .copies_by_4_us = 0.048,
               .few_blocks = 0.00,
               .along_k_us = -0.016,
               .part_steps = 0.35,
               .tail = 0.00,
               .memory = 1.32,
               .together = 0.58}},
};

}  // namespace kw
