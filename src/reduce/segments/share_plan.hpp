// How the blocks of reduce_shares_kernel (segment_shares.hpp) share the segments of an array: made
// on the host, which sees no lengths.
#pragma once

#include <cstdint>

#include "gpu/device.hpp"
#include "reduce/problem.hpp"
#include "reduce/walk/order.hpp"

namespace kw {

constexpr int most_share_copies = 4;  // of a warp, under way at a time
// A chunk in a ring, wherever it begins: the pack that it ends in off a boundary, and as far past a
// line as in memory.
constexpr int share_chunk_bytes =
    order_threads * static_cast<int>(smallest_chunk_rounds) * 16 + 128;
// Segments of more elements have larger chunks, and go on the lists.
template <class T>
constexpr std::int64_t most_shared = max_chunks* smallest_chunk<T>;

struct SharePlan {
  int warps = 0;  // of a block, beside the one that finds chunks; 0: no shares
  int blocks = 0;
  int ring_bytes = 0;        // of a warp
  std::int64_t cost = 0;     // what a segment weighs beside its elements, in elements
  std::int64_t a_block = 0;  // of all elements and costs
};

// What a plan depends on besides the problem and the device.
struct ShareElement {
  std::int64_t bytes;  // of an element
  std::int64_t chunk;  // elements of a chunk
  int block_bytes;     // of shared memory, beside what warps have
  int beside_bytes;    // of a warp, beside its ring
  int most_warps;
};

SharePlan plan_shares(const Reduce& problem, const ShareElement& element, const Device& device);

}  // namespace kw
