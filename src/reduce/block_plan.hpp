// How reduce_segment_blocks_kernel (segment_blocks.hpp) shares segments: made on the host.
#pragma once

#include <cstdint>

#include "gpu/device.hpp"
#include "reduce/problem.hpp"

namespace kw {

constexpr int most_block_chunks = 64;  // of a segment

// Windows of `each` segments, at most a warp's lanes; those of more than `most` elements go on the
// lists.
struct BlockPlan {
  int each = 0;  // 0: no blocks
  std::int64_t most = 0;
  // 2^chunk_shift elements are a chunk. Where that cannot show a segment may be one.
  int chunk_shift = 0;
  // Elements of the longest segment where all seem to be as long as each other: of others the
  // launch leaves all to those after it. 0: it takes any.
  std::int64_t most_of_even = 0;
};

// What a plan depends on besides the problem and the device.
struct BlockElement {
  std::int64_t bytes;  // of an element
  std::int64_t chunk;  // elements of a chunk
  int blocks_an_sm;
  bool takes_whole;  // a sequence may be one chunk, however long
};

BlockPlan plan_blocks(const Reduce& problem, const BlockElement& element, const Device& device);

}  // namespace kw
