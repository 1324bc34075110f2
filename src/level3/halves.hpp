// How a problem of level 3 is cut in two.
#pragma once

#include <cstdint>

#include "status.hpp"

namespace kw::level3 {

// How many of `size` come first: blocks in a power of two, at least half of all. Few different
// sizes of products follow, and most of them fill whole tiles.
constexpr std::int64_t first_part(std::int64_t size, std::int64_t block) {
  std::int64_t part = block;
  while (2 * part < size) part *= 2;
  return part;
}

// A triangular system by halves: calls solve(first, size, is_first) for each block of unknowns, and
// between them update(first, known, size, is_first), what `known` unknowns take from the `size`
// behind them. `is_first`: the right-hand side has not met alpha yet.
template <class Solve, class Update>
Status by_halves(std::int64_t first, std::int64_t size, std::int64_t block, bool is_first,
                 const Solve& solve, const Update& update) {
  if (size <= block) return solve(first, size, is_first);
  const std::int64_t part = first_part(size, block);
  Status known = by_halves(first, part, block, is_first, solve, update);
  if (!known.ok()) return known;
  const Status updated = update(first, part, size - part, is_first);
  return updated.ok() ? by_halves(first + part, size - part, block, false, solve, update) : updated;
}

}  // namespace kw::level3
