// Which kernel computes a split product. Every block that must know reads the ranges that the split
// pass's blocks have written, each at a place of its own, and comes to the same answer. So no block
// takes a ticket or waits for another: at 512 x 512 x 512 a last block that selects for all takes a
// microsecond of thirteen.
#pragma once

#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/control.hpp"
#include "sgemm/hopper/split_pass_tuning.hpp"
#include "sgemm/hopper/terms.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

constexpr int range_words = sizeof(BlockRanges) / sizeof(std::uint32_t);

// The first half of a maximum over a block: turns each word into the largest of the warp, and
// writes those of all warps. The block's threads, `tid` among them, meet at sync().
template <int warps, class Sync>
__device__ __forceinline__ void share_warp_maxima(std::uint32_t (&words)[range_words],
                                                  std::uint32_t (&of_warps)[warps][range_words],
                                                  int tid, int lane, Sync sync) {
#pragma unroll
  for (int i = 0; i < range_words; ++i) {
    words[i] = largest_of_warp(words[i]);
    if (lane == 0) of_warps[tid / warp_lanes][i] = words[i];
  }
  sync();
}

struct SelectedPath {
  Path path;
  float drift;  // as Control has it
  SizeRange a, b;
};

// The path of the product, for all `threads` threads of a block, `tid` among them, who meet at
// sync(). `range_blocks`: how many blocks have written their ranges; `drift`: of the tile, 0 in
// bf16x6. `at_once`: all loads of a thread are under way together.
template <int threads, bool at_once, class Sync>
__device__ __forceinline__ SelectedPath select_path(const Sgemm& problem, const Control& control,
                                                    int range_blocks, bool takes_bf16,
                                                    const Drift& drift, int tid, Sync sync) {
  constexpr int warps = threads / warp_lanes;
  static_assert(max_range_blocks % threads == 0);
  __shared__ std::uint32_t of_warps[warps][range_words];
  const int lane = tid % warp_lanes;
  std::uint32_t most[range_words] = {};
  const ElementWeight weight = control.weights[lane];
  const auto add = [&](const uint4& other) {
    most[0] = max(most[0], other.x), most[1] = max(most[1], other.y);
    most[2] = max(most[2], other.z), most[3] = max(most[3], other.w);
  };
  const auto range_of = [&](int block) {
    return *reinterpret_cast<const uint4*>(control.ranges[block].words);
  };
  if constexpr (at_once) {
    constexpr int each = max_range_blocks / threads;
    uint4 others[each];
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int block = tid + i * threads;
      others[i] = make_uint4(0, 0, 0, 0);
      if (block < range_blocks) others[i] = range_of(block);
    }
#pragma unroll
    for (const uint4& other : others) add(other);
  } else {
    for (int block = tid; block < range_blocks; block += threads) add(range_of(block));
  }
  share_warp_maxima(most, of_warps, tid, lane, sync);
#pragma unroll
  for (int i = 0; i < range_words; ++i)
    most[i] = largest_of_warp(lane < warps ? of_warps[lane][i] : 0);
  const SizeRange a{most[0], most[1]}, b{most[2], most[3]};
  // Below chosen_k the library takes plain FP32 anyway; whoever names the kernel means it.
  const bool takes_fp32 = !reads_operands(problem) || !pieces_hold(a, b, problem.k) ||
                          (are_light(weight.bf16x6) && problem.k >= bf16x6_scheme.chosen_k);
  takes_bf16 |= are_light(weight.fp16x3) && problem.k >= fp16x3_scheme.chosen_k;
  return {path_of(takes_fp32, takes_bf16 ? too_many : 0), mean_drift(weight, drift), a, b};
}

}  // namespace KW_TARGET::hopper
