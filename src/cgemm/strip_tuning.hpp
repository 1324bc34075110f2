// The instances of cgemm_strip and the constants of its cost model, as data.
#pragma once

#include <iterator>

namespace kw {

// A warp keeps a strip of B in registers: up to `k` rows, and 32 * `columns` columns.
struct ComplexStripConfig {
  int k, columns;
  int blocks_per_sm;

  static constexpr int threads = 256, warps = threads / 32, most_rows = 64;
  constexpr int width() const { return 32 * columns; }
  // Elements from row to row of A's tile, padded where several are read at once.
  constexpr int pitch() const { return k == 1 ? 1 : k + 2; }
};

// In microseconds: a launch's beginning and end, each block on an SM, each tile of A's rows that
// its blocks have at once, and each warp's row of C; and by which memory takes longer than it is
// stated to.
struct ComplexStripTimes {
  double first, block, tile, row, memory;
};

struct ComplexStrip {
  ComplexStripConfig config;
  ComplexStripTimes times;
};

inline constexpr int complex_strip_most_k = 16, complex_strip_most_blocks_n = 1 << 15;

// Fitted to all cuts of 110 products on an NVIDIA H200 (results/h200/explored-complex-lean.txt),
// off by an eighth on average.
inline constexpr ComplexStrip complex_strips[] = {
    {{1, 1, 5}, {1, 0.247, 0.582, 0.0063, 1.15}},
    {{1, 2, 5}, {1.23, 0.204, 0.336, 0.0121, 1.12}},
    {{1, 4, 5}, {0.971, 0.416, 0.585, 0.021, 1.36}},
    {{2, 1, 5}, {0.656, 0.272, 0.766, 0.0077, 1.2}},
    {{2, 2, 5}, {1.1, 0.338, 0.311, 0.0115, 1.19}},
    {{2, 4, 4}, {1.34, 0.358, 0.116, 0.02, 1.21}},
    {{4, 1, 6}, {0.933, 0.221, 0.697, 0.0092, 1.2}},
    {{4, 2, 4}, {1.34, 0.137, 0.332, 0.018, 1.22}},
    {{4, 4, 3}, {1.55, 0.0819, 0.224, 0.0352, 0.915}},
    {{8, 1, 4}, {0.963, 0.327, 0.625, 0.0103, 1.3}},
    {{8, 2, 3}, {1.29, 0.574, 0.457, 0.0175, 1}},
    {{16, 1, 3}, {0.986, 0.58, 0.574, 0.0174, 2.2}},
    {{16, 2, 2}, {1.51, 1.13, 0.471, 0.0284, 1.85}},
};

inline constexpr int complex_strip_count = static_cast<int>(std::size(complex_strips));

}  // namespace kw
