// Launches of one block a tile, of which some tiles are cut along k into parts of a block each:
// those that are left over when the multiprocessors have had as many whole ones as they hold.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arithmetic.hpp"
#include "host_device.hpp"

namespace kw {

// The last `cut` tiles are cut into so many parts each, whose blocks come after those of the whole
// tiles.
struct TileCut {
  int tiles = 0, cut = 0, parts = 1;

  KW_HOST_DEVICE constexpr int whole() const { return tiles - cut; }
  KW_HOST_DEVICE constexpr int blocks() const { return whole() + cut * parts; }
  // Where a part's sums are so many floats.
  constexpr std::size_t workspace_bytes(int part_floats) const {
    return sizeof(float) * static_cast<std::size_t>(cut) * static_cast<std::size_t>(parts) *
           static_cast<std::size_t>(part_floats);
  }
};

// Calls visit(cut) for no cut and for those that are considered: of the tiles that are left over
// when all multiprocessors have had as many as they hold, or the same number each; or of all, where
// they are fewer. All parts are resident at a time, and each has a stage of k.
template <class Visit>
void each_tile_cut(int tiles, int sms, int blocks_per_sm, int stages, const Visit& visit) {
  visit(TileCut{.tiles = tiles});
  const int slots = sms * blocks_per_sm;
  if (slots <= 0 || tiles < sms) return;
  const int left = tiles % slots, uneven = tiles > slots ? tiles % sms : left;
  for (const int cut : {left, uneven}) {
    for (const int parts : {2, 3, 4, 6})
      if (cut > 0 && parts <= stages && cut <= slots / parts)
        visit(TileCut{.tiles = tiles, .cut = cut, .parts = parts});
    if (uneven == left) return;
  }
}

// The tile of a block, and of a tile that is cut its number among those and the block's part.
struct CutWork {
  int tile, cut_tile = -1, part = 0;

  KW_HOST_DEVICE constexpr CutWork(const TileCut& cut, int block) : tile(block) {
    const int at = block - cut.whole();
    if (at < 0) return;
    cut_tile = at / cut.parts;
    part = at - cut_tile * cut.parts;
    tile = cut.whole() + cut_tile;
  }
};

// The k of a part, of stages of `bk` of which the first has what k is beyond whole ones. There are
// no more parts than stages.
struct PartOfK {
  int first, count;

  KW_HOST_DEVICE constexpr PartOfK(int k, int bk, int parts, int part) : first(0), count(k) {
    if (parts == 1) return;
    const int stages = ceil_div(k, bk), missing = stages * bk - k;
    const int begin = part * stages / parts, end = (part + 1) * stages / parts;
    first = begin == 0 ? 0 : begin * bk - missing;
    count = end * bk - missing - first;
  }
};

}  // namespace kw
