// The configurations of cgemm_lean and the constants of its cost model, as data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace kw {

struct ComplexLeanConfig {
  int tm, tn;            // outputs per thread
  int lanes_m, lanes_n;  // threads of a warp
  int warps_m, warps_n;  // of a block
  int blocks_per_sm;
  int steps = 2;   // of k in an iteration
  int groups = 1;  // of warps that share the block's tile, each a part of every stage's k
  // Whether a stage's last steps are apart from the loop, with the way to the next stage among
  // them.
  bool ends_apart = false;
  // Whether a tile of which at most half of the rows or columns lie in C is computed as half a
  // tile.
  bool halves = false;

  // k of a stage, and of a group's part; two stages lie in shared memory.
  static constexpr int group_k = 8;
  constexpr int bk() const { return groups * group_k; }

  constexpr ComplexLeanConfig half_rows() const {
    ComplexLeanConfig half = *this;
    half.tm /= 2;
    return half;
  }
  constexpr ComplexLeanConfig half_columns() const {
    ComplexLeanConfig half = *this;
    half.tn /= 2;
    return half;
  }

  constexpr int warp_m() const { return tm * lanes_m; }
  constexpr int warp_n() const { return tn * lanes_n; }
  constexpr int bm() const { return warps_m * warp_m(); }
  constexpr int bn() const { return warps_n * warp_n(); }
  constexpr int warps() const { return warps_m * warps_n * groups; }
  constexpr int threads() const { return 32 * warps(); }
  // Floats of a stage's line of each operand, padded so that copies that turn it meet all banks.
  constexpr int pitch_a() const { return 2 * bm() + 4; }
  constexpr int pitch_b() const { return 2 * bn() + 4; }
  constexpr int stage() const { return bk() * (pitch_a() + pitch_b()); }
  // What is left there on the way to C: by each warp some of its rows, or by each group its sums.
  constexpr int staged_pitch() const { return 2 * (groups > 1 ? bn() : warp_n()) + 4; }
  constexpr int staged() const {
    return (groups > 1 ? groups * bm() : warps() * 2 * lanes_m) * staged_pitch();
  }
  // Whether tiles are cut along k: those of groups never gain by it.
  constexpr bool can_be_cut() const { return groups == 1; }
  // The sums of a part of a tile: of all threads.
  constexpr int part_floats() const { return 2 * tm * tn * threads(); }
  constexpr std::size_t shared_bytes() const {
    return sizeof(float) * static_cast<std::size_t>(std::max(2 * stage(), staged()));
  }
};

// In microseconds. An SM's blocks go in rounds of as many as it holds; 16 k of each take busy_us of
// each block of the round and waits_us beside, and alone_us at the least.
struct ComplexLeanTimes {
  double first_us;  // the beginning and end of a launch
  double alone_us, busy_us, waits_us;
  double block_us;  // a block's beginning and end, beside those of its round
  double round_us;  // the same of a round
  double memory;    // by which memory takes longer than it is stated to
  // Blocks of a last round come to SMs as these get free, several to one and none to another: as
  // many more on the SM that has the most as this of what the round has beside whole numbers.
  double loose = 0.5;
};

// What is added where tiles are cut along k (sgemm/tile_cut.hpp): to a launch, for each part of a
// tile, and to a part's block. Fitted to 338 cuts of products (results/h200/explored-lean-cut.txt),
// off by a twentieth on average.
struct ComplexCutTimes {
  double launch_us, part_us, block_us;
};
inline constexpr ComplexCutTimes complex_cut_times = {1.84, 0.11, 0.19};
// Up to where the choice gains by such cuts.
inline constexpr std::int64_t complex_cut_most_k = 500;

struct ComplexLean {
  const char* name;
  ComplexLeanConfig config;
  ComplexLeanTimes times;
};

// Fitted to 430 products on an NVIDIA H200 (results/h200/explored-complex-lean.txt,
// explored-complex-waits.txt) and then to 226 more (explored-complex-short.txt), off by a twentieth
// on average. The times of all kernels of plain FP32 are fitted together: to what the kernel of the
// least prediction takes longer than the quickest, and a little to the measured times themselves.
// Those of 64x64, and what its halves take (halves.hpp), are of 594 products more
// (explored-complex-sides.txt).
inline constexpr ComplexLean complex_leans[] = {
    {"cgemm_lean_64x64",
     {4, 8, 8, 4, 2, 2, 3, 2, 1, true, true},
     {0.351, 1.566, 1.31, 0.129, 0.774, 2.227, 2.686, 0.165}},
    {"cgemm_lean_64x48",
     {4, 6, 8, 4, 2, 2, 4, 4},
     {1.607, 1.327, 0.986, 0.193, 0.729, 0.771, 3.222, 0.486}},
    {"cgemm_lean_48x64",
     {6, 4, 4, 8, 2, 2, 4, 4},
     {0.621, 1.279, 1, 0.19, 0.563, 1.378, 1.19, 0.341}},
    {"cgemm_lean_64x32", {4, 4, 8, 4, 2, 2, 5}, {1.652, 0.904, 0.691, 0.157, 0.482, 0, 2.689, 0.5}},
    {"cgemm_lean_32x64",
     {4, 4, 4, 8, 2, 2, 5},
     {1.311, 0.938, 0.688, 0.159, 0.546, 0.183, 2.506, 0.489}},
    {"cgemm_lean_64x32k4",
     {4, 8, 8, 4, 2, 1, 1, 2, 4},
     {0.037, 0.731, 0.666, 0, 0, 2.432, 1.2, 0.5}},
    {"cgemm_lean_32x32k4",
     {4, 8, 8, 4, 1, 1, 3, 2, 4},
     {0.828, 0.424, 0.365, 0, 0.651, 0.393, 3.906, 0.761}},
};

}  // namespace kw
