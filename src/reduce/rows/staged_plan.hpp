// How the warps of reduce_staged_kernel (staged_rows.hpp) share sequences, and how large their
// stages are: made on the host.
#pragma once

#include <cstdint>

#include "gpu/device.hpp"
#include "reduce/problem.hpp"
#include "reduce/walk/order.hpp"

namespace kw {

// Threads of a block, which is an SM's only one, at most: by the registers that each takes.
constexpr int most_staged_threads(bool any_order) { return any_order ? 1024 : 640; }
// More of rows of no more elements than the order has lanes.
constexpr int most_staged_row_threads(bool any_order, std::size_t partial_bytes) {
  return !any_order && partial_bytes <= 8 ? 768 : most_staged_threads(any_order);
}
constexpr int most_staged = 3;  // stages of a warp
constexpr int staged_head_bytes = 128;

// From which mean length on, in bytes, a sequence does better with a warp of its own than in a tile
// (tile_plan.hpp): where order cannot show, tiles take fewer instructions, and a tree over places
// of 16 bytes and more takes long. Measured on an H200 (results/h200/explored-reduce-copies.txt).
constexpr int staged_from_bytes(bool any_order, std::size_t partial_bytes) {
  if (any_order) return 3584;
  return partial_bytes > 8 ? 4096 : 2048;
}

// Up to which length a row does: of longer ones few warps have a stage, and where threads of a
// block add floating numbers of four or eight bytes in turn, the block is quicker. Measured on an
// H200 (results/h200/explored-reduce-runs.txt, explored-reduce-two-chunks.txt): 4000 rows of 11.9
// KB of float32 take 18.2 us with stages and 16.5 by blocks, of 9 KB 13.4 and 14.4; 22542 rows of
// 13 KB 73.0 and 71.1, their variances 77.1 and 107.4. Where order cannot show
// (explored-reduce-shadow.txt): argmax of 2526 rows of 55 KB of float64 33.9 and 37.5. `is_wide`:
// variances, and norms of float64, whose blocks have three sums (explored-reduce-norms.txt: 30000
// rows of 10.4 KB 73.5 and 90.3).
constexpr int staged_to_bytes(bool any_order, bool is_wide, std::size_t partial_bytes,
                              std::size_t bytes) {
  if (any_order && bytes >= 4) return 56 << 10;
  if (any_order || is_wide || bytes < 4) return 22 << 10;
  return partial_bytes <= 8 ? 10 << 10 : 12 << 10;
}
// Rows of little more than a chunk take a block as long as two: up to this length they do better
// with a warp, whatever they hold, and of sums of 8 bytes somewhat longer ones where each SM has a
// dozen (explored-reduce-shadow.txt: sum of 4736 of 4888 float32 25.9 and 30.6 us, of 924 of 4762
// 10.2 and 9.4).
constexpr int staged_chunk_bytes = order_threads * static_cast<int>(smallest_chunk_rounds) * 16;
constexpr int staged_to_of_two_chunks = 18 << 10;
constexpr int staged_to_of_many_of_two = 20 << 10;
constexpr int many_of_two_an_sm = 12;
// Variances, where each SM has some rows (explored-reduce-halves.txt); longer ones do better by
// shares (share_plan.cpp).
constexpr int staged_to_of_variances = 32 << 10;
constexpr int some_variances_an_sm = 2;

struct StagedPlan {
  int stages = 0, stage_bytes = 0;
  int warps = 0;          // of a block; 0: no stages
  std::int64_t most = 0;  // elements of a sequence in a stage
};

// What a plan depends on besides the problem and the device.
struct StagedElement {
  int bytes;         // of an element
  int beside_bytes;  // of a warp, beside its stages
  int most_warps;
  int from_bytes;      // staged_from_bytes
  int most_row_bytes;  // staged_to_bytes
  bool any_order, has_places;
  int partial_bytes;
};

// Without warps where stages are of no use: of a small problem, of shorter and of longer sequences,
// in the mean, on a device with little shared memory. `stages`: so many, whatever the length; 0: as
// many as it leaves room for.
StagedPlan plan_staged(const Reduce& problem, const StagedElement& element, const Device& device,
                       int stages = 0);

// The stages of a warp where rows do better with them than in tiles; 0: they do not.
int stages_of_rows(const Reduce& problem, const StagedElement& element, const Device& device);

}  // namespace kw
