// The configurations of the complex stream tiles and the constants of their cost model, as data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kw {

// Four producer warps beside the consumers. Sides are in complex elements.
struct ComplexStreamConfig {
  int bm, bn;   // block tile
  int bk;       // k of a stage
  int wm, wn;   // warp tile
  int warps_k;  // groups of warps that share the block's tile, each a part of every stage's k
  int tm, tn;   // outputs per thread
  int stages;   // of the ring
  int blocks_per_sm;
  // Registers per thread that producers keep and consumers get.
  int producer_registers, consumer_registers;
  bool clusters = false;  // whether the blocks of a cluster can share a tile
  // Whether warps store lines of C that begin anywhere together, by way of shared memory. In most
  // of the smaller tiles each thread stores for itself, which is quicker where three blocks take
  // turns.
  bool staged = false;
  // Whether b, where neighbours lie so in memory, comes by way of the producers' registers, 16
  // bytes at a time, and not 4 bytes a copy.
  bool b_by_registers = false;
  // Of the 128 producers so many lie side by side on a line of an operand at most. With a warp's, a
  // producer's copies of a line lie at distances that the compiler knows, and it computes an
  // address for each fourth line only.
  int across = 32;
  // Quarters of a step's products behind which ptxas moves none of the next step's loads, where
  // they are less than four. Elsewhere it moves them to some 30 FFMAs before their use, and where a
  // scheduler has two warps, both then wait.
  int loads_within = 4;
  // Whether L2 fetches lines that lie along k by 256 bytes (device/line_copy.hpp).
  bool fetches_lines = false;

  constexpr int consumers() const { return bm / wm * (bn / wn) * warps_k * 32; }
  constexpr int threads() const { return 128 + consumers(); }
  // Blocks for whose registers a kernel is compiled, which are moved to the consumers; shared
  // memory may hold fewer.
  constexpr int compiled_blocks() const {
    return blocks_per_sm > 1 || consumers() > 128 ? blocks_per_sm : 2;
  }
  // k that one accumulator adds up of a stage.
  constexpr int steps() const { return bk / warps_k; }
  constexpr std::size_t tile_bytes() const { return static_cast<std::size_t>(bm * bn) * 8; }
};

// A launch takes its beginning and end, and the stages of the block that has the most of them, of
// which each takes busy_us of each block on its SM and alone_us at the least.
struct ComplexStreamTimes {
  double start_us;               // a launch, its first stage and its end
  double tile_us;                // each further tile on an SM
  double alone_us, busy_us;      // a stage
  double part_us, each_part_us;  // a tile that blocks share, and each part of it that is read
  double cluster_us = 0;         // the same where the blocks of a cluster share it
  double odd_us = 0;             // a tile, where lines of C begin at odd elements
};

// A further tile takes so much longer where its block is alone on an SM that holds more of them.
inline constexpr double complex_stream_lone_us = 0.873;

struct ComplexStreamTile {
  const char* name;
  const char* idea;
  ComplexStreamConfig config;
  ComplexStreamTimes times;
};

// Four warps that share no k, two blocks per SM. Of sides that the other tiles do not fit these
// waste less: with 6 or 10 outputs of a side a thread, warp tiles are 24, 40, 48 or 80 long.
consteval ComplexStreamTile fitting_tile(const char* name, int bm, int bn, int wm, int wn, int tm,
                                         int tn, int bk, int stages, double busy_us, double tile_us,
                                         double odd_us) {
  return {.name = name,
          .idea = "complex stream tile of four warps for sides that it fits, two blocks per SM",
          .config = {.bm = bm,
                     .bn = bn,
                     .bk = bk,
                     .wm = wm,
                     .wn = wn,
                     .warps_k = 1,
                     .tm = tm,
                     .tn = tn,
                     .stages = stages,
                     .blocks_per_sm = 2,
                     .producer_registers = 40,
                     .consumer_registers = 216,
                     .staged = true,
                     .loads_within = 1},
          .times = {.start_us = 6.3,
                    .tile_us = tile_us,
                    .alone_us = 1.08 * busy_us,
                    .busy_us = busy_us,
                    .part_us = 5.2,
                    .each_part_us = 0.4,
                    .odd_us = odd_us}};
}

// Fitted to all cuts of 430 products on an NVIDIA H200, together with the times of the other
// kernels then; those of five tiles are longer by what 470 more products took beyond it
// (results/h200/explored-complex-registers.txt), and those of the tiles that fit are of 106
// products (results/h200/explored-complex-narrow.txt). What a further tile takes, and one whose
// lines of C begin at odd elements, is of 226 products, of which 150 have a k of up to 200
// (results/h200/explored-complex-short.txt), together with the times of the lean tiles; and then,
// as what blocks that share a tile take, of 930 products of which 640 have a side and a k of 100 to
// 300 (results/h200/explored-complex-sides.txt). Off by a thirtieth on average where a tile is near
// the fastest.
inline constexpr ComplexStreamTile complex_stream_tiles[] = {
    {.name = "cgemm_stream_128x128",
     .idea = "complex stream tile of eight warps, 8 x 8 outputs a thread",
     .config = {.bm = 128,
                .bn = 128,
                .bk = 16,
                .wm = 64,
                .wn = 32,
                .warps_k = 1,
                .tm = 8,
                .tn = 8,
                .stages = 5,
                .blocks_per_sm = 1,
                .producer_registers = 40,
                .consumer_registers = 232,
                .staged = true,
                .loads_within = 2},
     .times = {.start_us = 7.11,
               .tile_us = 4.13,
               .alone_us = 4.92,
               .busy_us = 4.46,
               .part_us = 7.21,
               .each_part_us = 0.17,
               .odd_us = 0.405}},
    {.name = "cgemm_stream_128x64",
     .idea = "complex stream tile of four warps, two blocks per SM",
     .config = {.bm = 128,
                .bn = 64,
                .bk = 32,
                .wm = 64,
                .wn = 32,
                .warps_k = 1,
                .tm = 8,
                .tn = 8,
                .stages = 2,
                .blocks_per_sm = 2,
                .producer_registers = 40,
                .consumer_registers = 216,
                .staged = true,
                .loads_within = 1},
     .times = {.start_us = 5.04,
               .tile_us = 1.95,
               .alone_us = 5.26,
               .busy_us = 4.90,
               .part_us = 5.28,
               .each_part_us = 0.48,
               .odd_us = 0.198}},
    {.name = "cgemm_stream_128x64k2",
     .idea = "complex stream tile of two groups of four warps along k, 8 x 8 outputs a thread",
     .config = {.bm = 128,
                .bn = 64,
                .bk = 32,
                .wm = 64,
                .wn = 32,
                .warps_k = 2,
                .tm = 8,
                .tn = 8,
                .stages = 3,
                .blocks_per_sm = 1,
                .producer_registers = 40,
                .consumer_registers = 232,
                .staged = true,
                .loads_within = 2},
     .times = {.start_us = 5.94,
               .tile_us = 3.92,
               .alone_us = 4.94,
               .busy_us = 4.39,
               .part_us = 5.13,
               .each_part_us = 0.09,
               .odd_us = 0.408}},
    {.name = "cgemm_stream_64x64k4",
     .idea = "complex stream tile of four groups of two warps along k",
     .config = {.bm = 64,
                .bn = 64,
                .bk = 32,
                .wm = 64,
                .wn = 32,
                .warps_k = 4,
                .tm = 8,
                .tn = 8,
                .stages = 3,
                .blocks_per_sm = 1,
                .producer_registers = 40,
                .consumer_registers = 232,
                .clusters = true,
                .staged = true,
                .loads_within = 2},
     .times = {.start_us = 5.04,
               .tile_us = 3.02,
               .alone_us = 2.69,
               .busy_us = 2.47,
               .part_us = 3.68,
               .each_part_us = 0.22,
               .cluster_us = 0.57,
               .odd_us = 0.506}},
    {.name = "cgemm_stream_64x32k4",
     .idea = "complex stream tile of four warps along k, two blocks per SM",
     .config = {.bm = 64,
                .bn = 32,
                .bk = 32,
                .wm = 64,
                .wn = 32,
                .warps_k = 4,
                .tm = 8,
                .tn = 8,
                .stages = 3,
                .blocks_per_sm = 2,
                .producer_registers = 40,
                .consumer_registers = 216,
                .clusters = true},
     .times = {.start_us = 4.15,
               .tile_us = 1.6,
               .alone_us = 1.49,
               .busy_us = 1.35,
               .part_us = 6.49,
               .each_part_us = 0.072,
               .cluster_us = 0.927,
               .odd_us = 0.366}},
    {.name = "cgemm_stream_64x64",
     .idea = "complex stream tile of four warps, 4 x 8 outputs a thread, three blocks per SM",
     .config = {.bm = 64,
                .bn = 64,
                .bk = 16,
                .wm = 16,
                .wn = 64,
                .warps_k = 1,
                .tm = 4,
                .tn = 8,
                .stages = 4,
                .blocks_per_sm = 3,
                .producer_registers = 24,
                .consumer_registers = 136,
                .clusters = true},
     .times = {.start_us = 3.24,
               .tile_us = 0.783,
               .alone_us = 1.48,
               .busy_us = 1.33,
               .part_us = 6.01,
               .each_part_us = 0.447,
               .cluster_us = 1.63,
               .odd_us = 0.499}},
    {.name = "cgemm_stream_32x64k2",
     .idea = "complex stream tile of two groups of two warps along k, few rows",
     .config = {.bm = 32,
                .bn = 64,
                .bk = 32,
                .wm = 32,
                .wn = 32,
                .warps_k = 2,
                .tm = 4,
                .tn = 8,
                .stages = 3,
                .blocks_per_sm = 2,
                .producer_registers = 64,
                .consumer_registers = 152,
                .clusters = true,
                .b_by_registers = true},
     .times = {.start_us = 2.94,
               .tile_us = 0.778,
               .alone_us = 1.55,
               .busy_us = 1.41,
               .part_us = 3.62,
               .each_part_us = 0.124,
               .cluster_us = 0.917,
               .odd_us = 0.463}},
    {.name = "cgemm_stream_64x32k2",
     .idea = "complex stream tile of the same, few columns",
     .config = {.bm = 64,
                .bn = 32,
                .bk = 32,
                .wm = 32,
                .wn = 32,
                .warps_k = 2,
                .tm = 4,
                .tn = 8,
                .stages = 3,
                .blocks_per_sm = 2,
                .producer_registers = 48,
                .consumer_registers = 152,
                .clusters = true,
                .b_by_registers = true},
     .times = {.start_us = 3.18,
               .tile_us = 0.814,
               .alone_us = 1.53,
               .busy_us = 1.38,
               .part_us = 3.77,
               .each_part_us = 0.123,
               .cluster_us = 0.902,
               .odd_us = 0.492}},
    {.name = "cgemm_stream_32x32k4",
     .idea = "complex stream tile of four warps along k, 4 x 8 outputs a thread",
     .config = {.bm = 32,
                .bn = 32,
                .bk = 32,
                .wm = 32,
                .wn = 32,
                .warps_k = 4,
                .tm = 4,
                .tn = 8,
                .stages = 3,
                .blocks_per_sm = 3,
                .producer_registers = 24,
                .consumer_registers = 136,
                .clusters = true},
     .times = {.start_us = 2.79,
               .tile_us = 0.697,
               .alone_us = 0.88,
               .busy_us = 0.756,
               .part_us = 4.57,
               .each_part_us = 0.042,
               .cluster_us = 0.437,
               .odd_us = 0.122}},
    fitting_tile("cgemm_stream_192x40", 192, 40, 48, 40, 6, 10, 16, 3, 2.36, 1.53, 1.29),
    fitting_tile("cgemm_stream_128x48", 128, 48, 32, 48, 8, 6, 32, 2, 3.66, 1.37, 0.474),
    fitting_tile("cgemm_stream_96x80", 96, 80, 24, 80, 6, 10, 32, 2, 4.56, 1.6, 1.06),
    fitting_tile("cgemm_stream_64x96", 64, 96, 32, 48, 8, 6, 32, 2, 3.66, 1.45, 0.459),
    fitting_tile("cgemm_stream_40x192", 40, 192, 40, 48, 10, 6, 16, 3, 2.41, 1.38, 0.807),
    fitting_tile("cgemm_stream_48x128", 48, 128, 48, 32, 6, 8, 32, 2, 3.75, 1.46, 0.0822),
    fitting_tile("cgemm_stream_80x96", 80, 96, 80, 24, 10, 6, 32, 2, 4.58, 2.09, 1.06),
    fitting_tile("cgemm_stream_96x64", 96, 64, 48, 32, 6, 8, 32, 2, 3.69, 1.46, 0.0691),
};

}  // namespace kw
