// Products of a few rows or columns that blocks behind those of the tiles compute, in one launch
// with the tiles (ragged.cu).
#pragma once

#include <string_view>

#include "sgemm/stream/tuning.hpp"
#include "sgemm/thin_plan.hpp"

namespace kw {

struct Beside {
  static constexpr int most = 2;
  // Each has its own plan, workspace, tickets, and so many blocks.
  Sgemm part[most];
  ThinPlan plan[most];
  Workspace workspace[most];
  int blocks[most] = {};

  KW_HOST_DEVICE constexpr int all_blocks() const { return blocks[0] + blocks[1]; }
};

// The one instance of thin_configs that these products have, so that it stands in each kernel of
// tiles once: of the instances for their width the one with the widest loads.
constexpr int beside_config = 3;
constexpr int beside_threads = 256;
static_assert(thin_configs[beside_config].width == 8 && thin_configs[beside_config].rows == 4);

// Tiles whose kernel has an instance with such blocks.
inline constexpr std::string_view beside_tiles[] = {"stream_128x128", "stream_64x256",
                                                    "stream_256x64", "stream_128x96"};

// A tile's row in stream_tiles.
constexpr int row_of_tile(std::string_view name) {
  int row = 0;
  for (const StreamTile& tile : stream_tiles) {
    if (tile.name == name) return row;
    ++row;
  }
  throw "stream_tiles has no such tile";
}

}  // namespace kw
