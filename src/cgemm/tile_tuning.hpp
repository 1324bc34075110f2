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
  int parts_k = 1;     // groups of threads that share the tile along k
  bool ahead = false;  // fragments of two steps along k

  constexpr int threads() const { return bm / tm * (bn / tn) * parts_k; }
  constexpr int ring_bytes() const { return stages * bk * (bm + bn + 4) * 8; }
  constexpr int sums_bytes() const { return parts_k == 1 ? 0 : parts_k * bm * bn * 8; }
  constexpr int shared_bytes() const {
    return ring_bytes() > sums_bytes() ? ring_bytes() : sums_bytes();
  }
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
    .longest_sum = 2048, .least_k = 64, .most_parts = 64, .parts_us = 1.0, .each_part_us = 0.25};

// Fitted to 430 products on an NVIDIA H200 together with the times of the other kernels
// (lean_tuning.hpp); off by a twentieth on average where a tile is near the fastest.
inline constexpr ComplexTile complex_tiles[] = {
    {.name = "cgemm_16x16",
     .idea = "complex tile of two warps, 2 x 2 outputs a thread",
     .config = {.bm = 16, .bn = 16, .bk = 16, .tm = 2, .tn = 2, .stages = 3, .blocks_per_sm = 16},
     .times = {.first_us = 1.69, .alone_us = 0.46, .busy_us = 0.212, .block_us = 0.05}},
    {.name = "cgemm_32x32",
     .idea = "complex tile of two warps, 4 x 4 outputs a thread",
     .config = {.bm = 32, .bn = 32, .bk = 16, .tm = 4, .tn = 4, .stages = 3, .blocks_per_sm = 6},
     .times = {.first_us = 1.63, .alone_us = 1.14, .busy_us = 0.543, .block_us = 0.39}},
    {.name = "cgemm_32x32k2",
     .idea = "complex tile of the same, two groups of warps along k",
     .config = {.bm = 32,
                .bn = 32,
                .bk = 16,
                .tm = 4,
                .tn = 4,
                .stages = 3,
                .blocks_per_sm = 3,
                .parts_k = 2},
     .times = {.first_us = 1.78, .alone_us = 0.62, .busy_us = 0.506, .block_us = 0.59}},
    {.name = "cgemm_32x32k4",
     .idea = "complex tile of the same, four groups of warps along k",
     .config = {.bm = 32,
                .bn = 32,
                .bk = 16,
                .tm = 4,
                .tn = 4,
                .stages = 3,
                .blocks_per_sm = 2,
                .parts_k = 4},
     .times = {.first_us = 1.55, .alone_us = 0.52, .busy_us = 0.468, .block_us = 0.93}},
    {.name = "cgemm_16x64",
     .idea = "complex tile of two warps, 4 x 4 outputs a thread, few rows",
     .config = {.bm = 16, .bn = 64, .bk = 16, .tm = 4, .tn = 4, .stages = 3, .blocks_per_sm = 6},
     .times = {.first_us = 1.53, .alone_us = 1.13, .busy_us = 0.608, .block_us = 0.32}},
    {.name = "cgemm_64x16",
     .idea = "complex tile of two warps, 4 x 4 outputs a thread, few columns",
     .config = {.bm = 64, .bn = 16, .bk = 16, .tm = 4, .tn = 4, .stages = 3, .blocks_per_sm = 6},
     .times = {.first_us = 1.57, .alone_us = 1.23, .busy_us = 0.563, .block_us = 0.41}},
    {.name = "cgemm_64x64",
     .idea = "complex tile of four warps, 8 x 4 outputs a thread",
     .config = {.bm = 64, .bn = 64, .bk = 8, .tm = 8, .tn = 4, .stages = 3, .blocks_per_sm = 4},
     .times = {.first_us = 1.62, .alone_us = 1.08, .busy_us = 0.872, .block_us = 1.63}},
    {.name = "cgemm_64x64k2",
     .idea = "complex tile of two groups of two warps along k, 8 x 8 outputs a thread",
     .config = {.bm = 64,
                .bn = 64,
                .bk = 16,
                .tm = 8,
                .tn = 8,
                .stages = 3,
                .blocks_per_sm = 2,
                .parts_k = 2,
                .ahead = true},
     .times = {.first_us = 2.44, .alone_us = 1.75, .busy_us = 1.530, .block_us = 1.93}},
    {.name = "cgemm_64x64k4",
     .idea = "complex tile of the same, four groups",
     .config = {.bm = 64,
                .bn = 64,
                .bk = 16,
                .tm = 8,
                .tn = 8,
                .stages = 2,
                .blocks_per_sm = 1,
                .parts_k = 4,
                .ahead = true},
     .times = {.first_us = 0.97, .alone_us = 1.62, .busy_us = 0.423, .block_us = 4.50}},
    {.name = "cgemm_128x64",
     .idea = "complex tile of four warps, 8 x 8 outputs a thread",
     .config = {.bm = 128,
                .bn = 64,
                .bk = 16,
                .tm = 8,
                .tn = 8,
                .stages = 3,
                .blocks_per_sm = 2,
                .ahead = true},
     .times = {.first_us = 2.38, .alone_us = 3.11, .busy_us = 2.790, .block_us = 4.00}},
};

}  // namespace kw
