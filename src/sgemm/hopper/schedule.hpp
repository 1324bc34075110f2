// Which block computes what of a split product. The host, which sizes the grid, and each thread,
// which walks through its block's work, evaluate the same functions.
//
//   whole tiles   tile t < whole_tiles belongs to block t mod blocks
//   cut tiles     the stages of the remaining tiles, one tile after the other, are cut into
//   `blocks`
//                 shares, as equal as can be. A share may begin and end within a tile; the parts of
//                 a tile are added up by the block that comes last (split_k.hpp).
#pragma once

#include "host_device.hpp"

namespace kw::hopper {

// A run of stages along k of one tile.
struct Work {
  int tile = -1;
  int first = 0, end = 0;
  KW_HOST_DEVICE constexpr bool valid() const { return tile >= 0; }
};

// The blocks that share a tile, as parts 0 ... count - 1 in the order of k.
struct Parts {
  int first_slot, count, mine;

  // Where a part is left.
  KW_HOST_DEVICE constexpr int slot(int part) const { return first_slot + part; }
};

struct Schedule {
  int tiles = 0;
  int whole_tiles = 0;  // a multiple of `blocks`, or all
  int stages = 0;       // of a tile
  // Shares are counted out as if a tile had so many stages: where parts of k are to end where a
  // tile ends, a multiple of their number.
  int counted_stages = 0;
  int blocks = 0;
  // The first `longer` shares have `share` + 1 stages, the others `share`.
  int share = 0, longer = 0;
  int paced_tiles = 0;  // the blocks of the first ones keep pace (pace.hpp): whole rounds, or none

  KW_HOST_DEVICE constexpr Work first(int block) const {
    return block < whole_tiles ? Work{block, 0, stages}
                               : from(share_begin(block), share_begin(block + 1));
  }
  KW_HOST_DEVICE constexpr Work next(const Work& work, int block) const {
    if (work.tile < whole_tiles)
      return work.tile + blocks < whole_tiles ? Work{work.tile + blocks, 0, stages}
                                              : from(share_begin(block), share_begin(block + 1));
    const int begin = (work.tile - whole_tiles) * counted_stages;
    return from(work.end == stages ? begin + counted_stages : begin + work.end,
                share_begin(block + 1));
  }
  KW_HOST_DEVICE constexpr bool is_whole(const Work& work) const {
    return work.end - work.first == stages;
  }
  KW_HOST_DEVICE constexpr Parts parts(const Work& work, int block) const {
    const int tile = work.tile - whole_tiles, begin = tile * counted_stages;
    const int first = block_of(begin), last = block_of(begin + stages - 1);
    return {tile + first, last - first + 1, block - first};
  }
  // Parts for which a launch needs room: from part to part the block or the tile is the next.
  KW_HOST_DEVICE constexpr int slots() const {
    return whole_tiles == tiles ? 0 : tiles - whole_tiles + blocks - 1;
  }

 private:
  KW_HOST_DEVICE constexpr int share_begin(int block) const {
    return block * share + (block < longer ? block : longer);
  }
  KW_HOST_DEVICE constexpr int block_of(int stage) const {
    const int of_longer = longer * (share + 1);
    return stage < of_longer ? stage / (share + 1) : longer + (stage - of_longer) / share;
  }
  KW_HOST_DEVICE constexpr Work from(int begin, int end) const {
    if (begin >= end) return {};
    const int tile = begin / counted_stages, tile_begin = tile * counted_stages;
    const int left = end - tile_begin;
    return {whole_tiles + tile, begin - tile_begin, left < stages ? left : stages};
  }
};

// Every tile in one block.
constexpr Schedule whole_schedule(int tiles, int stages, int most_blocks) {
  const int blocks = tiles < most_blocks ? tiles : most_blocks;
  return {.tiles = tiles, .whole_tiles = tiles, .stages = stages, .blocks = blocks};
}
// `rounds` whole tiles a block, and the others cut into shares of any length.
constexpr Schedule cut_schedule(int tiles, int stages, int blocks, int rounds) {
  const int cut = (tiles - rounds * blocks) * stages;
  return {.tiles = tiles,
          .whole_tiles = rounds * blocks,
          .stages = stages,
          .counted_stages = stages,
          .blocks = blocks,
          .share = cut / blocks,
          .longer = cut % blocks};
}
// Each tile in `parts` parts, a block each.
constexpr Schedule split_schedule(int tiles, int stages, int parts) {
  const int share = (stages + parts - 1) / parts;
  const int used = (stages + share - 1) / share;  // so that no part is empty
  return {.tiles = tiles,
          .whole_tiles = 0,
          .stages = stages,
          .counted_stages = share * used,
          .blocks = tiles * used,
          .share = share};
}

}  // namespace kw::hopper
