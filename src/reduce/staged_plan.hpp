// How the warps of reduce_staged_kernel (staged.hpp) share a problem, and how large their stages
// are: made on the host.
#pragma once

#include <cstdint>

#include "gpu/device.hpp"
#include "reduce/order.hpp"
#include "reduce/problem.hpp"

namespace kw {

constexpr int staged_threads = 640;  // at most; a block is an SM's only one

enum class StagedWork : std::int32_t {
  row_tiles,      // rows of a chunk at most, some to a stage
  listed_chunks,  // of segments
};

struct StagedPlan {
  StagedWork work = StagedWork::row_tiles;
  int stages = 0, stage_bytes = 0;
  int warps = 0;           // of a block
  int rows_a_tile = 1;     // of row_tiles
  std::int64_t items = 0;  // tiles or chunks; those on a list the device counts
};

// What a plan depends on besides the problem and the device.
struct StagedElement {
  int bytes;         // of an element
  int places_bytes;  // of a warp, for its trees
  int run_bytes;     // of a stage, for what it holds
};

// Longest sequence whose chunks fit a stage, in elements of so many bytes.
constexpr std::int64_t longest_staged(int element_bytes) {
  return max_chunks * smallest_chunk_rounds * order_threads * 16 / element_bytes;
}

// No warps where stages are of no use: a small problem, short rows, chunks that do not fit, a
// device with little shared memory.
StagedPlan plan_staged_rows(const Reduce& problem, const StagedElement& element,
                            const Device& device);
// Of segments that are longer than what is short; likewise.
StagedPlan plan_listed_chunks(const Reduce& problem, const StagedElement& element,
                              const Device& device);

}  // namespace kw
