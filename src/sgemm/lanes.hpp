// Where the lanes of a warp lie in its part of a tile.
#pragma once

#include "host_device.hpp"

namespace kw {

// Loads of 16 bytes from shared memory go by quarters of a warp, by halves where each lane has the
// address of the one next to it, or of the one two further. So lanes that differ in their lowest
// bit are of one row, those that differ in the next one of one column: both operands' elements
// come by halves. `m` and `n` are their numbers, powers of two.
template <int m, int n, bool pairs = true>
struct Lanes {
  static_assert(m * n == 32);
  static constexpr bool in_pairs = pairs && m > 1 && n > 1;

  KW_HOST_DEVICE static constexpr int row(int lane) {
    return in_pairs ? (lane / 2 & 1) | lane / (2 * n) * 2 : lane / n;
  }
  KW_HOST_DEVICE static constexpr int col(int lane) {
    return in_pairs ? (lane & 1) | lane / 4 % (n / 2) * 2 : lane % n;
  }
  // Columns that eight neighbouring lanes have side by side.
  static constexpr int side_by_side = in_pairs ? (n < 4 ? n : 4) : (n < 8 ? n : 8);
};

}  // namespace kw
