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

// Fitted to squares, batches and random products on an NVIDIA H200; off by a twentieth on average
// where a tile is near the fastest.
inline constexpr ComplexTile complex_tiles[] = {
    {.name = "cgemm_16x16",
     .idea = "complex tile of two warps, 2 x 2 outputs a thread",
     .config = {.bm = 16, .bn = 16, .bk = 16, .tm = 2, .tn = 2, .stages = 3, .blocks_per_sm = 16},
     .times = {.first_us = 1.73, .alone_us = 0.41, .busy_us = 0.218, .block_us = 0.04}},
    {.name = "cgemm_32x32",
     .idea = "complex tile of two warps, 4 x 4 outputs a thread",
     .config = {.bm = 32, .bn = 32, .bk = 16, .tm = 4, .tn = 4, .stages = 3, .blocks_per_sm = 6},
     .times = {.first_us = 1.64, .alone_us = 1.15, .busy_us = 0.472, .block_us = 0.50}},
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
     .times = {.first_us = 1.83, .alone_us = 0.60, .busy_us = 0.506, .block_us = 0.62}},
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
     .times = {.first_us = 1.32, .alone_us = 0.52, .busy_us = 0.461, .block_us = 1.05}},
    {.name = "cgemm_16x64",
     .idea = "complex tile of two warps, 4 x 4 outputs a thread, few rows",
     .config = {.bm = 16, .bn = 64, .bk = 16, .tm = 4, .tn = 4, .stages = 3, .blocks_per_sm = 6},
     .times = {.first_us = 1.79, .alone_us = 0.93, .busy_us = 0.570, .block_us = 0.31}},
    {.name = "cgemm_64x16",
     .idea = "complex tile of two warps, 4 x 4 outputs a thread, few columns",
     .config = {.bm = 64, .bn = 16, .bk = 16, .tm = 4, .tn = 4, .stages = 3, .blocks_per_sm = 6},
     .times = {.first_us = 1.68, .alone_us = 1.21, .busy_us = 0.512, .block_us = 0.47}},
    {.name = "cgemm_64x64",
     .idea = "complex tile of four warps, 8 x 4 outputs a thread",
     .config = {.bm = 64, .bn = 64, .bk = 8, .tm = 8, .tn = 4, .stages = 3, .blocks_per_sm = 4},
     .times = {.first_us = 1.31, .alone_us = 1.09, .busy_us = 0.798, .block_us = 1.95}},
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
     .times = {.first_us = 2.53, .alone_us = 1.72, .busy_us = 1.550, .block_us = 2.03}},
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
     .times = {.first_us = 0.96, .alone_us = 1.62, .busy_us = 0.423, .block_us = 4.23}},
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
     .times = {.first_us = 2.62, .alone_us = 3.11, .busy_us = 2.830, .block_us = 4.27}},
};

}  // namespace kw
