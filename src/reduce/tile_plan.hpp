// How reduce_tiles_kernel cuts segments into batches and shared memory into stages.
#pragma once

#include <cstdint>

#include "gpu/device.hpp"
#include "reduce/problem.hpp"

namespace kw {

constexpr int tile_warps = 4;          // of a block
constexpr int tile_batch_bytes = 384;  // of a stage, before its elements: whole lines
constexpr int most_tile_stages = 4;
constexpr int tile_barrier_bytes = tile_warps * most_tile_stages * 8;  // of a block

struct TilePlan {
  int each = 0;                     // sequences of a unit; 0: no tiles
  int group_shift = 0;              // each of them has 2^group_shift of the warp's lanes
  int stages = 0, stage_bytes = 0;  // of a warp
  int elements = 0;                 // of a stage, from its first segment on
  int most_staged = 0;              // of a segment
  int most_of_lane = 0;
};

// What the plan needs to know of the kernel's instance.
struct TileElement {
  std::size_t bytes;
  int lanes;         // of the order
  int most_of_lane;  // elements that a lane takes
  int blocks_an_sm;
  int most_mean_bytes;  // longer ones do better with a warp each
};

TilePlan plan_tiles(const Reduce& problem, const TileElement& element, const Device& device);

}  // namespace kw
