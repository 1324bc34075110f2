// The instances of cgemm_few and the constants of its cost model, as data.
#pragma once

#include <cstdint>

namespace kw {

// A thread has `rows` elements of one column of C, and up to `k` elements of each operand for them.
struct ComplexFewConfig {
  int k, rows;

  static constexpr int threads = 256;
};

// In microseconds, of a launch: its beginning and end, and then the blocks of an SM, or C's way to
// memory.
struct ComplexFewTimes {
  double first;  // the beginning and end
  double block;  // each block on an SM
  // Each k of a B that lies along k, of a block whose warps have 32 columns or more: their lanes
  // then read as many lines of memory.
  double along_k;
};

struct ComplexFew {
  const char* name;
  ComplexFewConfig config;
  ComplexFewTimes times;
};

inline constexpr std::int64_t complex_few_most_columns = 64;

// Fitted to 160 products on an NVIDIA H200 (results/h200/explored-complex-few.txt), off by a tenth
// on average.
inline constexpr ComplexFew complex_fews[] = {
    {"cgemm_few_k1", {1, 2}, {0.922, 0.206, 0.0108}},
    {"cgemm_few_k2", {2, 2}, {0.887, 0.259, 0.0026}},
    {"cgemm_few_k4", {4, 2}, {0.818, 0.32, 0.011}},
    {"cgemm_few_k4_4", {4, 4}, {0.858, 0.537, 0.0203}},
    {"cgemm_few_k8_1", {8, 1}, {0.879, 0.331, 0.0107}},
    {"cgemm_few_k8", {8, 2}, {0.841, 0.47, 0.0168}},
    {"cgemm_few_k8_4", {8, 4}, {0.892, 0.76, 0.0135}},
};

}  // namespace kw
