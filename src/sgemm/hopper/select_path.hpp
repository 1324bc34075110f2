// Which kernel computes a split product: every block that must know looks at what the pre-pass's
// blocks have seen, each in a place of its own, and comes to the same answer. No ticket, nobody to
// wait for: at 512 x 512 x 512 a last block that decides took a microsecond of thirteen.
#pragma once

#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/control.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

// For `threads` threads of a block, `tid` among them, who meet at sync(). `blocks`: that have left
// what they saw.
template <int threads, class Sync>
__device__ __forceinline__ Path decide(const Sgemm& problem, const Control& control, int blocks,
                                       int tid, Sync sync) {
  constexpr int words = sizeof(Seen) / sizeof(std::uint32_t), warps = threads / warp_lanes;
  __shared__ std::uint32_t of_warps[warps][words];
  const int lane = tid % warp_lanes;
  std::uint32_t most[words] = {};
  for (int block = tid; block < blocks; block += threads) {
    const uint4 other = *reinterpret_cast<const uint4*>(control.seen[block].words);
    most[0] = max(most[0], other.x), most[1] = max(most[1], other.y);
    most[2] = max(most[2], other.z), most[3] = max(most[3], other.w);
  }
#pragma unroll
  for (int i = 0; i < words; ++i) {
    most[i] = largest_of_warp(most[i]);
    if (lane == 0) of_warps[tid / warp_lanes][i] = most[i];
  }
  sync();
#pragma unroll
  for (int i = 0; i < words; ++i) most[i] = largest_of_warp(lane < warps ? of_warps[lane][i] : 0);
  const Extremes a{most[0], most[1]}, b{most[2], most[3]};
  return path_of(!reads_operands(problem) || !pieces_hold(a, b, problem.k), control.outlier_count);
}

}  // namespace KW_TARGET::hopper
