// Which elements of C a thread holds at the end of a tile.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/hopper/scheduler.hpp"

namespace KW_TARGET::hopper {

// The part of a tile that one thread holds, as wgmma hands it out of a packed B, whose columns are
// in the order of packed_column: rows `row` + row_of(h, i), columns `column` + column_of(i) in
// sums[h][i].
template <int blocks, int bn>
struct OutputFragment {
  float (&sums)[blocks][bn / 2];
  int entry, row, column, lane;

  __device__ __forceinline__ static constexpr int row_of(int h, int i) {
    return 64 * h + 8 * (i / 2 % 2);
  }
  __device__ __forceinline__ static constexpr int column_of(int i) {
    return i / 8 * 16 + i / 4 % 2 * 2 + i % 2;
  }
  // Calls body(sum, i, j) for every element, row + i and column + j of the product.
  template <class Body>
  __device__ __forceinline__ void each(Body body) {
#pragma unroll
    for (int h = 0; h < blocks; ++h)
#pragma unroll
      for (int i = 0; i < bn / 2; ++i) body(sums[h][i], row_of(h, i), column_of(i));
  }
  // Calls body(i, j, four sums) for every four neighbours of a row.
  template <class Body>
  __device__ __forceinline__ void each_four(Body body) {
#pragma unroll
    for (int h = 0; h < blocks; ++h) {
#pragma unroll
      for (int i = 0; i < bn / 2; i += i % 4 == 0 ? 2 : 6) {
        float* const x = &sums[h][i];
        body(row_of(h, i), column_of(i), x[0], x[1], x[4], x[5]);
      }
    }
  }
};

// What a thread of a warpgroup holds of a tile; `row`, `column`: where in it the warpgroup's part
// begins.
template <int blocks, int bn>
__device__ __forceinline__ OutputFragment<blocks, bn> output_fragment(
    const OutputTile& output, int row, int column, int thread, float (&sums)[blocks][bn / 2]) {
  return {sums, static_cast<int>(output.entry),
          static_cast<int>(output.i0) + row + thread / 32 * 16 + thread % 32 / 4,
          static_cast<int>(output.j0) + column + thread % 4 * 4, thread % 32};
}

}  // namespace KW_TARGET::hopper
