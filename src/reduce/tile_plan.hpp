// How the warps of reduce_tiles_kernel (warp_tiles.hpp) share sequences, and how large their stages
// are: made on the host.
#pragma once

#include "gpu/device.hpp"
#include "reduce/problem.hpp"

namespace kw {

constexpr int most_tile_stages = 4;

struct TilePlan {
  int each = 0;            // sequences of a tile, 32 at most
  int stage_bytes = 0;     // of its elements
  int stages = 0;          // of a warp
  int pitch = 0;           // bytes between rows in a stage; 0: they lie there as in memory
  int warps = 0;           // of a block; 0: no sequence is a warp's
  unsigned blocks = 0;
  std::int64_t longest = 0;  // elements of a sequence that a warp takes
};

// What a plan depends on besides the problem and the device.
struct TileElement {
  int bytes;         // of an element
  int place_bytes;   // of a place in a tree
  bool finds_place;  // argmin and argmax: more instructions an element
  int most_warps;    // of a block, which is an SM's only one
};

TilePlan plan_tiles(const Reduce& problem, const TileElement& element, const Device& device);

// The bytes of a warp's part of shared memory beside its stages, and in all.
int tile_memory_bytes(const TilePlan& plan, const TileElement& element);
int warp_memory_bytes(const TilePlan& plan, const TileElement& element);

}  // namespace kw
