// The configurations of cgemm_lean and the constants of its cost model, as data.
#pragma once

#include <cstddef>

namespace kw {

struct ComplexLeanConfig {
  int tm, tn;            // outputs per thread
  int lanes_m, lanes_n;  // threads of a warp
  int warps_m, warps_n;  // of a block
  int bk;                // k of a stage
  int stages;            // of the ring
  int blocks_per_sm;
  // Whether all steps of a stage lie side by side, the last one's too: the code waits for nothing
  // between two stages, and multiplies zeros behind the end of k.
  bool whole_stages = false;

  constexpr int warp_m() const { return tm * lanes_m; }
  constexpr int warp_n() const { return tn * lanes_n; }
  constexpr int bm() const { return warps_m * warp_m(); }
  constexpr int bn() const { return warps_n * warp_n(); }
  constexpr int threads() const { return 32 * warps_m * warps_n; }
  // Of the last stage so many k are multiplied.
  constexpr int k_multiple() const { return whole_stages ? bk : 2; }
  // Floats of a stage's line of each operand, padded so that copies that turn it meet all banks.
  constexpr int pitch_a() const { return 2 * bm() + 4; }
  constexpr int pitch_b() const { return 2 * bn() + 4; }
  constexpr int stage() const { return bk * (pitch_a() + pitch_b()); }
  constexpr std::size_t shared_bytes() const {
    return sizeof(float) * static_cast<std::size_t>(stages * stage());
  }
};

// In microseconds. An SM's blocks go in rounds of as many as it holds; 16 k of each take busy_us of
// each block of the round and alone_us at the least.
struct ComplexLeanTimes {
  double first_us;  // the beginning and end of a launch
  double alone_us, busy_us;
  double block_us;  // a block's beginning and end, beside those of its round
  double round_us;  // the same of a round
  double memory;    // by which memory takes longer than it is stated to
};

struct ComplexLean {
  const char* name;
  ComplexLeanConfig config;
  ComplexLeanTimes times;
};

// Fitted to 430 products on an NVIDIA H200 (results/h200/explored-complex-lean.txt,
// explored-complex-waits.txt), off by a twentieth on average. The times of all kernels of plain
// FP32 are fitted together: to what the kernel of the least prediction takes longer than the
// quickest, and a little to the measured times themselves.
inline constexpr ComplexLean complex_leans[] = {
    {"cgemm_lean_64x64", {4, 8, 8, 4, 2, 2, 16, 3, 3}, {0.93, 1.65, 1.35, 0.955, 0.96, 1.2}},
    {"cgemm_lean_64x64b", {4, 8, 8, 4, 2, 2, 8, 3, 4}, {1.69, 1.82, 1.37, 0.946, 0.476, 1.2}},
    {"cgemm_lean_64x32", {4, 4, 8, 4, 2, 2, 16, 3, 5}, {1.5, 0.998, 0.755, 0.463, 0.277, 1.2}},
    {"cgemm_lean_32x64", {4, 4, 4, 8, 2, 2, 16, 3, 5}, {1.67, 1.01, 0.769, 0.449, 0.168, 1.2}},
    {"cgemm_lean_64x32s", {4, 4, 8, 4, 2, 2, 8, 3, 5, true}, {1.3, 0.87, 0.735, 0.4, 0.3, 1.2}},
    {"cgemm_lean_32x64s", {4, 4, 4, 8, 2, 2, 8, 3, 5, true}, {1.3, 0.96, 0.75, 0.4, 0.3, 1.2}},
    {"cgemm_lean_32x32", {2, 4, 8, 4, 2, 2, 16, 3, 6}, {1.23, 0.681, 0.462, 0.262, 0.127, 1.2}},
};

}  // namespace kw
