// How reduce_few_segments_kernel (few_segments.hpp) shares a small array of segments: made on the
// host.
#pragma once

#include <cstdint>

#include "gpu/device.hpp"
#include "reduce/problem.hpp"

namespace kw {

// Letters of so many chunks have room in Workspace.tickets.
constexpr std::int64_t most_few_blocks = 2048;

struct FewPlan {
  int blocks = 0;        // 0: the array is not small
  int short_blocks = 0;  // the first ones, whose warps have a batch of `each` segments
  int group = 1, each = 1;
};

// What a plan depends on besides the problem and the device.
struct FewElement {
  std::int64_t chunk;         // elements of a chunk
  std::int64_t of_lane;       // that a lane of a group takes
  std::int64_t most_short;    // that a warp takes at once
  std::int64_t most_of_warp;  // that a warp takes where it is alone
  int blocks_an_sm;
  int chunks_an_sm;  // where the mean segment is a chunk; 0: no more than of others
};

FewPlan plan_few(const Reduce& problem, const FewElement& element, const Device& device);

}  // namespace kw
