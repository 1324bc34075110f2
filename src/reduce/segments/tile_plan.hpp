// How reduce_tiles_kernel cuts segments into batches and shared memory into stages.
#pragma once

#include <cstdint>

#include "gpu/device.hpp"
#include "host_device.hpp"
#include "reduce/problem.hpp"

namespace kw {

constexpr int tile_warps = 4;          // of a block
constexpr int tile_batch_bytes = 384;  // of a stage, before its elements: whole lines
constexpr int most_tile_stages = 4;
constexpr int tile_barrier_bytes = tile_warps * most_tile_stages * 8;  // of a block

// The lanes of a warp that a sequence has, and the factor of a product in place of a division by
// them: of numbers up to 4096 by no more than 16 lanes, and by a power of two.
struct LaneShare {
  int lanes = 0;
  unsigned factor = 0;  // 2^16 / lanes, rounded up

  KW_HOST_DEVICE int quotient(int x) const {
    return static_cast<int>(static_cast<unsigned>(x) * factor >> 16);
  }
};
KW_HOST_DEVICE constexpr LaneShare lanes_of_each(int lanes) {
  return {lanes, ((1u << 16) - 1) / static_cast<unsigned>(lanes) + 1};
}

struct TilePlan {
  int each = 0;                     // sequences of a unit; 0: no tiles
  LaneShare share;                  // of each of them
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
  int most_mean_bytes;                      // longer ones do better with a warp each
  bool any_order = false, is_wide = false;  // is_wide: sums of two or three numbers
};

// How far rows that lie so many bytes apart move against lines of memory, and against the banks of
// shared memory.
constexpr int past_lines(std::int64_t bytes) {
  const auto past = static_cast<int>(bytes % 128);
  return past <= 64 ? past : 128 - past;
}
constexpr int least_past_lines = 8;  // with less, lanes of different rows meet in their banks

TilePlan plan_tiles(const Reduce& problem, const TileElement& element, const Device& device);

}  // namespace kw
