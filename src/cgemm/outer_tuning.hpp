// The instances of cgemm_outer and the constants of its cost model, as data.
#pragma once

namespace kw {

// A warp has `rows` rows and 32 * `columns` columns of C, a block eight warps below each other.
struct ComplexOuterConfig {
  int rows, columns;  // outputs of a thread
  int blocks_per_sm;

  static constexpr int threads = 256, warps = threads / 32;
  constexpr int block_rows() const { return warps * rows; }
  constexpr int block_columns() const { return 32 * columns; }
};

// In microseconds, of a launch: its beginning and end, and then the longest of its tiles one after
// the other on an SM, each with its k, and C's way to memory.
struct ComplexOuterTimes {
  double first;         // the beginning and end
  double tile, tile_k;  // a tile on an SM, and each of its k
  double wait_k;        // each k of the tiles that an SM has at once
  double memory;        // by which memory takes longer than it is stated to
};

struct ComplexOuter {
  const char* name;
  ComplexOuterConfig config;
  ComplexOuterTimes times;
};

// With a larger k strips are quicker, by all products of explored-complex-lean.txt.
inline constexpr int complex_outer_most_k = 4;

// Fitted to 110 products on an NVIDIA H200 together with the times of the other kernels
// (lean_tuning.hpp), off by a tenth on average.
inline constexpr ComplexOuter complex_outers[] = {
    {"cgemm_outer_16x32", {2, 1, 6}, {1.21, 0.27, 0.0195, 0.132, 2.49}},
    {"cgemm_outer_32x64", {4, 2, 3}, {1.68, 0.497, 0.0529, 0.109, 1.23}},
    {"cgemm_outer_64x64", {8, 2, 2}, {2.22, 0.889, 0.0227, 0.286, 1.15}},
    {"cgemm_outer_16x128", {2, 4, 4}, {1.68, 0.459, 0.0356, 0.143, 1}},
    {"cgemm_outer_64x128", {8, 4, 2}, {4.57, 1.44, 0.0965, 0.25, 1.1}},
};

}  // namespace kw
