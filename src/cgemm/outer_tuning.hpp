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

inline constexpr int complex_outer_most_k = 16;

// Fitted to 61 products on an NVIDIA H200, off by a twelfth on average.
inline constexpr ComplexOuter complex_outers[] = {
    {"cgemm_outer_16x32", {2, 1, 6}, {1.20, 0.285, 0.0113, 0.134, 2.3}},
    {"cgemm_outer_32x64", {4, 2, 3}, {1.66, 0.500, 0.0672, 0.0857, 1.07}},
    {"cgemm_outer_64x64", {8, 2, 2}, {2.37, 0.914, 0.0417, 0.260, 0.87}},
    {"cgemm_outer_16x128", {2, 4, 4}, {1.49, 0.545, 0.0391, 0.227, 1.30}},
    {"cgemm_outer_64x128", {8, 4, 2}, {4.35, 1.81, 0.0806, 0.234, 1.03}},
};

}  // namespace kw
