// The tiles of the split kernels, as data.
#pragma once

#include <cstdint>

namespace kw::hopper {

// One product of pieces: A's piece and B's.
struct Product {
  int a, b;
};
// Products that run over a window together.
struct Band {
  int products;
  Product product[5];
};
// How pieces make a product. Along k, bands run over a window into an empty accumulator, which is
// then added to the FP32 sum: a long chain would drift (device/wgmma.hpp); a rounded addition a
// window does not. The low band has an accumulator of its own where there are registers for it, and
// else comes first, so that it meets a small accumulator and keeps its low bits.
struct Scheme {
  bool fp16;
  int pieces;
  std::int64_t min_k;      // of what the kernels take: below, the bound for FP32 would not hold
  std::int64_t chosen_k;   // from here on the errors stay under those of FP32 products on the GPU
  std::int64_t chosen_mn;  // and from so many elements of C on (the vendor cuts k for fewer)
  // Low products 1 / low_factor times too large, so small that they may stay in their accumulator
  // over all of k: its drift lies below the sum's last bit.
  bool low_stays;
  float low_factor;
  Band low, high;
};

// The six products whose pieces' numbers add up to 2 at most; the other three lie below 2^-24.
inline constexpr Scheme bf16x6_scheme = {.fp16 = false,
                                         .pieces = 3,
                                         .min_k = 1,
                                         .chosen_k = 64,
                                         .chosen_mn = 1,
                                         .low_stays = false,
                                         .low_factor = 1,
                                         .low = {5, {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}}},
                                         .high = {1, {{0, 0}}}};

// The low pieces are 2^11 times too large.
inline constexpr Scheme fp16x3_scheme = {
    .fp16 = true,
    .pieces = 2,
    .min_k = 32,
    .chosen_k = 512,
    .chosen_mn = 128 * 128 * 132,  // a tile for each SM of an H200
    .low_stays = true,
    .low_factor = 1.0f / 2048,
    .low = {2, {{1, 0}, {0, 1}}},
    .high = {1, {{0, 0}}}};

// Two warpgroups multiply. Either each has its own rows of the tile, `halves` times 64, or both
// have all of them and take every other stage along k (`shares_rows`), to be added up at the end:
// for tiles so small that one warpgroup's sums would wait for each other.
struct Tile {
  int halves;
  int bn;
  int stages;  // of the ring
  bool shares_rows = false;
  bool turns = false;  // the warpgroups take turns at the tensor cores
  int window = 1;      // stages whose products go into one accumulator

  // Whether there are registers for sums of sums (consumer.hpp).
  constexpr bool has_totals() const { return halves * bn <= 64; }
  // Windows that a warpgroup adds up, of so many stages.
  constexpr std::int64_t windows(std::int64_t count) const {
    return count / window / (shares_rows ? 2 : 1);
  }

  constexpr int bm() const { return 64 * halves * (shares_rows ? 1 : 2); }
};

// One row a tile. The three times were fitted to calls of 512 to 4096 cubed, of few outputs and a
// long k, and of many outputs and a short k, on an H200 (driver 580.159, CUDA 13.0), which they
// give to within 15 %; they serve the choice among tiles and against the kernels in plain fp32
// (plan.hpp). Over 25 shapes the chosen tile takes 0.2 % longer than the best.
// `best_tflops`: of the whole call, measured, and where.
struct TileRow {
  const char* name;
  Tile tile;
  double launch_us;  // a call without any work
  double tile_us;    // a tile: first stage and epilogue
  double stage_us;   // 32 of k
  double best_tflops;
};

inline constexpr TileRow bf16x6_tiles[] = {
    {.name = "hopper_bf16x6_256x128",
     .tile = {.halves = 2, .bn = 128, .stages = 3, .turns = true},
     .launch_us = 2.7,
     .tile_us = 3.7,
     .stage_us = 1.78,
     .best_tflops = 134.0},  // 8192
    {.name = "hopper_bf16x6_128x192",
     .tile = {.halves = 1, .bn = 192, .stages = 3, .turns = true},
     .launch_us = 4.6,
     .tile_us = 2.6,
     .stage_us = 1.356,
     .best_tflops = 133.1},  // 8192
    {.name = "hopper_bf16x6_128x128",
     .tile = {.halves = 1, .bn = 128, .stages = 4},
     .launch_us = 3.8,
     .tile_us = 1.26,
     .stage_us = 0.911,
     .best_tflops = 128.0},  // 8192
    {.name = "hopper_bf16x6_64x128",
     .tile = {.halves = 1, .bn = 128, .stages = 4, .shares_rows = true},
     .launch_us = 3.8,
     .tile_us = 1.4,
     .stage_us = 0.531,
     .best_tflops = 110.0},  // 8192
    {.name = "hopper_bf16x6_64x64",
     .tile = {.halves = 1, .bn = 64, .stages = 6, .shares_rows = true},
     .launch_us = 4.1,
     .tile_us = 1.1,
     .stage_us = 0.29,
     .best_tflops = 89.7},  // 3072
    {.name = "hopper_bf16x6_64x32",
     .tile = {.halves = 1, .bn = 32, .stages = 8, .shares_rows = true},
     .launch_us = 4.5,
     .tile_us = 0.87,
     .stage_us = 0.222,
     .best_tflops = 63.4},  // 3072
};

inline constexpr TileRow fp16x3_tiles[] = {
    {.name = "hopper_fp16x3_128x128",
     .tile = {.halves = 1, .bn = 128, .stages = 6, .window = 2},
     .launch_us = 9.4,
     .tile_us = 3.2,
     .stage_us = 0.48,
     .best_tflops = 232.7},  // 8192
};

// Where tiles are fewer than half of the multiprocessors, blocks share them: each computes a part
// of k (tiles that share rows only).
constexpr std::int64_t max_parts = 16, min_part_stages = 8;
constexpr double part_us = 1.5, each_part_us = 0.19;  // the latter of 64 columns

// Where the vendor's sums are short (below fp16x3's chosen_mn), no tile without totals is chosen
// for more windows. Measured at 1408 x 1408: errors at most 1.5 times the vendor's with 128
// windows, up to 1.9 times with 512.
constexpr std::int64_t max_windows = 128;

constexpr const Scheme& scheme_of(bool fp16) { return fp16 ? fp16x3_scheme : bf16x6_scheme; }
constexpr const TileRow& tile_row(bool fp16, int row) {
  return fp16 ? fp16x3_tiles[row] : bf16x6_tiles[row];
}

}  // namespace kw::hopper
