// The configurations of level3_tile and the constants of its cost model, as data.
#pragma once

#include <cstdint>

#include "level3/update_times.hpp"

namespace kw {

struct Level3TileConfig {
  int side;     // of a block's square tile of C
  int bk;       // k of a stage
  int tm, tn;   // outputs per thread
  int stages;   // of the ring
  int parts_k;  // groups of threads that share the tile along k
  int blocks_per_sm;

  constexpr int threads_of_part() const { return side / tm * (side / tn); }
  constexpr int threads() const { return threads_of_part() * parts_k; }
  constexpr int pitch() const { return side + 4; }
  constexpr int ring_bytes() const { return stages * (2 * bk + parts_k) * pitch() * 4; }
  constexpr int sums_bytes() const { return parts_k * side * pitch() * 4; }
  constexpr int shared_bytes() const {
    return ring_bytes() > sums_bytes() ? ring_bytes() : sums_bytes();
  }
};

// A launch takes the longest of: its blocks one after the other on an SM, where a stage takes
// busy_us of each on an SM that is full of them and alone_us at the least; and its operands' way
// to memory. Tiles with less and less of k end one after the other, and those that are left take
// turns.
struct Level3TileTimes {
  double first_us;     // the beginning and end of a launch
  double alone_us;     // a stage of a block that has its SM for itself
  double busy_us;      // a stage, per block, on an SM that is full of blocks
  double block_us;     // a block's beginning and end, on an SM that is full of blocks
  double diagonal_us;  // added where an operand is a triangle, for the stages at its diagonal
  double along_k_us;   // added to busy_us for each operand that lies along k
  double in_step_us;   // a stage of blocks that began together and wait together, in all once
};

struct Level3Tile {
  const char* name;
  const char* idea;
  Level3TileConfig config;
  Level3TileTimes times;
  UpdateTimes update;  // of large updates of a triangle
};

// A sum has one accumulator, or one a part; longer ones go to the product's kernels, which cut
// them.
inline constexpr std::int64_t level3_tile_longest_sum = 2048;

// Fitted to random products on an NVIDIA H200; off by a twelfth on average where a tile is near the
// fastest.
inline constexpr Level3Tile level3_tiles[] = {
    {.name = "level3_32x32",
     .idea = "a triangle read where it lies: four groups of warps along k",
     .config =
         {.side = 32, .bk = 32, .tm = 4, .tn = 4, .stages = 3, .parts_k = 4, .blocks_per_sm = 3},
     .times = {.first_us = 1.24,
               .alone_us = 0.627,
               .busy_us = 0.407,
               .block_us = 0.232,
               .diagonal_us = 0.396,
               .along_k_us = 0.009,
               .in_step_us = 0.109},
     .update = {.first_us = 1.735,
                .alone_step_us = 0.317,
                .block_us = 0.329,
                .step_us = 0.201,
                .c_by_4_us = 0,
                .along_k_us = 0.021,
                .by_4_us = 0.011,
                .reads_first_us = 0,
                .reads_block_us = 0.22,
                .part_steps = 0.822,
                .tail = 0,
                .together = 0.401}},
    {.name = "level3_64x64",
     .idea = "a triangle read where it lies: 8 x 4 outputs a thread",
     .config =
         {.side = 64, .bk = 16, .tm = 8, .tn = 4, .stages = 3, .parts_k = 1, .blocks_per_sm = 4},
     .times = {.first_us = 1.05,
               .alone_us = 0.927,
               .busy_us = 0.455,
               .block_us = 0.314,
               .diagonal_us = 0.625,
               .along_k_us = 0.019,
               .in_step_us = 0.432},
     .update = {.first_us = 1.448,
                .alone_step_us = 0.903,
                .block_us = 0.511,
                .step_us = 0.452,
                .c_by_4_us = 0.029,
                .along_k_us = 0.048,
                .by_4_us = 0.021,
                .reads_first_us = 0,
                .reads_block_us = 0.64,
                .part_steps = 0.18,
                .tail = 0.564,
                .together = 0.305}},
    {.name = "level3_64x64w",
     .idea = "a triangle read where it lies: 8 x 8 outputs a thread",
     .config =
         {.side = 64, .bk = 16, .tm = 8, .tn = 8, .stages = 3, .parts_k = 1, .blocks_per_sm = 6},
     .times = {.first_us = 1.02,
               .alone_us = 1.322,
               .busy_us = 0.385,
               .block_us = 0.439,
               .diagonal_us = 0.764,
               .along_k_us = 0.025,
               .in_step_us = 0.598},
     .update = {.first_us = 2.039,
                .alone_step_us = 1.248,
                .block_us = 0.475,
                .step_us = 0.397,
                .c_by_4_us = 0.054,
                .along_k_us = 0.062,
                .by_4_us = 0.027,
                .reads_first_us = 0,
                .reads_block_us = 0.82,
                .part_steps = 0.188,
                .tail = 0.578,
                .together = 0.404}},
};

}  // namespace kw
