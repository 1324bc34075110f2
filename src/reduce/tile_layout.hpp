// Sizes that the host's plan of tiles and the kernel share.
#pragma once

#include "reduce/order.hpp"

namespace kw {

constexpr int tile_sequences = 32;  // of a tile at most: one a lane
// Units (tile.hpp) of a sequence and of a tile at most; the latter with one that is not full for
// each sequence.
constexpr int most_units_each = 8;
constexpr int most_full_units = 128;
constexpr int most_units = most_full_units + tile_sequences;
// Packs that 32 lanes and the units of a sequence hold: one for each of the order's threads.
constexpr int unit_packs = 32 * most_units_each;
static_assert(unit_packs == order_threads);

}  // namespace kw
