// The order in which blocks take tiles of queries.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "attention/weights.hpp"

namespace kw {
namespace {

using on_host::attention::tile_order;
using on_host::attention::tile_position;

struct Extents {
  unsigned tiles, heads, heads_at_once;
};
constexpr Extents all_extents[] = {{1, 1, 1}, {1, 7, 3},  {2, 5, 2},   {3, 5, 5},  {5, 3, 1},
                                   {8, 6, 4}, {9, 12, 5}, {32, 32, 5}, {4, 96, 40}};

TEST(AttentionOrder, EveryTileIsTakenOnce) {
  for (const auto& [tiles, heads, heads_at_once] : all_extents)
    for (const bool has_late_tiles : {false, true}) {
      std::set<std::pair<std::int64_t, std::int64_t>> seen;
      for (unsigned i = 0; i < tiles * heads; ++i) {
        const auto [head, tile] = tile_position(i, tiles, heads, {heads_at_once, has_late_tiles});
        EXPECT_TRUE(head >= 0 && head < heads && tile >= 0 && tile < tiles) << head << " " << tile;
        EXPECT_TRUE(seen.emplace(head, tile).second) << head << " " << tile;
      }
    }
}

TEST(AttentionOrder, OfAHeadTheLongestTilesComeFirst) {
  for (const auto& [tiles, heads, heads_at_once] : all_extents) {
    std::vector<std::int64_t> last(heads, tiles);
    for (unsigned i = 0; i < tiles * heads; ++i) {
      const auto [head, tile] = tile_position(i, tiles, heads, {heads_at_once, true});
      EXPECT_LT(tile, last[static_cast<std::size_t>(head)]);
      last[static_cast<std::size_t>(head)] = tile;
    }
  }
}

// By how much the last multiprocessor's end is behind the mean, in work of a head's longest tile.
double overhang(const Attention& p, unsigned tiles, std::int64_t bytes_of_head) {
  constexpr int at_a_time = 132;
  const unsigned heads = static_cast<unsigned>(p.batch * p.heads);
  std::priority_queue<double, std::vector<double>, std::greater<>> ends;
  for (int i = 0; i < at_a_time; ++i) ends.push(0);
  double work = 0, end = 0;
  for (unsigned i = 0; i < tiles * heads; ++i) {
    const auto tile = tile_position(i, tiles, heads, tile_order(p, bytes_of_head)).tile;
    const auto own = static_cast<double>(tile + 1);
    const double begin = ends.top();
    ends.pop();
    ends.push(begin + own);
    end = std::max(end, begin + own);
    work += own;
  }
  return (end - work / at_a_time) / tiles;
}

TEST(AttentionOrder, NoMultiprocessorIsLeftAloneWithALongTile) {
  Attention p;
  p.causal = Causal::from_end;
  p.kv_heads = p.heads = 16, p.batch = 2;
  EXPECT_LT(overhang(p, 32, std::int64_t{4} << 20), 0.1);
  p.kv_heads = p.heads = 12, p.batch = 8;
  EXPECT_LT(overhang(p, 8, std::int64_t{1} << 19), 0.2);
  EXPECT_LT(overhang(p, 16, std::int64_t{1} << 20), 0.1);
}

}  // namespace
}  // namespace kw
