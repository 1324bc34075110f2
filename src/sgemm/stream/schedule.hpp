// Which block computes what in a stream_tile launch. The host, which sizes the grid, and each
// thread, which walks through its block's share, evaluate the same functions.
//
//   whole tiles   tile t < whole_tiles belongs to block t mod blocks
//   the rest      the iterations of the remaining tiles, one tile after the other, are cut into
//                 `blocks` equal shares; a share is shorter than a tile, so it meets two at most
//   clusters      or each tile belongs to a cluster of blocks, an equal share to each of them
//   pieces        a block's iterations of a tile are summed up a piece at a time (pieces.hpp)
#pragma once

#include <cstdint>

#include "host_device.hpp"
#include "sgemm/shape.hpp"
#include "sgemm/tile_order.hpp"

namespace kw {

// Parts of a tile that a block adds up at a time.
constexpr int stream_fan = 16;
// Blocks of a cluster at most.
constexpr int stream_cluster_parts = 8;

// A run of iterations along k of one tile.
struct StreamWork {
  int tile = -1;
  int begin = 0, end = 0;  // iterations
  KW_HOST_DEVICE constexpr bool valid() const { return tile >= 0; }
};

struct StreamTileIndex {
  int entry;     // of the batch
  int row, col;  // in tiles
};

// The blocks that share a tile, as parts 0 ... count - 1 in ascending order of k.
struct StreamParts {
  int first_block, count, mine;
  bool first_has_two;  // the first block's share began in the tile before: this is its second part

  // A block has room for two parts.
  KW_HOST_DEVICE constexpr int slot(int part) const {
    return 2 * (first_block + part) + (part == 0 && first_has_two ? 1 : 0);
  }
};

struct StreamSchedule {
  int tiles_m = 0, tiles_n = 0;  // of one product
  int tiles = 0;                 // of the batch
  int whole_tiles = 0;           // a multiple of `blocks`, or all
  int iterations = 0;            // of a tile
  int blocks = 0;
  // The first `longer` shares have `share` + 1 iterations, the others `share`; none is empty.
  int share = 0, longer = 0;
  // Blocks of a cluster, which share a tile; 0: there are none. The shares are then those of a
  // tile, and no tile is whole.
  int cluster = 0;
  // Iterations of a tile that a block sums up at a time; `iterations`: no sum is cut.
  int piece = 0;
  // Places in the workspace where a block adds up its pieces: 1 or none.
  int totals = 0;

  KW_HOST_DEVICE constexpr bool in_clusters() const { return cluster > 0; }
  // The only work of a cluster's block.
  KW_HOST_DEVICE constexpr StreamWork of_cluster(int index, int rank) const {
    return {index, share_begin(rank), share_begin(rank + 1)};
  }

  KW_HOST_DEVICE constexpr StreamWork first(int block) const {
    return block < whole_tiles ? StreamWork{block, 0, iterations} : first_shared(block);
  }
  KW_HOST_DEVICE constexpr StreamWork next(const StreamWork& work, int block) const {
    if (work.tile < whole_tiles)
      return work.tile + blocks < whole_tiles ? StreamWork{work.tile + blocks, 0, iterations}
                                              : first_shared(block);
    return shared_from((work.tile - whole_tiles) * iterations + work.end, share_begin(block + 1));
  }
  KW_HOST_DEVICE constexpr bool whole(const StreamWork& work) const {
    return work.end - work.begin == iterations;
  }
  KW_HOST_DEVICE constexpr StreamParts parts(const StreamWork& work, int block) const {
    return parts_of((work.tile - whole_tiles) * iterations, iterations, block);
  }
  // Of a tile that has `length` of the shared tiles' iterations from `begin` on.
  KW_HOST_DEVICE constexpr StreamParts parts_of(int begin, int length, int block) const {
    const int first = block_of(begin), last = block_of(begin + length - 1);
    return {first, last - first + 1, block - first, share_begin(first) < begin};
  }
  // Where a block adds up the pieces of its work: where it would store the sum of a part anyway,
  // or, of a whole tile, a place that it uses for nothing else at that time.
  KW_HOST_DEVICE constexpr int totals_slot(const StreamWork& work, int block) const {
    if (in_clusters() || whole_tiles == tiles) return block;
    if (whole(work)) return 2 * block;
    const StreamParts all = parts(work, block);
    return all.slot(all.mine);
  }
  // The ticket of the blocks that meet at a slot, on a level of adding up.
  KW_HOST_DEVICE constexpr int ticket(int level, int slot) const {
    return level * 2 * blocks + slot;
  }
  // Tiles for which a launch needs room.
  KW_HOST_DEVICE constexpr int slots() const {
    if (whole_tiles == tiles || in_clusters()) return totals * blocks;
    return 2 * blocks;
  }

  KW_HOST_DEVICE constexpr StreamTileIndex place(int tile) const {
    constexpr int group_rows = 8;
    const int of_entry = tiles_m * tiles_n;
    if (of_entry == 1) return {tile, 0, 0};  // the divisions would be a hundredth of such a call
    const int entry = tile / of_entry;
    const int in_entry = tile - entry * of_entry;
    const TileIndex in_c = grouped_tile(in_entry, tiles_m, tiles_n, group_rows);
    return {entry, in_c.row, in_c.col};
  }

  // Iterations of the shared tiles are numbered through. Block b has those from share_begin(b) to
  // share_begin(b + 1) - 1.
  KW_HOST_DEVICE constexpr int share_begin(int block) const {
    return block * share + (block < longer ? block : longer);
  }

 private:
  KW_HOST_DEVICE constexpr int block_of(int iteration) const {
    const int of_longer = longer * (share + 1);
    return iteration < of_longer ? iteration / (share + 1)
                                 : longer + (iteration - of_longer) / share;
  }
  KW_HOST_DEVICE constexpr StreamWork shared_from(int from, int end) const {
    if (from >= end) return {};
    const int tile = from / iterations;
    const int tile_end = (tile + 1) * iterations;
    return {whole_tiles + tile, from - tile * iterations,
            (end < tile_end ? end : tile_end) - tile * iterations};
  }
  KW_HOST_DEVICE constexpr StreamWork first_shared(int block) const {
    return shared_from(share_begin(block), share_begin(block + 1));
  }
};

// The lines of tiles whose k has a range each; a tile has `per_line` iterations more or less than
// one of the next line.
KW_HOST_DEVICE constexpr RangeLines range_lines(const StreamSchedule& s, KRange range,
                                                int per_line) {
  const bool by_row = is_by_row(range);
  return {.range = range,
          .lines = by_row ? s.tiles_m : s.tiles_n,
          .tiles_of_line = by_row ? s.tiles_n : s.tiles_m,
          .per_line = per_line,
          .steps = s.iterations};
}

}  // namespace kw
