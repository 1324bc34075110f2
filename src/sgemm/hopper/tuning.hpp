// The split kernels' tuning, as data: the schemes, the tiles with their times, and the constants of
// every heuristic in plan.hpp. Those of the split pass: split_pass_tuning.hpp.
#pragma once

#include <cstdint>

#include "sgemm/split_arithmetic.hpp"

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
// window does not. What the low band's products are added to, low_band_of says.
struct Scheme {
  bool fp16;
  int pieces;
  std::int64_t min_k;      // the least k that the kernels take; below, FP32's bound would not hold
  std::int64_t chosen_k;   // from here on the errors stay under those of FP32 products on the GPU
  std::int64_t chosen_mn;  // and from so many elements of C on
  float low_unscale;       // what the low products are multiplied by before they join the sums
  // That one sum adds up, in tiles without totals in registers: with 128 a model has bf16x6 up to
  // 2.2 times as wrong as FP32 on drawn data, with 32 up to 1.14, fp16x3 in windows of 64 with 128
  // up to 1.03 (results/cpu/explored-windows-model.txt).
  int windows_per_total;
  Band low, high;
};

// The six products whose pieces' numbers add up to 2 at most; the other three lie below 2^-24.
inline constexpr Scheme bf16x6_scheme = {.fp16 = false,
                                         .pieces = split::bf16_pieces,
                                         .min_k = 1,
                                         .chosen_k = 64,
                                         .chosen_mn = 1,
                                         .low_unscale = 1,
                                         .windows_per_total = 32,
                                         .low = {5, {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}}},
                                         .high = {1, {{0, 0}}}};

// The low pieces are split::low_scale times too large.
inline constexpr Scheme fp16x3_scheme = {.fp16 = true,
                                         .pieces = split::fp16_pieces,
                                         .min_k = 32,
                                         .chosen_k = 512,
                                         .chosen_mn = 896 * 896,
                                         .low_unscale = split::low_unscale,
                                         .windows_per_total = 128,
                                         .low = {2, {{1, 0}, {0, 1}}},
                                         .high = {1, {{0, 0}}}};

// The shares of themselves that fp16x3's sums lose to the tensor cores, which round towards zero:
// where signs are mixed, and where all products have one sign and few are zeros. So much is given
// back.
struct Drift {
  float mixed, one_sign;
};
// By a window's stages, each two instructions whose sums are rounded. From a model of the tensor
// cores' arithmetic that comes to what an H200 has: 0.9e-7 and, for numbers of [0, 1), 1.8e-7 with
// two stages, 3.3e-7 with three (results/h200/explored-split-three.txt).
inline constexpr Drift drift_by_stages[] = {
    {}, {0.6e-7f, 0.7e-7f}, {0.9e-7f, 1.6e-7f}, {1.2e-7f, 2.5e-7f}};

// The operand whose elements the product's own producers split (maker.hpp). It is read once for
// each tile of the other one's rows, 4 bytes an element, where the split pass would read 4, write 6
// and have the product read those: for a large operand that few tiles need.
enum class Direct { none, a, b };

// Two warpgroups multiply. Either each has its own rows of the tile, `m64_blocks` times 64; or both
// have all rows and take every other stage along k (`shares_rows`), and their sums are added at the
// end, by each for half of the columns. The latter is for tiles so small that one warpgroup's
// products would wait for each other.
struct Tile {
  int m64_blocks;
  int bn;
  int stages;  // of the ring
  bool shares_rows = false;
  int window = 1;  // stages whose products go into one accumulator
  Direct direct = Direct::none;

  constexpr bool is_direct() const { return direct != Direct::none; }
  constexpr int bm() const { return 64 * m64_blocks * (shares_rows ? 1 : 2); }
  // Tiles in flight at one time lie close together, so that L2 has what they read: column after
  // column of a strip of so many rows of tiles (scheduler.hpp).
  constexpr int strip_tiles() const { return 1536 / bm(); }
  // Its blocks select the path with fewer waits, since a call is short: 1024 cubed from 26.0 to
  // 25.3 us by bf16x6's 64x128.
  constexpr bool begins_soon() const { return shares_rows; }
  // Columns of whose sums a warpgroup has the whole at the end.
  constexpr int own_columns() const { return shares_rows ? bn / 2 : bn; }
  // Registers of a thread for one accumulator: of 64 x bn floats over 128 threads.
  constexpr int registers() const { return bn / 2; }
  // Sums of both warpgroups.
  constexpr std::int64_t sums() const { return std::int64_t{2} * 64 * m64_blocks * bn; }
  constexpr Drift drift() const { return drift_by_stages[window]; }
  // Windows that a warpgroup adds up over so many stages.
  constexpr std::int64_t windows(std::int64_t count) const {
    return count / window / (shares_rows ? 2 : 1);
  }
  // Stages of so many windows.
  constexpr std::int64_t stages_of(std::int64_t count) const {
    return count * window * (shares_rows ? 2 : 1);
  }
};

// Where the low band's products are summed.
enum class LowBand {
  // In an accumulator of their own, which joins the sums every `windows_per_fold` windows. What so
  // short a chain loses lies below the sums' last bit.
  folded,
  // In an accumulator of their own over all of k. fp16x3's low products are 2^11 times too large
  // there, so what the chain loses lies below the sums' last bit.
  kept,
};
constexpr int windows_per_fold = 16;

constexpr LowBand low_band_of(const Scheme& scheme) {
  return scheme.fp16 ? LowBand::kept : LowBand::folded;
}
// Whether there are registers for sums of sums: FP32 sums over windows_per_fold windows, then over
// those. A long row of additions loses as a chain in tensor cores does, if less.
constexpr bool has_totals(const Scheme& scheme, const Tile& tile) {
  return low_band_of(scheme) == LowBand::folded && tile.m64_blocks * tile.bn <= 64;
}
// Stages after which the sums of other tiles join totals in the workspace (totals.hpp).
constexpr std::int64_t stages_per_total(const Scheme& scheme, const Tile& tile) {
  constexpr std::int64_t never = std::int64_t{1} << 30;
  return has_totals(scheme, tile) ? never : tile.stages_of(scheme.windows_per_total);
}

// With fewer elements of C the vendor cuts k into parts, so that its sums are short and its errors
// small: a tile for nearly each SM of an H200.
constexpr std::int64_t few_outputs = 128 * 128 * 128;

// Where tiles have a range of k each: what a launch and a tile take longer, and a stage. Fitted to
// some 200 products of triangles of 50 to 2600 rows on an H200.
struct RangeTimes {
  double launch_us = 0, tile_us = 0, stage_us = 0;

  constexpr bool any() const { return stage_us > 0; }
};

// One row a tile. The times were fitted to random products on an H200 (driver 580.159, CUDA
// 13.0), bf16x6's to results/h200/explored-choice-tail.txt; they serve the choice among tiles and
// against the kernels in plain fp32 (plan.hpp). `best_tflops`: of the whole call, where measured,
// and where. fp16x3's tile of 128x144 has 128x128's times by its width.
struct TileRow {
  const char* name;
  Tile tile;
  double launch_us;      // a call without any work
  double tile_us;        // a tile: first stage and epilogue
  double stage_us;       // 32 of k
  double shift_us;       // added to a wave of tiles whose rows of C are not aligned or end in them
  double stored_us = 0;  // 10^6 bytes of C
  double longer = 0;     // by so much a call of eight times long_from_us and more is
  double unaligned_us = 0.7;      // the split pass reads A or B by 4 bytes
  double unaligned_stage_us = 0;  // makers read rows along k by 4 bytes
  double best_tflops = 0;
  bool fp16 = false;              // the scheme
  std::int64_t chosen_mn = 0;     // in place of the scheme's, where not 0
  std::int64_t most_windows = 0;  // of few outputs, in place of max_windows_without_totals
  // Has an instance for a triangle of C, or for ranges of k (shaped_scheduler.hpp).
  bool triangles = false;
  RangeTimes ranges = {};
};

// From here on calls take longer than their stages do in short ones: the clock falls.
constexpr double long_from_us = 64;

inline constexpr TileRow bf16x6_tiles[] = {
    {.name = "hopper_bf16x6_128x144",
     .tile = {.m64_blocks = 1, .bn = 144, .stages = 4},
     .launch_us = 5.2,
     .tile_us = 1.67,
     .stage_us = 0.917,
     .shift_us = 1.37,
     .stored_us = 0.19,
     .longer = 0.05,
     .unaligned_us = 0.2},
    {.name = "hopper_bf16x6_128x128",
     .tile = {.m64_blocks = 1, .bn = 128, .stages = 4},
     .launch_us = 4.95,
     .tile_us = 1.5,
     .stage_us = 0.806,
     .shift_us = 1.4,
     .stored_us = 0.19,
     .longer = 0.05,
     .unaligned_us = 0.2,
     .best_tflops = 128.0,  // 8192
     .triangles = true,
     .ranges = {.launch_us = 3.2, .tile_us = 5.8, .stage_us = 0.90}},
    {.name = "hopper_bf16x6_64x128",
     .tile = {.m64_blocks = 1, .bn = 128, .stages = 4, .shares_rows = true},
     .launch_us = 5.1,
     .tile_us = 1.75,
     .stage_us = 0.416,
     .shift_us = 0.66,
     .stored_us = 0.2,
     .longer = 0.22,
     .unaligned_us = 0.2,
     .best_tflops = 110.0},  // 8192
    {.name = "hopper_bf16x6_64x64",
     .tile = {.m64_blocks = 1, .bn = 64, .stages = 6, .shares_rows = true},
     .launch_us = 5.05,
     .tile_us = 1.06,
     .stage_us = 0.223,
     .shift_us = 0.56,
     .stored_us = 0.18,
     .longer = 0.2,
     .unaligned_us = 0.2,
     .best_tflops = 89.7,  // 3072
     .triangles = true},
    {.name = "hopper_bf16x6_64x32",
     .tile = {.m64_blocks = 1, .bn = 32, .stages = 8, .shares_rows = true},
     .launch_us = 5.7,
     .tile_us = 0.56,
     .stage_us = 0.183,
     .shift_us = 0.52,
     .stored_us = 0.11,
     .longer = 0.08,
     .unaligned_us = 0.2,
     .best_tflops = 63.4},  // 3072
    // Their stages take as long as the makers do: results/h200/explored-split-direct.txt.
    {.name = "hopper_bf16x6_128x128a",
     .tile = {.m64_blocks = 1, .bn = 128, .stages = 4, .direct = Direct::a},
     .launch_us = 6,
     .tile_us = 2,
     .stage_us = 1.35,
     .shift_us = 1.4,
     .stored_us = 0.19,
     .longer = 0.05,
     .unaligned_us = 0.2,
     .unaligned_stage_us = 0.25},
    {.name = "hopper_bf16x6_128x64a",
     .tile = {.m64_blocks = 1, .bn = 64, .stages = 6, .direct = Direct::a},
     .launch_us = 6,
     .tile_us = 1.5,
     .stage_us = 1.2,
     .shift_us = 0.66,
     .stored_us = 0.2,
     .longer = 0.05,
     .unaligned_us = 0.2,
     .unaligned_stage_us = 0.25},
    {.name = "hopper_bf16x6_128x128b",
     .tile = {.m64_blocks = 1, .bn = 128, .stages = 4, .direct = Direct::b},
     .launch_us = 6,
     .tile_us = 2,
     .stage_us = 1.35,
     .shift_us = 1.4,
     .stored_us = 0.19,
     .longer = 0.05,
     .unaligned_us = 0.2,
     .unaligned_stage_us = 0.3},
    {.name = "hopper_bf16x6_64x128b",
     .tile = {.m64_blocks = 1, .bn = 128, .stages = 4, .shares_rows = true, .direct = Direct::b},
     .launch_us = 6,
     .tile_us = 1.75,
     .stage_us = 1.15,
     .shift_us = 0.66,
     .stored_us = 0.2,
     .longer = 0.05,
     .unaligned_us = 0.2,
     .unaligned_stage_us = 0.3},
};

// Of fewer outputs than few_outputs, of whose sums the vendor makes several: errors at most 0.56
// times the vendor's with runs of so many windows, for numbers of [0, 1); up to 0.96 times with 64,
// and 1.17 times with 94 (results/h200/explored-split-mid.txt).
constexpr std::int64_t windows_of_wide_tiles = 40;

inline constexpr TileRow fp16x3_tiles[] = {
    {.name = "hopper_fp16x3_128x128",
     .tile = {.m64_blocks = 1, .bn = 128, .stages = 6, .window = 2},
     .launch_us = 10.0,
     .tile_us = 3.8,
     .stage_us = 0.448,
     .shift_us = 0.6,
     .best_tflops = 232.7,  // 8192
     .fp16 = true,
     .most_windows = windows_of_wide_tiles,
     .triangles = true,
     .ranges = {.launch_us = 5.9, .tile_us = 9.1, .stage_us = 0.378}},
    {.name = "hopper_fp16x3_128x144",
     .tile = {.m64_blocks = 1, .bn = 144, .stages = 6, .window = 2},
     .launch_us = 10.2,
     .tile_us = 4.2,
     .stage_us = 0.504,
     .shift_us = 0.9,
     .fp16 = true,
     .most_windows = windows_of_wide_tiles},
    // Windows of three stages: a third fewer additions of windows to sums, which is energy, and a
    // slower beginning and end. Where it wins, with a k of 3000 and more, by 4 to 8 %.
    {.name = "hopper_fp16x3_128x144w96",
     .tile = {.m64_blocks = 1, .bn = 144, .stages = 6, .window = 3},
     .launch_us = 10.2,
     .tile_us = 5.8,
     .stage_us = 0.476,
     .shift_us = 0.9,
     .fp16 = true,
     .chosen_mn = few_outputs},
    {.name = "hopper_fp16x3_64x128",
     .tile = {.m64_blocks = 1, .bn = 128, .stages = 6, .shares_rows = true},
     .launch_us = 8.2,
     .tile_us = 3.0,
     .stage_us = 0.276,
     .shift_us = 0.3,
     .best_tflops = 190.2,  // 4096
     .fp16 = true,
     // Two warpgroups add up half of a sum each: errors at most cuBLAS's from 256 x 256 on with k
     // from 512 to 16384, but 1.01 times for numbers near one at 512 x 512 with a k of 4096
     // (results/h200/explored-split-direct.txt); at most 0.4 times from 896 x 896 on.
     .chosen_mn = 256 * 256,
     // A k of 16384, in results/h200/explored-split-windows.txt: errors at most 0.47 times the
     // vendor's; with a k of 65536, of which the vendor cuts more, up to 55 times.
     .most_windows = 256},
};

// Rows and columns of every tile that has an instance for ranges of k.
constexpr int range_tile_side = 128;

constexpr const Scheme& scheme_of(bool fp16) { return fp16 ? fp16x3_scheme : bf16x6_scheme; }
constexpr const TileRow& tile_row(bool fp16, int row) {
  return fp16 ? fp16x3_tiles[row] : bf16x6_tiles[row];
}

// --- split-K and stream-K: blocks that share a tile compute a part of k each (schedule.hpp)

// Split-K is for tiles that share rows: others took 31 us at 1024 cubed where these take 27.
constexpr std::int64_t max_k_splits = 16;
constexpr std::int64_t min_k_split_stages = 8;  // of 32 along k
// What adding up a tile's parts takes: once, and for each part of 64 columns.
constexpr double k_split_us = 1.7, each_k_split_us = 0.14;
// What cutting the last rounds of tiles costs beside products: parts that are left and read, blocks
// that meet no others at the same k. Once, and for each 64 x 64 of a tile. From calls of 768 to
// 3072 cubed on an H200: cutting saves, for example, 21 us of products and 12 us of the call at
// 1536 with fp16x3's 128 x 128.
constexpr double rounds_cut_us = 2, each_rounds_cut_us = 2;
// So much of L2 keeps what blocks at different k have copied (cut_stage_us): SMs of both of its
// halves copy it, and then it lies in both.
constexpr double cut_l2_share = 0.5;

// --- blocks that keep pace (pace.hpp)

constexpr int pace_stages = 16;
// Not where a stage is so short that the producer's question each time is a visible part of it:
// 5 % of bf16x6's 64 x 32.
constexpr bool keeps_pace(const Tile& tile) { return !tile.shares_rows && !tile.is_direct(); }
constexpr int most_looks = 32;  // at the progress of the others, 0.6 us each

// --- the choice among tiles

// From this k on fp16x3 is chosen where ranges of k begin at a diagonal. Of 16 such products half
// went to bf16x6 after their operands had been sampled: slower than plain FP32 below.
constexpr std::int64_t fp16x3_from_diagonal_k = 1024;

// Where the vendor's sums are short (few_outputs), no tile without totals in registers is chosen
// for more windows. Measured at 1408 x 1408: errors at most 1.5 times the vendor's with 128
// windows, up to 1.9 times with 512.
constexpr std::int64_t max_windows_without_totals = 128;
// What the split pass reads and writes in a microsecond where L2 keeps the packed operands, and
// else, as a share of memory's bandwidth. Fitted to random products on an H200 and an H100.
constexpr double split_pass_bytes_per_us = 3.5e6;
constexpr double split_pass_share_of_memory = 0.6;
constexpr double edge_wave_share = 0.5;  // of shift_us, where only tiles at an edge store so
// By so much a split kernel's prediction must be below that of the kernels in plain fp32.
constexpr double choice_margin = 1.05;

}  // namespace kw::hopper
