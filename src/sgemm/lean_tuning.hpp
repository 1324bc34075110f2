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
inline constexpr std::int64_t lean_min_k = 24, lean_max_k = 1000;  // where the choice gains by them
inline constexpr LeanTile lean_tiles[] = {
    {.name = "lean_64x64",
     .idea = "four warps a tile, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 2, 16, 3, 5},
     .times = {.first_us = 2.154,
               .step_us = 0.453,
               .block_us = 0.476,
               .busy_step_us = 0.366,
               .c_by_4_us = 0.021,
               .copies_by_4_us = 0.009,
               .few_blocks = 0.16,
               .along_k_us = 0.023,
               .part_steps = 0.11,
               .tail = 0.11,
               .memory = 0.95,
               .together = 0.23}},
    {.name = "lean_64x32",
     .idea = "two warps a tile, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 1, 16, 3, 10},
     .times = {.first_us = 2.022,
               .step_us = 0.430,
               .block_us = 0.239,
               .busy_step_us = 0.210,
               .c_by_4_us = 0.028,
               .copies_by_4_us = 0.001,
               .few_blocks = 0.00,
               .along_k_us = 0.025,
               .part_steps = 0.23,
               .tail = 0.37,
               .memory = 0.95,
               .together = 0.10}},
    {.name = "lean_32x64",
     .idea = "the same, wide",
     .config = {8, 4, 4, 8, 1, 2, 16, 3, 10},
     .times = {.first_us = 2.035,
               .step_us = 0.436,
               .block_us = 0.250,
               .busy_step_us = 0.210,
               .c_by_4_us = 0.000,
               .copies_by_4_us = 0.004,
               .few_blocks = 0.00,
               .along_k_us = 0.026,
               .part_steps = 0.26,
               .tail = 0.38,
               .memory = 1.84,
               .together = 0.12}},
    {.name = "lean_128x32",
     .idea = "as lean_64x64, tall",
     .config = {8, 4, 4, 8, 4, 1, 16, 3, 5},
     .times = {.first_us = 2.518,
               .step_us = 0.458,
               .block_us = 0.507,
               .busy_step_us = 0.391,
               .c_by_4_us = 0.043,
               .copies_by_4_us = 0.000,
               .few_blocks = 0.07,
               .along_k_us = 0.063,
               .part_steps = 0.08,
               .tail = 0.25,
               .memory = 1.99,
               .together = 0.10}},
    {.name = "lean_32x128",
     .idea = "the same, wide",
     .config = {8, 4, 4, 8, 1, 4, 16, 3, 5},
     .times = {.first_us = 0.609,
               .step_us = 0.464,
               .block_us = 0.466,
               .busy_step_us = 0.398,
               .c_by_4_us = 0.033,
               .copies_by_4_us = 0.000,
               .few_blocks = 0.19,
               .along_k_us = 0.046,
               .part_steps = 0.15,
               .tail = 0.17,
               .memory = 0.95,
               .together = 0.17}},
    {.name = "lean_96x64",
     .idea = "12 x 4 outputs a thread",
     .config = {12, 4, 4, 8, 2, 2, 16, 3, 4},
     .times = {.first_us = 1.113,
               .step_us = 0.130,
               .block_us = 0.778,
               .busy_step_us = 0.514,
               .c_by_4_us = 0.020,
               .copies_by_4_us = 0.000,
               .few_blocks = 0.19,
               .along_k_us = 0.058,
               .part_steps = 0.16,
               .tail = 0.10,
               .memory = 0.95,
               .together = 0.21}},
    {.name = "lean_64x96",
     .idea = "the same, wide",
     .config = {4, 12, 4, 8, 4, 1, 16, 3, 4},
     .times = {.first_us = 2.282,
               .step_us = 0.288,
               .block_us = 0.714,
               .busy_step_us = 0.530,
               .c_by_4_us = 0.033,
               .copies_by_4_us = 0.002,
               .few_blocks = 0.15,
               .along_k_us = 0.026,
               .part_steps = 0.00,
               .tail = 0.18,
               .memory = 0.95,
               .together = 0.18}},
    {.name = "lean_48x64",
     .idea = "two warps a tile, 12 x 4 outputs a thread",
     .config = {12, 4, 4, 8, 1, 2, 16, 3, 8},
     .times = {.first_us = 3.041,
               .step_us = 0.613,
               .block_us = 0.422,
               .busy_step_us = 0.273,
               .c_by_4_us = 0.014,
               .copies_by_4_us = 0.003,
               .few_blocks = 0.00,
               .along_k_us = 0.026,
               .part_steps = 0.07,
               .tail = 0.41,
               .memory = 1.00,
               .together = 0.18}},
    {.name = "lean_64x48",
     .idea = "the same, tall",
     .config = {4, 12, 8, 4, 2, 1, 16, 3, 8},
     .times = {.first_us = 2.169,
               .step_us = 0.606,
               .block_us = 0.383,
               .busy_step_us = 0.282,
               .c_by_4_us = 0.041,
               .copies_by_4_us = 0.005,
               .few_blocks = 0.00,
               .along_k_us = 0.010,
               .part_steps = 0.16,
               .tail = 0.44,
               .memory = 0.95,
               .together = 0.16}},
    {.name = "lean_128x64",
     .idea = "8 x 8 outputs a thread",
     .config = {8, 8, 4, 8, 4, 1, 16, 3, 3},
     .times = {.first_us = 4.880,
               .step_us = 0.181,
               .block_us = 1.039,
               .busy_step_us = 0.673,
               .c_by_4_us = 0.005,
               .copies_by_4_us = 0.005,
               .few_blocks = 0.25,
               .along_k_us = 0.116,
               .part_steps = 0.00,
               .tail = 0.10,
               .memory = 0.95,
               .together = 0.26}},
    {.name = "lean_64x128",
     .idea = "the same, wide",
     .config = {8, 8, 4, 8, 2, 2, 16, 3, 3},
     .times = {.first_us = 3.627,
               .step_us = 0.745,
               .block_us = 1.146,
               .busy_step_us = 0.658,
               .c_by_4_us = 0.001,
               .copies_by_4_us = 0.003,
               .few_blocks = 0.28,
               .along_k_us = 0.091,
               .part_steps = 0.06,
               .tail = 0.03,
               .memory = 1.76,
               .together = 0.34}},
    {.name = "lean_96x128",
     .idea = "12 x 8 outputs a thread",
     .config = {12, 8, 4, 8, 2, 2, 8, 4, 3},
     .times = {.first_us = 5.081,
               .step_us = 0.282,
               .block_us = 1.410,
               .busy_step_us = 0.960,
               .c_by_4_us = 0.039,
               .copies_by_4_us = 0.005,
               .few_blocks = 0.00,
               .along_k_us = 0.061,
               .part_steps = 0.08,
               .tail = 0.20,
               .memory = 0.95,
               .together = 0.47}},
};

}  // namespace kw
