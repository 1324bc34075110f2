// The instances of cgemm_rank_one and the constants of its cost model, as data.
#pragma once

namespace kw {

// A warp has `rows` rows and 64 * `pairs` columns of C, a block `warps` of them below each other.
struct ComplexRankOneConfig {
  int rows, pairs, warps;
  int blocks_per_sm;

  constexpr int threads() const { return 32 * warps; }
  constexpr int block_rows() const { return rows * warps; }
  constexpr int block_columns() const { return 64 * pairs; }
};

// In microseconds, of a launch: its beginning and end, and then the blocks of an SM, or C's way to
// memory.
struct ComplexRankOneTimes {
  double first;   // the beginning and end
  double block;   // each block on an SM
  double memory;  // by which memory takes longer than it is stated to
};

struct ComplexRankOne {
  const char* name;
  ComplexRankOneConfig config;
  ComplexRankOneTimes times;
};

// Fitted to 22 products on an NVIDIA H200, off by a twelfth on average. Beside each what 159 x 902,
// 8538 x 1788 and 13764 x 299 take in microseconds; cuBLAS takes 1.68, 32.5 and 8.77.
inline constexpr ComplexRankOne complex_rank_ones[] = {
    {"cgemm_rank_one_4x64", {4, 1, 8, 6}, {0.944, 0.481, 1.09}},    // 1.40, 32.0, 8.64
    {"cgemm_rank_one_4x128", {4, 2, 4, 6}, {0.856, 0.528, 0.689}},  // 1.36, 32.2, 8.72
};

}  // namespace kw
