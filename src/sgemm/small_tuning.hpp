// The configurations of small_tile, as data.
#pragma once

namespace kw {

struct SmallTileConfig {
  int bm, bn;  // block tile
  int bk;      // k per chunk: where k is no longer than one, one buffer is enough
  int tm, tn;  // outputs per thread
  int blocks_per_sm;

  constexpr int threads() const { return bm / tm * (bn / tn); }
};

// The times by which a launch is predicted: the longer of the time of one block alone, and of the
// time that all blocks take on full SMs. A part of a chunk takes its part of a chunk's time
// (results/h200/explored-stream-choice.txt).
struct SmallTileTimes {
  double first_us, chunk_us;       // one block alone: its beginning and end, a chunk of bk
  double block_us, busy_chunk_us;  // the same per block on an SM that is full of blocks
};

struct SmallTile {
  const char* name;
  const char* idea;
  SmallTileConfig config;
  SmallTileTimes times;
};

// Measured on an NVIDIA H200, driver 580.159, CUDA 13.0 (results/h200/explored-small-tiles.txt,
// which also has the slower tiles: 8 x 4 and 8 x 8 outputs per thread, one and two warps per tile).
inline constexpr double small_launch_us = 2;
// With more chunks the times do not hold: 640^3 takes 27 us where they give 19.
inline constexpr int small_max_chunks = 8;
inline constexpr SmallTile small_tiles[] = {
    // 4096 of 16 x 16 x 16: 8.9 us
    {.name = "small_16x32",
     .idea = "one warp per tile, 4 x 4 outputs per thread",
     .config = {.bm = 16, .bn = 32, .bk = 32, .tm = 4, .tn = 4, .blocks_per_sm = 20},
     .times = {.first_us = 1.3, .chunk_us = 0.77, .block_us = 0.15, .busy_chunk_us = 0.12}},
    // 4096 of 32 x 32 x 32: 16.6 us
    {.name = "small_32x32",
     .idea = "two warps per tile, 4 x 4 outputs per thread",
     .config = {.bm = 32, .bn = 32, .bk = 32, .tm = 4, .tn = 4, .blocks_per_sm = 10},
     .times = {.first_us = 1.2, .chunk_us = 0.79, .block_us = 0.2, .busy_chunk_us = 0.27}},
    // 1024 of 64 x 64 x 64: 21.6 us; 512 of 100 x 100 x 100: 52.9 us, cuBLAS 52.6
    {.name = "small_64x64",
     .idea = "four warps per tile, 8 x 4 outputs per thread",
     .config = {.bm = 64, .bn = 64, .bk = 32, .tm = 8, .tn = 4, .blocks_per_sm = 4},
     .times = {.first_us = 1.5, .chunk_us = 1.22, .block_us = 0.65, .busy_chunk_us = 0.85}},
};

}  // namespace kw
