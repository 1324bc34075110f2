// The configurations of the production kernels, as data, each with what was measured for it.
#pragma once

#include <cstdint>

namespace kw {

struct AsyncTileConfig {
  int bm, bn, bk;  // block tile
  int tm, tn;      // outputs a thread: 2x2 quarters of tm/2 x tn/2
  int wm, wn;      // warp tile
  int stages;      // shared-memory buffers: one computed, the others on their way

  constexpr int threads() const { return (bm / tm) * (bn / tn); }
};

// NVIDIA H200, 4096 x 4096 x 4096, row-major, no transposes: 48.7 TFLOP/s, cuBLAS 50.9 in the
// same run (results/h200/sgemm-ladder.json). Tried in explored-r12.txt, in the same folder: bk = 8
// loses 8 %, bk = 32 loses 1 %, a fourth stage changes nothing.
inline constexpr AsyncTileConfig async_tile_config = {
    .bm = 128, .bn = 128, .bk = 16, .tm = 8, .tn = 8, .wm = 64, .wn = 32, .stages = 3};

// A configuration of stream_tile: four producer warps beside the consumers.
struct StreamTileConfig {
  int bm, bn, bk;     // block tile
  int wm, wn;         // warp tile
  int warps_k;        // warps that share a warp tile, each a part of every stage's k
  int tm, tn;         // outputs a thread
  int stages;         // of the ring
  int blocks_per_sm;  // resident
  // Registers a thread that producers keep and consumers get, where the kernel has fewer than it
  // needs: sm_90a only. 0: nothing is moved.
  int producer_registers = 0, consumer_registers = 0;

  constexpr int consumers() const { return bm / wm * (bn / wn) * warps_k * 32; }
  constexpr int threads() const { return 128 + consumers(); }
  constexpr bool moves_registers() const { return consumer_registers > 0; }
};

// What a launch takes, by which configurations and ways to cut a product are compared
// (plan.hpp). Fitted to measurements on an NVIDIA H200
// (results/h200/explored-stream-choice.txt, tools/fit_stream_tiles.py).
struct StreamTileTimes {
  double start_us;              // a launch, its first stage and its end
  double tile_us;               // a block's further tile: the ring goes on, C is written
  double iteration_us;          // a stage of bk, one block on an SM
  double crowded_iteration_us;  // the same, blocks_per_sm blocks on an SM
  double by_4_us;               // more, where rows of B are copied by 4 bytes instead of 16
  double part_us;               // a tile that blocks share: its parts leave and arrive
  double each_part_us;          // and one is read
};

struct StreamTile {
  const char* name;
  const char* idea;
  StreamTileConfig config;
  StreamTileTimes times;
};

// From the most outputs a block to the fewest.
inline constexpr StreamTile stream_tiles[] = {
    {.name = "stream_256x128",
     .idea = "8 x 16 outputs a thread, one block an SM",
     .config = {.bm = 256,
                .bn = 128,
                .bk = 32,
                .wm = 64,
                .wn = 64,
                .warps_k = 1,
                .tm = 8,
                .tn = 16,
                .stages = 4,
                .blocks_per_sm = 1,
                .producer_registers = 40,
                .consumer_registers = 232},
     .times = {.start_us = 7.39,
               .tile_us = 3.03,
               .iteration_us = 5.184,
               .crowded_iteration_us = 5.184,
               .by_4_us = 0.250,
               .part_us = 3.27,
               .each_part_us = 0.64}},
    {.name = "stream_128x256",
     .idea = "the same, wide",
     .config = {.bm = 128,
                .bn = 256,
                .bk = 32,
                .wm = 64,
                .wn = 64,
                .warps_k = 1,
                .tm = 8,
                .tn = 16,
                .stages = 4,
                .blocks_per_sm = 1,
                .producer_registers = 40,
                .consumer_registers = 232},
     .times = {.start_us = 7.22,
               .tile_us = 2.70,
               .iteration_us = 5.142,
               .crowded_iteration_us = 5.142,
               .by_4_us = 0.166,
               .part_us = 4.90,
               .each_part_us = 0.32}},
    {.name = "stream_128x128",
     .idea = "8 x 16 outputs a thread, two blocks an SM",
     .config = {.bm = 128,
                .bn = 128,
                .bk = 32,
                .wm = 64,
                .wn = 64,
                .warps_k = 1,
                .tm = 8,
                .tn = 16,
                .stages = 3,
                .blocks_per_sm = 2,
                .producer_registers = 40,
                .consumer_registers = 216},
     .times = {.start_us = 5.96,
               .tile_us = 1.92,
               .iteration_us = 2.879,
               .crowded_iteration_us = 5.292,
               .by_4_us = 0.164,
               .part_us = 2.63,
               .each_part_us = 0.56}},
    {.name = "stream_64x256",
     .idea = "64 rows in one tile",
     .config = {.bm = 64,
                .bn = 256,
                .bk = 32,
                .wm = 64,
                .wn = 64,
                .warps_k = 1,
                .tm = 8,
                .tn = 16,
                .stages = 2,
                .blocks_per_sm = 2,
                .producer_registers = 40,
                .consumer_registers = 216},
     .times = {.start_us = 6.94,
               .tile_us = 1.85,
               .iteration_us = 2.862,
               .crowded_iteration_us = 5.222,
               .by_4_us = 0.048,
               .part_us = 2.31,
               .each_part_us = 0.56}},
    {.name = "stream_256x64",
     .idea = "64 columns in one tile",
     .config = {.bm = 256,
                .bn = 64,
                .bk = 32,
                .wm = 64,
                .wn = 32,
                .warps_k = 1,
                .tm = 8,
                .tn = 8,
                .stages = 4,
                .blocks_per_sm = 1},
     .times = {.start_us = 5.57,
               .tile_us = 1.81,
               .iteration_us = 2.879,
               .crowded_iteration_us = 2.879,
               .by_4_us = 0.161,
               .part_us = 2.15,
               .each_part_us = 0.36}},
    {.name = "stream_64x128",
     .idea = "8 x 8 outputs a thread, two warps share a tile along k",
     .config = {.bm = 64,
                .bn = 128,
                .bk = 64,
                .wm = 32,
                .wn = 64,
                .warps_k = 2,
                .tm = 8,
                .tn = 8,
                .stages = 3,
                .blocks_per_sm = 1},
     .times = {.start_us = 5.46,
               .tile_us = 2.07,
               .iteration_us = 2.698,
               .crowded_iteration_us = 2.698,
               .by_4_us = 0.304,
               .part_us = 5.10,
               .each_part_us = 0.14}},
    {.name = "stream_128x64",
     .idea = "the same, tall",
     .config = {.bm = 128,
                .bn = 64,
                .bk = 64,
                .wm = 64,
                .wn = 32,
                .warps_k = 2,
                .tm = 8,
                .tn = 8,
                .stages = 3,
                .blocks_per_sm = 1},
     .times = {.start_us = 5.86,
               .tile_us = 3.26,
               .iteration_us = 2.708,
               .crowded_iteration_us = 2.708,
               .by_4_us = 0.269,
               .part_us = 5.64,
               .each_part_us = 0.01}},
    {.name = "stream_64x64",
     .idea = "two warps along k, two blocks an SM",
     .config = {.bm = 64,
                .bn = 64,
                .bk = 32,
                .wm = 32,
                .wn = 64,
                .warps_k = 2,
                .tm = 8,
                .tn = 8,
                .stages = 3,
                .blocks_per_sm = 2,
                .producer_registers = 64,
                .consumer_registers = 184},
     .times = {.start_us = 3.90,
               .tile_us = 1.48,
               .iteration_us = 0.991,
               .crowded_iteration_us = 1.549,
               .by_4_us = 0.059,
               .part_us = 2.00,
               .each_part_us = 0.10}},
    {.name = "stream_256x32",
     .idea = "32 columns in one tile",
     .config = {.bm = 256,
                .bn = 32,
                .bk = 32,
                .wm = 64,
                .wn = 32,
                .warps_k = 2,
                .tm = 8,
                .tn = 8,
                .stages = 4,
                .blocks_per_sm = 1},
     .times = {.start_us = 4.72,
               .tile_us = 0.55,
               .iteration_us = 1.805,
               .crowded_iteration_us = 1.805,
               .by_4_us = 0.156,
               .part_us = 1.62,
               .each_part_us = 0.26}},
    {.name = "stream_32x64",
     .idea = "eight warps along k",
     .config = {.bm = 32,
                .bn = 64,
                .bk = 64,
                .wm = 32,
                .wn = 64,
                .warps_k = 8,
                .tm = 8,
                .tn = 8,
                .stages = 4,
                .blocks_per_sm = 1},
     .times = {.start_us = 3.43,
               .tile_us = 1.05,
               .iteration_us = 0.876,
               .crowded_iteration_us = 0.876,
               .by_4_us = 0.134,
               .part_us = 2.62,
               .each_part_us = 0.00}},
    {.name = "stream_64x32",
     .idea = "the same, tall",
     .config = {.bm = 64,
                .bn = 32,
                .bk = 64,
                .wm = 64,
                .wn = 32,
                .warps_k = 8,
                .tm = 8,
                .tn = 8,
                .stages = 4,
                .blocks_per_sm = 1},
     .times = {.start_us = 3.63,
               .tile_us = 1.51,
               .iteration_us = 0.911,
               .crowded_iteration_us = 0.911,
               .by_4_us = 0.094,
               .part_us = 3.39,
               .each_part_us = 0.01}},
    {.name = "stream_32x48",
     .idea = "four warps along k, 96 tiles of a 384 x 384 product",
     .config = {.bm = 32,
                .bn = 48,
                .bk = 64,
                .wm = 32,
                .wn = 48,
                .warps_k = 4,
                .tm = 4,
                .tn = 12,
                .stages = 4,
                .blocks_per_sm = 1},
     .times = {.start_us = 2.10,
               .tile_us = 0.87,
               .iteration_us = 0.952,
               .crowded_iteration_us = 0.952,
               .by_4_us = 0.025,
               .part_us = 1.83,
               .each_part_us = 0.05}},
    {.name = "stream_32x32",
     .idea = "eight warps along k",
     .config = {.bm = 32,
                .bn = 32,
                .bk = 64,
                .wm = 32,
                .wn = 32,
                .warps_k = 8,
                .tm = 4,
                .tn = 8,
                .stages = 4,
                .blocks_per_sm = 1},
     .times = {.start_us = 2.65,
               .tile_us = 0.94,
               .iteration_us = 0.638,
               .crowded_iteration_us = 0.638,
               .by_4_us = 0.100,
               .part_us = 1.92,
               .each_part_us = 0.00}},
    {.name = "stream_16x32",
     .idea = "four warps along k, the most blocks",
     .config = {.bm = 16,
                .bn = 32,
                .bk = 64,
                .wm = 16,
                .wn = 32,
                .warps_k = 4,
                .tm = 4,
                .tn = 4,
                .stages = 4,
                .blocks_per_sm = 1},
     .times = {.start_us = 2.03,
               .tile_us = 1.35,
               .iteration_us = 0.624,
               .crowded_iteration_us = 0.624,
               .by_4_us = 0.100,
               .part_us = 1.58,
               .each_part_us = 0.02}},
    {.name = "stream_16x128",
     .idea = "16 rows in one tile",
     .config = {.bm = 16,
                .bn = 128,
                .bk = 64,
                .wm = 16,
                .wn = 128,
                .warps_k = 8,
                .tm = 4,
                .tn = 16,
                .stages = 4,
                .blocks_per_sm = 1},
     .times = {.start_us = 3.98,
               .tile_us = 0.39,
               .iteration_us = 0.944,
               .crowded_iteration_us = 0.944,
               .by_4_us = 0.100,
               .part_us = 2.83,
               .each_part_us = 0.00}},
};

// Where a product is cut into tiles and the few rows and columns beyond them (ragged.cu).
struct RaggedTuning {
  int tile;               // the smallest of the tiles that large products take
  int max_left;           // rows or columns that `thin` computes
  double min_flops;       // below, the launches would cost more than the tiles
  std::int64_t max_size;  // of rows and columns: `thin` then has a block for 32, and these tickets
  int tickets;
};
inline constexpr RaggedTuning ragged_tuning = {
    .tile = 64, .max_left = 8, .min_flops = 1e9, .max_size = 1 << 17, .tickets = 1 << 12};

}  // namespace kw
