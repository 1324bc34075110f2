// The configurations of small_tile, as data.
#pragma once

namespace kw {

struct SmallTileConfig {
  int bm, bn;  // block tile
  int bk;      // of k at a time: where k is no longer, one buffer does
  int tm, tn;  // outputs a thread
  int blocks_per_sm;

  constexpr int threads() const { return bm / tm * (bn / tn); }
};

// What a launch takes: the longer of one block's way through k, and of all blocks' through the SMs;
// a part of a chunk takes its part of the time (results/h200/explored-stream-choice.txt).
struct SmallTileTimes {
  double first_us, chunk_us;       // one block alone: its beginning and end, a chunk of bk
  double block_us, busy_chunk_us;  // the same on an SM that is full of blocks, for each of them
};

struct SmallTile {
  const char* name;
  const char* idea;
  SmallTileConfig config;
  SmallTileTimes times;
};

// Measured on an NVIDIA H200, driver 580.159, CUDA 13.0 (results/h200/explored-small-tiles.txt,
// with the tiles that lost: 8 x 4 and 8 x 8 outputs a thread with one and two warps a tile).
inline constexpr double small_launch_us = 2;
inline constexpr int small_most_chunks =
    8;  // with more the times do not hold: 640^3 is 27 us, not 19
inline constexpr SmallTile small_tiles[] = {
    // 4096 of 16 x 16 x 16: 8.9 us
    {.name = "small_16x32",
     .idea = "one warp a tile, 4 x 4 outputs a thread",
     .config = {.bm = 16, .bn = 32, .bk = 32, .tm = 4, .tn = 4, .blocks_per_sm = 20},
     .times = {.first_us = 1.3, .chunk_us = 0.77, .block_us = 0.15, .busy_chunk_us = 0.12}},
    // 4096 of 32 x 32 x 32: 16.6 us
    {.name = "small_32x32",
     .idea = "two warps a tile, 4 x 4 outputs a thread",
     .config = {.bm = 32, .bn = 32, .bk = 32, .tm = 4, .tn = 4, .blocks_per_sm = 10},
     .times = {.first_us = 1.2, .chunk_us = 0.79, .block_us = 0.2, .busy_chunk_us = 0.27}},
    // 1024 of 64 x 64 x 64: 21.6 us; 512 of 100 x 100 x 100: 52.9 us, cuBLAS 52.6
    {.name = "small_64x64",
     .idea = "four warps a tile, 8 x 4 outputs a thread",
     .config = {.bm = 64, .bn = 64, .bk = 32, .tm = 8, .tn = 4, .blocks_per_sm = 4},
     .times = {.first_us = 1.5, .chunk_us = 1.22, .block_us = 0.65, .busy_chunk_us = 0.85}},
};

}  // namespace kw
