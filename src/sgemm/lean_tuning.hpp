// The configurations of lean_tile and the constants of its cost model, as data.
#pragma once

#include <algorithm>
#include <cmath>
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

// Fitted to timings of random products on an NVIDIA H200 (results/h200/explored-turned-lines.txt,
// explored-choice-tail.txt) beside those of other kernels at the same products. Batches were not
// measured.
inline constexpr double lean_launch_us = 1.515;
// So much of what its busiest scheduler has more to do than the others adds to a multiprocessor's
// time.
inline constexpr double lean_uneven = 0.35;
// Of a launch with more blocks than fit at once, so much of what multiprocessors have more of them
// than the mean adds to the time (results/h200/explored-choice-terms.txt).
inline constexpr double lean_one_more = 0.3;
// Where so large a share of the multiprocessors has a block fewer, the others take so much of a
// block less.
inline constexpr double lean_fewer = 0.1;
// So much longer than their blocks' times say take launches of four times as long as this and more.
inline constexpr double lean_long = 0.03, lean_long_from_us = 64;
// What a launch takes whose blocks take so long: up to `longer` of it more.
inline double lasting_us(double us, double longer) {
  return us * (1 + longer * std::clamp(std::log2(us / lean_long_from_us) / 2, 0.0, 1.0));
}
inline constexpr std::int64_t lean_min_k = 24, lean_max_k = 1000;  // where the choice gains by them
inline constexpr LeanTile lean_tiles[] = {
    {.name = "lean_64x64",
     .idea = "four warps a tile, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 2, 16, 3, 5, 16},
     .times = {.first_us = 2.074,
               .step_us = 0.438,
               .block_us = 0.492,
               .busy_step_us = 0.367,
               .c_by_4_us = 0.063,
               .copies_by_4_us = 0.010,
               .few_blocks = 0.14,
               .along_k_us = 0.006,
               .part_steps = 0.08,
               .tail = 0.13,
               .memory = 1.24,
               .together = 0.19}},
    {.name = "lean_64x32",
     .idea = "two warps a tile, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 1, 16, 3, 10, 16},
     .times = {.first_us = 1.661,
               .step_us = 0.440,
               .block_us = 0.250,
               .busy_step_us = 0.206,
               .c_by_4_us = 0.024,
               .copies_by_4_us = 0.006,
               .few_blocks = 0.01,
               .along_k_us = 0.006,
               .part_steps = 0.16,
               .tail = 0.27,
               .memory = 0.92,
               .together = 0.14}},
    {.name = "lean_32x64",
     .idea = "the same, wide",
     .config = {8, 4, 4, 8, 1, 2, 16, 3, 10, 16},
     .times = {.first_us = 1.695,
               .step_us = 0.443,
               .block_us = 0.256,
               .busy_step_us = 0.204,
               .c_by_4_us = 0.005,
               .copies_by_4_us = 0.007,
               .few_blocks = 0.01,
               .along_k_us = 0.006,
               .part_steps = 0.18,
               .tail = 0.30,
               .memory = 1.41,
               .together = 0.17}},
    {.name = "lean_128x32",
     .idea = "as lean_64x64, tall",
     .config = {8, 4, 4, 8, 4, 1, 16, 3, 5, 16},
     .times = {.first_us = 2.537,
               .step_us = 0.375,
               .block_us = 0.503,
               .busy_step_us = 0.393,
               .c_by_4_us = 0.058,
               .copies_by_4_us = 0.000,
               .few_blocks = 0.04,
               .along_k_us = 0.026,
               .part_steps = 0.06,
               .tail = 0.22,
               .memory = 1.93,
               .together = 0.17}},
    {.name = "lean_32x128",
     .idea = "the same, wide",
     .config = {8, 4, 4, 8, 1, 4, 16, 3, 5, 16},
     .times = {.first_us = 0.733,
               .step_us = 0.520,
               .block_us = 0.486,
               .busy_step_us = 0.399,
               .c_by_4_us = 0.036,
               .copies_by_4_us = 0.001,
               .few_blocks = 0.12,
               .along_k_us = 0.029,
               .part_steps = 0.14,
               .tail = 0.13,
               .memory = 1.61,
               .together = 0.18}},
    {.name = "lean_96x64",
     .idea = "12 x 4 outputs a thread",
     .config = {12, 4, 4, 8, 2, 2, 16, 3, 4},
     .times = {.first_us = 2.356,
               .step_us = 0.114,
               .block_us = 0.870,
               .busy_step_us = 0.518,
               .c_by_4_us = 0.024,
               .copies_by_4_us = 0.009,
               .few_blocks = 0.13,
               .along_k_us = 0.012,
               .part_steps = 0.08,
               .tail = 0.14,
               .memory = 1.11,
               .together = 0.22}},
    {.name = "lean_64x96",
     .idea = "the same, wide",
     .config = {4, 12, 4, 8, 4, 1, 16, 3, 4},
     .times = {.first_us = 1.587,
               .step_us = 0.110,
               .block_us = 0.786,
               .busy_step_us = 0.532,
               .c_by_4_us = 0.050,
               .copies_by_4_us = 0.003,
               .few_blocks = 0.07,
               .along_k_us = 0.033,
               .part_steps = 0.00,
               .tail = 0.17,
               .memory = 1.56,
               .together = 0.23}},
    {.name = "lean_48x64",
     .idea = "two warps a tile, 12 x 4 outputs a thread",
     .config = {12, 4, 4, 8, 1, 2, 16, 3, 8},
     .times = {.first_us = 2.804,
               .step_us = 0.550,
               .block_us = 0.441,
               .busy_step_us = 0.275,
               .c_by_4_us = 0.019,
               .copies_by_4_us = 0.003,
               .few_blocks = 0.00,
               .along_k_us = 0.013,
               .part_steps = 0.06,
               .tail = 0.41,
               .memory = 1.40,
               .together = 0.20}},
    {.name = "lean_64x48",
     .idea = "the same, tall",
     .config = {4, 12, 8, 4, 2, 1, 16, 3, 8},
     .times = {.first_us = 2.237,
               .step_us = 0.655,
               .block_us = 0.421,
               .busy_step_us = 0.278,
               .c_by_4_us = 0.046,
               .copies_by_4_us = 0.002,
               .few_blocks = 0.00,
               .along_k_us = 0.013,
               .part_steps = 0.14,
               .tail = 0.39,
               .memory = 2.00,
               .together = 0.25}},
    {.name = "lean_128x64",
     .idea = "8 x 8 outputs a thread",
     .config = {8, 8, 4, 8, 4, 1, 16, 3, 3},
     .times = {.first_us = 4.381,
               .step_us = 0.157,
               .block_us = 1.283,
               .busy_step_us = 0.661,
               .c_by_4_us = 0.002,
               .copies_by_4_us = 0.006,
               .few_blocks = 0.17,
               .along_k_us = 0.033,
               .part_steps = 0.01,
               .tail = 0.11,
               .memory = 0.95,
               .together = 0.36}},
    {.name = "lean_64x128",
     .idea = "the same, wide",
     .config = {8, 8, 4, 8, 2, 2, 16, 3, 3},
     .times = {.first_us = 3.156,
               .step_us = 0.772,
               .block_us = 1.245,
               .busy_step_us = 0.671,
               .c_by_4_us = 0.002,
               .copies_by_4_us = 0.002,
               .few_blocks = 0.27,
               .along_k_us = 0.037,
               .part_steps = 0.01,
               .tail = 0.04,
               .memory = 1.07,
               .together = 0.45}},
    {.name = "lean_96x128",
     .idea = "12 x 8 outputs a thread",
     .config = {12, 8, 4, 8, 2, 2, 8, 4, 3},
     .times = {.first_us = 4.722,
               .step_us = 0.271,
               .block_us = 1.489,
               .busy_step_us = 0.986,
               .c_by_4_us = 0.000,
               .copies_by_4_us = 0.002,
               .few_blocks = 0.00,
               .along_k_us = 0.051,
               .part_steps = 0.07,
               .tail = 0.22,
               .memory = 1.01,
               .together = 0.69}},
};

}  // namespace kw
