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
  // Elements from row to row of A's tile, padded since two are read at once.
  constexpr int pitch() const { return k + 2; }
  // The same of a B that lies along k, whose columns lie in different banks.
  constexpr int pitch_b() const { return k + 1; }
  // Elements of A's two tiles, and of `strips` of such a B.
  constexpr int elements(int strips) const {
    return 2 * most_rows * pitch() + strips * width() * pitch_b();
  }
};

// In microseconds: a launch's beginning and end, each block on an SM, each tile of A's rows that
// its blocks have at once, and each warp's row of C; by which memory takes longer than it is stated
// to, and a row where a block is alone on its SM.
struct ComplexStripTimes {
  double first, block, tile, row, memory;
  double alone = 1;
};

struct ComplexStrip {
  ComplexStripConfig config;
  ComplexStripTimes times;
};

inline constexpr int complex_strip_most_k = 16, complex_strip_most_blocks_n = 1 << 15;

// Fitted to all cuts of 110 products on an NVIDIA H200 (results/h200/explored-complex-lean.txt)
// together with the times of the other kernels (lean_tuning.hpp); off by an eighth on average. Of
// blocks that are alone by those of explored-complex-copies.txt.
inline constexpr ComplexStrip complex_strips[] = {
    {{2, 1, 5}, {0.563, 0.231, 0.766, 0.00744, 1.27}},
    {{2, 2, 5}, {0.95, 0.295, 0.323, 0.0121, 1.33}},
    {{2, 4, 4}, {1.21, 0.373, 0.0966, 0.0205, 1.26}},
    {{4, 1, 6}, {0.63, 0.264, 0.677, 0.00947, 1.22}},
    {{4, 2, 4}, {1.11, 0.232, 0.264, 0.018, 1.22}},
    {{4, 4, 3}, {1.38, 0.122, 0.199, 0.0357, 0.915}},
    {{8, 1, 4}, {0.693, 0.336, 0.595, 0.0108, 1.3, 1.25}},
    {{8, 2, 3}, {0.96, 0.616, 0.441, 0.0178, 1, 1.25}},
    {{16, 1, 3}, {0.707, 0.601, 0.513, 0.0181, 2.2, 1.25}},
    {{16, 2, 2}, {0.97, 1.23, 0.478, 0.028, 1.88, 1.25}},
};

// So much longer than by these times with a k of one, of which the strips hold two: 17 products on
// an NVIDIA H200 (results/h200/explored-complex-narrow.txt, run 7).
inline constexpr double complex_strip_k_of_one = 1.22;

inline constexpr int complex_strip_count = static_cast<int>(std::size(complex_strips));

}  // namespace kw
