// The order in which blocks take the tiles of C.
#pragma once

#include "host_device.hpp"

namespace kw {

// A tile's row and column, in tiles.
struct TileIndex {
  int row, col;
};

// Tiles follow each other down the columns of a group of `group_rows` tile rows, group after group,
// so that blocks that run at the same time share rows of A and columns of B in the L2 cache. The
// split kernels' scheduler (hopper/scheduler.hpp) has this order in a text of its own: from this
// function the compiler makes them other instructions.
KW_HOST_DEVICE constexpr TileIndex grouped_tile(int index, int tiles_m, int tiles_n,
                                                int group_rows) {
  const int group = index / (group_rows * tiles_n);
  const int in_group = index - group * group_rows * tiles_n;
  const int left = tiles_m - group * group_rows;
  const int rows = left < group_rows ? left : group_rows;
  return {group * group_rows + in_group % rows, in_group / rows};
}

}  // namespace kw
