// How lines along k come to lie k after k in a stage.
#pragma once

#include "host_device.hpp"

namespace kw {

// A warp copies `k_along` k of a line at a time, float by float: eight of four lines; or sixteen of
// two, or 32 of one, for which it asks for fewer sectors. So that the latter lie in 32 banks as
// well, rows lie apart from their place among four by the bits of swapped(), another number for
// each eight of those k. An eight is either multiplied by one of the `sharing` warps that share a
// tile along k, whose sums then lie apart in the same way; or, where each warp multiplies all
// (`halves`), those that are swapped are the second half of a stage.
template <int k_along, bool halves, int sharing>
struct TurnedLines {
  static constexpr int along = k_along;

  // Of a number of such eights.
  KW_HOST_DEVICE static constexpr int swapped(int eight) {
    return along == 16 ? eight % 2 * 2 : eight % (along / 8);
  }
  // Where a k of a whole stage of `depth` lies.
  KW_HOST_DEVICE static constexpr int row(int k, int depth) {
    return halves ? k / 8 % 2 * (depth / 2) + k / 16 * 8 + k % 8 : k;
  }
  // Where an element lies in a tile's last stage, of which each of the warps that share it
  // multiplies k_each of k; 0: as of any other stage.
  KW_HOST_DEVICE static constexpr int place(int i, int k, int k_each, int depth, int pitch) {
    if (k_each == 0) return row(k, depth) * pitch + (i ^ swapped(k / 8));
    int warp = 0;
    for (int w = 1; w < sharing; ++w) warp += k >= w * k_each ? 1 : 0;
    return k * pitch + (i ^ swapped(warp));
  }
};

}  // namespace kw
