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
};

struct LeanTile {
  const char* name;
  const char* idea;
  LeanTileConfig config;
  LeanTileTimes times;
};

// Fitted to timings of 1100 random products on an NVIDIA H200
// (results/h200/explored-lean-tiles.txt, run 3) and then 1 % longer: on products that nothing was
// fitted to, the choice gained most so (explored-lean-held.txt). Batches were not measured.
inline constexpr double lean_launch_us = 1.515;
inline constexpr double lean_together = 0.2;                      // small_rounds
inline constexpr std::int64_t lean_min_k = 48, lean_max_k = 400;  // where the choice gains by them
inline constexpr LeanTile lean_tiles[] = {
    {.name = "lean_64x64",
     .idea = "four warps a tile, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 2, 16, 3, 5},
     .times = {.first_us = 1.545,
               .step_us = 0.453,
               .block_us = 0.331,
               .busy_step_us = 0.398,
               .c_by_4_us = 0.189,
               .copies_by_4_us = 0.022,
               .few_blocks = 0.23,
               .along_k_us = 0.041,
               .part_steps = 0.35,
               .tail = 0.23,
               .memory = 1.04}},
    {.name = "lean_64x32",
     .idea = "two warps a tile, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 1, 16, 3, 10},
     .times = {.first_us = 2.328,
               .step_us = 0.517,
               .block_us = 0.196,
               .busy_step_us = 0.201,
               .c_by_4_us = 0.080,
               .copies_by_4_us = 0.030,
               .few_blocks = 0.00,
               .along_k_us = 0.028,
               .part_steps = 0.40,
               .tail = 0.81,
               .memory = 1.33}},
    {.name = "lean_32x64",
     .idea = "the same, wide",
     .config = {8, 4, 4, 8, 1, 2, 16, 3, 10},
     .times = {.first_us = 2.334,
               .step_us = 0.537,
               .block_us = 0.189,
               .busy_step_us = 0.200,
               .c_by_4_us = 0.078,
               .copies_by_4_us = 0.031,
               .few_blocks = 0.00,
               .along_k_us = 0.033,
               .part_steps = 0.41,
               .tail = 0.84,
               .memory = 1.03}},
    {.name = "lean_128x32",
     .idea = "as lean_64x64, tall",
     .config = {8, 4, 4, 8, 4, 1, 16, 3, 5},
     .times = {.first_us = 1.041,
               .step_us = 0.353,
               .block_us = 0.386,
               .busy_step_us = 0.398,
               .c_by_4_us = 0.167,
               .copies_by_4_us = 0.040,
               .few_blocks = 0.11,
               .along_k_us = 0.048,
               .part_steps = 0.31,
               .tail = 0.34,
               .memory = 0.96}},
    {.name = "lean_32x128",
     .idea = "the same, wide",
     .config = {8, 4, 4, 8, 1, 4, 16, 3, 5},
     .times = {.first_us = 0.972,
               .step_us = 0.380,
               .block_us = 0.311,
               .busy_step_us = 0.399,
               .c_by_4_us = 0.187,
               .copies_by_4_us = 0.046,
               .few_blocks = 0.22,
               .along_k_us = 0.053,
               .part_steps = 0.38,
               .tail = 0.25,
               .memory = 1.70}},
    {.name = "lean_96x64",
     .idea = "12 x 4 outputs a thread",
     .config = {12, 4, 4, 8, 2, 2, 16, 3, 4},
     .times = {.first_us = 2.936,
               .step_us = 0.781,
               .block_us = 0.492,
               .busy_step_us = 0.590,
               .c_by_4_us = 0.299,
               .copies_by_4_us = 0.009,
               .few_blocks = 0.30,
               .along_k_us = 0.036,
               .part_steps = 0.43,
               .tail = 0.10,
               .memory = 0.93}},
    {.name = "lean_64x96",
     .idea = "the same, wide",
     .config = {4, 12, 4, 8, 4, 1, 16, 3, 4},
     .times = {.first_us = 2.849,
               .step_us = 0.817,
               .block_us = 0.478,
               .busy_step_us = 0.600,
               .c_by_4_us = 0.304,
               .copies_by_4_us = 0.037,
               .few_blocks = 0.15,
               .along_k_us = 0.062,
               .part_steps = 0.37,
               .tail = 0.19,
               .memory = 1.56}},
    {.name = "lean_48x64",
     .idea = "two warps a tile, 12 x 4 outputs a thread",
     .config = {12, 4, 4, 8, 1, 2, 16, 3, 8},
     .times = {.first_us = 3.099,
               .step_us = 0.721,
               .block_us = 0.312,
               .busy_step_us = 0.275,
               .c_by_4_us = 0.125,
               .copies_by_4_us = 0.030,
               .few_blocks = 0.00,
               .along_k_us = 0.011,
               .part_steps = 0.41,
               .tail = 0.84,
               .memory = 1.27}},
    {.name = "lean_64x48",
     .idea = "the same, tall",
     .config = {4, 12, 8, 4, 2, 1, 16, 3, 8},
     .times = {.first_us = 2.924,
               .step_us = 0.725,
               .block_us = 0.334,
               .busy_step_us = 0.295,
               .c_by_4_us = 0.167,
               .copies_by_4_us = 0.034,
               .few_blocks = 0.00,
               .along_k_us = 0.025,
               .part_steps = 0.40,
               .tail = 0.73,
               .memory = 1.82}},
    {.name = "lean_128x64",
     .idea = "8 x 8 outputs a thread",
     .config = {8, 8, 4, 8, 4, 1, 8, 4, 4},
     .times = {.first_us = 3.424,
               .step_us = 1.066,
               .block_us = 0.740,
               .busy_step_us = 0.772,
               .c_by_4_us = 0.458,
               .copies_by_4_us = 0.064,
               .few_blocks = 0.16,
               .along_k_us = 0.042,
               .part_steps = 0.20,
               .tail = 0.10,
               .memory = 1.44}},
    {.name = "lean_64x128",
     .idea = "the same, wide",
     .config = {8, 8, 4, 8, 2, 2, 8, 4, 4},
     .times = {.first_us = 3.458,
               .step_us = 1.076,
               .block_us = 0.729,
               .busy_step_us = 0.772,
               .c_by_4_us = 0.454,
               .copies_by_4_us = 0.048,
               .few_blocks = 0.26,
               .along_k_us = 0.032,
               .part_steps = 0.22,
               .tail = 0.08,
               .memory = 1.82}},
    {.name = "lean_96x128",
     .idea = "12 x 8 outputs a thread",
     .config = {12, 8, 4, 8, 2, 2, 8, 4, 3},
     .times = {.first_us = 4.040,
               .step_us = 1.504,
               .block_us = 0.916,
               .busy_step_us = 1.184,
               .c_by_4_us = 0.829,
               .copies_by_4_us = 0.048,
               .few_blocks = 0.00,
               .along_k_us = -0.016,
               .part_steps = 0.51,
               .tail = 0.00,
               .memory = 1.32}},
};

}  // namespace kw
