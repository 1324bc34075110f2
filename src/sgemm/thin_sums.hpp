// How the sums of `thin` come together: over the threads of a block that share rows, through the
// lanes of a warp and shared memory, and over the blocks that share rows, through the workspace.
#pragma once

#include "device/overlap.hpp"
#include "device/warp.hpp"
#include "sgemm/thin_share.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET::thin {

// acc = the sum over the lanes of a warp whose numbers differ in the bits from `first` to `end`.
template <int R, int W>
__device__ __forceinline__ void add_lanes(float (&acc)[R][W], int first, int end) {
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  for (int bit = first; bit < end; bit *= 2)
#pragma unroll
    for (int j = 0; j < W; ++j)
#pragma unroll
      for (int i = 0; i < R; ++i) acc[i][j] += from_lane(acc[i][j], lane ^ bit);
}

// Calls use(o, sum over p < count of value(o, p)) for each output o < outputs, 2^shift threads
// sharing an output. All threads of a block of `threads` call it. A thread adds up `at_once`
// outputs at a time, eight loads of each under way.
template <int at_once, class Value, class Use>
__device__ __forceinline__ void add_up(int outputs, int count, int shift, int threads,
                                       const Value& value, const Use& use) {
  const int tid = static_cast<int>(threadIdx.x), sharing = 1 << shift;
  const int own = tid & (sharing - 1), apart = threads >> shift;
  for (int first = tid >> shift; first - (tid >> shift) < outputs; first += at_once * apart) {
    float sum[at_once] = {};
    for (int p = own; p < count; p += 8 * sharing) {
      float some[at_once][8];
#pragma unroll
      for (int i = 0; i < at_once; ++i)
#pragma unroll
        for (int q = 0; q < 8; ++q) {
          const int o = first + i * apart, part = p + q * sharing;
          some[i][q] = o < outputs && part < count ? value(o, part) : 0;
        }
#pragma unroll
      for (int i = 0; i < at_once; ++i)
#pragma unroll
        for (int q = 0; q < 8; ++q) sum[i] += some[i][q];
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      for (int bit = 1; bit < sharing; bit *= 2)
        sum[i] += from_lane(sum[i], (tid % warp_lanes) ^ bit);
      if (const int o = first + i * apart; o < outputs && own == 0) use(o, sum[i]);
    }
  }
}

// Where sums go: C, or a part's place in the workspace.
struct Target {
  float* first;  // of the block's first row
  std::int64_t row_stride, j_stride;
  float alpha, beta;
  int rows, width;  // the others are not written

  __device__ __forceinline__ void store(int row, int j, float sum) const {
    if (row >= rows || j >= width) return;
    float* const to = first + row * row_stride + j * j_stride;
    *to = blend(alpha, sum, beta, to);
  }
};

// The sums of the blocks that share a row block, [part][output] in the workspace, and their ticket.
struct SharedSums {
  float* first;
  unsigned* ticket;

  template <class Share>
  __device__ SharedSums(const Workspace& workspace, const ThinPlan& plan, const Share& share) {
    const std::int64_t group = std::int64_t{share.entry} * plan.row_blocks + share.row_block;
    first = static_cast<float*>(workspace.data) + group * plan.parts * plan.outputs();
    ticket = workspace.tickets + group;
  }
};

}  // namespace KW_TARGET::thin
