// How a problem of level 3 is cut in two.
#pragma once

#include <cstdint>

namespace kw::level3 {

// How many of `size` come first: blocks in a power of two, at least half of all. Few different
// sizes of products follow, and most of them fill whole tiles.
constexpr std::int64_t first_part(std::int64_t size, std::int64_t block) {
  std::int64_t part = block;
  while (2 * part < size) part *= 2;
  return part;
}

}  // namespace kw::level3
