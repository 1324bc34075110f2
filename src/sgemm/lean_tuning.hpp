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
  int turned = 8;  // k of a line along k that a warp copies at once: 8 of four lines, 16 of two

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

// Fitted to timings of random products on an NVIDIA H200 (results/h200/explored-lean-loop.txt, run
// 4 and the first held-out products) beside those of other kernels at the same products, and to
// what the choice among all of them loses. Batches were not measured.
inline constexpr double lean_launch_us = 1.515;
// So much of what its busiest scheduler has more to do than the others adds to a multiprocessor's
// time.
inline constexpr double lean_uneven = 0.35;
// Where so large a share of the multiprocessors has a block fewer, the others take so much of a
// block less.
inline constexpr double lean_fewer = 0.1;
// So much longer than their blocks' times say take launches of four times as long as this and more.
inline constexpr double lean_long = 0.03, lean_long_from_us = 64;
inline constexpr std::int64_t lean_min_k = 24, lean_max_k = 1000;  // where the choice gains by them
inline constexpr LeanTile lean_tiles[] = {
    {.name = "lean_64x64",
     .idea = "four warps a tile, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 2, 16, 3, 5, 16},
     .times = {.first_us = 2.134,
               .step_us = 0.451,
               .block_us = 0.508,
               .busy_step_us = 0.364,
               .c_by_4_us = 0.045,
               .copies_by_4_us = 0.010,
               .few_blocks = 0.16,
               .along_k_us = 0.010,
               .part_steps = 0.10,
               .tail = 0.11,
               .memory = 1.19,
               .together = 0.18}},
    {.name = "lean_64x32",
     .idea = "two warps a tile, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 1, 16, 3, 10, 16},
     .times = {.first_us = 1.953,
               .step_us = 0.416,
               .block_us = 0.230,
               .busy_step_us = 0.204,
               .c_by_4_us = 0.023,
               .copies_by_4_us = 0.000,
               .few_blocks = 0.00,
               .along_k_us = 0.009,
               .part_steps = 0.23,
               .tail = 0.36,
               .memory = 0.92,
               .together = 0.10}},
    {.name = "lean_32x64",
     .idea = "the same, wide",
     .config = {8, 4, 4, 8, 1, 2, 16, 3, 10, 16},
     .times = {.first_us = 1.934,
               .step_us = 0.419,
               .block_us = 0.242,
               .busy_step_us = 0.202,
               .c_by_4_us = 0.000,
               .copies_by_4_us = 0.003,
               .few_blocks = 0.00,
               .along_k_us = 0.009,
               .part_steps = 0.27,
               .tail = 0.35,
               .memory = 1.41,
               .together = 0.12}},
    {.name = "lean_128x32",
     .idea = "as lean_64x64, tall",
     .config = {8, 4, 4, 8, 4, 1, 16, 3, 5, 16},
     .times = {.first_us = 2.445,
               .step_us = 0.443,
               .block_us = 0.481,
               .busy_step_us = 0.382,
               .c_by_4_us = 0.051,
               .copies_by_4_us = 0.000,
               .few_blocks = 0.09,
               .along_k_us = 0.033,
               .part_steps = 0.09,
               .tail = 0.22,
               .memory = 1.91,
               .together = 0.15}},
    {.name = "lean_32x128",
     .idea = "the same, wide",
     .config = {8, 4, 4, 8, 1, 4, 16, 3, 5, 16},
     .times = {.first_us = 0.672,
               .step_us = 0.457,
               .block_us = 0.457,
               .busy_step_us = 0.388,
               .c_by_4_us = 0.030,
               .copies_by_4_us = 0.000,
               .few_blocks = 0.17,
               .along_k_us = 0.025,
               .part_steps = 0.17,
               .tail = 0.17,
               .memory = 1.54,
               .together = 0.11}},
    {.name = "lean_96x64",
     .idea = "12 x 4 outputs a thread",
     .config = {12, 4, 4, 8, 2, 2, 16, 3, 4},
     .times = {.first_us = 2.359,
               .step_us = 0.114,
               .block_us = 0.780,
               .busy_step_us = 0.518,
               .c_by_4_us = 0.022,
               .copies_by_4_us = 0.010,
               .few_blocks = 0.16,
               .along_k_us = 0.042,
               .part_steps = 0.12,
               .tail = 0.09,
               .memory = 1.11,
               .together = 0.24}},
    {.name = "lean_64x96",
     .idea = "the same, wide",
     .config = {4, 12, 4, 8, 4, 1, 16, 3, 4},
     .times = {.first_us = 1.583,
               .step_us = 0.110,
               .block_us = 0.740,
               .busy_step_us = 0.531,
               .c_by_4_us = 0.047,
               .copies_by_4_us = 0.000,
               .few_blocks = 0.13,
               .along_k_us = 0.022,
               .part_steps = 0.00,
               .tail = 0.18,
               .memory = 1.54,
               .together = 0.15}},
    {.name = "lean_48x64",
     .idea = "two warps a tile, 12 x 4 outputs a thread",
     .config = {12, 4, 4, 8, 1, 2, 16, 3, 8},
     .times = {.first_us = 3.102,
               .step_us = 0.593,
               .block_us = 0.430,
               .busy_step_us = 0.272,
               .c_by_4_us = 0.020,
               .copies_by_4_us = 0.000,
               .few_blocks = 0.00,
               .along_k_us = 0.027,
               .part_steps = 0.07,
               .tail = 0.47,
               .memory = 1.35,
               .together = 0.19}},
    {.name = "lean_64x48",
     .idea = "the same, tall",
     .config = {4, 12, 8, 4, 2, 1, 16, 3, 8},
     .times = {.first_us = 2.146,
               .step_us = 0.609,
               .block_us = 0.391,
               .busy_step_us = 0.281,
               .c_by_4_us = 0.036,
               .copies_by_4_us = 0.004,
               .few_blocks = 0.00,
               .along_k_us = 0.014,
               .part_steps = 0.17,
               .tail = 0.42,
               .memory = 2.00,
               .together = 0.17}},
    {.name = "lean_128x64",
     .idea = "8 x 8 outputs a thread",
     .config = {8, 8, 4, 8, 4, 1, 16, 3, 3},
     .times = {.first_us = 4.939,
               .step_us = 0.158,
               .block_us = 1.089,
               .busy_step_us = 0.671,
               .c_by_4_us = 0.002,
               .copies_by_4_us = 0.013,
               .few_blocks = 0.26,
               .along_k_us = 0.083,
               .part_steps = 0.01,
               .tail = 0.07,
               .memory = 0.95,
               .together = 0.34}},
    {.name = "lean_64x128",
     .idea = "the same, wide",
     .config = {8, 8, 4, 8, 2, 2, 16, 3, 3},
     .times = {.first_us = 3.655,
               .step_us = 0.744,
               .block_us = 1.121,
               .busy_step_us = 0.675,
               .c_by_4_us = 0.000,
               .copies_by_4_us = 0.007,
               .few_blocks = 0.29,
               .along_k_us = 0.062,
               .part_steps = 0.01,
               .tail = 0.00,
               .memory = 1.05,
               .together = 0.38}},
    {.name = "lean_96x128",
     .idea = "12 x 8 outputs a thread",
     .config = {12, 8, 4, 8, 2, 2, 8, 4, 3},
     .times = {.first_us = 5.135,
               .step_us = 0.271,
               .block_us = 1.417,
               .busy_step_us = 0.980,
               .c_by_4_us = 0.000,
               .copies_by_4_us = 0.000,
               .few_blocks = 0.01,
               .along_k_us = 0.065,
               .part_steps = 0.08,
               .tail = 0.19,
               .memory = 1.01,
               .together = 0.53}},
};

}  // namespace kw
