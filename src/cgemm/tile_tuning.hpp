// The configurations of the complex tiles and the constants of their cost model, as data.
#pragma once

#include <cstdint>

namespace kw {

struct ComplexTileConfig {
  int bm, bn;  // block tile, complex elements
  int bk;      // k of a stage
  int tm, tn;  // outputs per thread
  int stages;  // of the ring
  int blocks_per_sm;

  constexpr int threads() const { return bm / tm * (bn / tn); }
  constexpr int shared_bytes() const { return stages * bk * (bm + bn + 4) * 8; }
};

// A launch takes the longest of: its blocks one after the other on an SM, where a stage takes
// busy_us of each on an SM that is full of them and alone_us at the least; and its operands' way
// from memory.
struct ComplexTileTimes {
  double first_us;  // the beginning and end of a launch
  double alone_us;  // a stage of a block that has its SM for itself
  double busy_us;   // a stage, per block, on an SM that is full of blocks
  double block_us;  // a block's beginning and end, on an SM that is full of blocks
};

struct ComplexTile {
  const char* name;
  const char* idea;
  ComplexTileConfig config;
  ComplexTileTimes times;
};

// Where tiles are few, each is cut along k over several blocks.
struct ComplexSplitTuning {
  std::int64_t longest_sum;  // k of one block; more is cut where the workspace allows
  std::int64_t least_k;      // k of a part
  int most_parts;
  double parts_us, each_part_us;  // what the sum over parts takes
};
inline constexpr ComplexSplitTuning complex_split_tuning = {
    .longest_sum = 2048, .least_k = 64, .most_parts = 64, .parts_us = 1.4, .each_part_us = 0.33};

// Fitted to squares, batches and random products (seed 11) on an NVIDIA H200; off by a tenth on
// average.
inline constexpr ComplexTile complex_tiles[] = {
    {.name = "cgemm_16x16",
     .idea = "complex tile of two warps, 2 x 2 outputs a thread",
     .config = {.bm = 16, .bn = 16, .bk = 16, .tm = 2, .tn = 2, .stages = 3, .blocks_per_sm = 16},
     .times = {.first_us = 1.98, .alone_us = 0.43, .busy_us = 0.156, .block_us = 0.13}},
    {.name = "cgemm_32x32",
     .idea = "complex tile of two warps, 4 x 4 outputs a thread",
     .config = {.bm = 32, .bn = 32, .bk = 16, .tm = 4, .tn = 4, .stages = 3, .blocks_per_sm = 6},
     .times = {.first_us = 3.98, .alone_us = 0.15, .busy_us = 0.475, .block_us = 0.46}},
    {.name = "cgemm_16x64",
     .idea = "complex tile of two warps, 4 x 4 outputs a thread, few rows",
     .config = {.bm = 16, .bn = 64, .bk = 16, .tm = 4, .tn = 4, .stages = 3, .blocks_per_sm = 6},
     .times = {.first_us = 3.01, .alone_us = 1.04, .busy_us = 0.487, .block_us = 0.39}},
    {.name = "cgemm_64x16",
     .idea = "complex tile of two warps, 4 x 4 outputs a thread, few columns",
     .config = {.bm = 64, .bn = 16, .bk = 16, .tm = 4, .tn = 4, .stages = 3, .blocks_per_sm = 6},
     .times = {.first_us = 2.83, .alone_us = 1.14, .busy_us = 0.465, .block_us = 0.48}},
    {.name = "cgemm_64x64",
     .idea = "complex tile of four warps, 8 x 4 outputs a thread",
     .config = {.bm = 64, .bn = 64, .bk = 8, .tm = 8, .tn = 4, .stages = 3, .blocks_per_sm = 3},
     .times = {.first_us = 3.72, .alone_us = 0.91, .busy_us = 0.819, .block_us = 1.44}},
    {.name = "cgemm_128x64",
     .idea = "complex tile of eight warps, 8 x 4 outputs a thread",
     .config = {.bm = 128, .bn = 64, .bk = 8, .tm = 8, .tn = 4, .stages = 3, .blocks_per_sm = 2},
     .times = {.first_us = 1.34, .alone_us = 1.86, .busy_us = 1.553, .block_us = 3.32}},
};

}  // namespace kw
