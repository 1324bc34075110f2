// Where the parts of a workspace lie: each begins on a boundary.
#pragma once

#include <cstddef>

#include "arithmetic.hpp"

namespace kw {

// A part's bytes, with which the next one begins on a boundary too.
constexpr std::size_t whole_part(std::size_t bytes) {
  constexpr std::size_t boundary = 256;
  return ceil_div(bytes, boundary) * boundary;
}
// Puts a part behind the others, which end at `end`: where it begins.
constexpr std::size_t take_part(std::size_t& end, std::size_t bytes) {
  const std::size_t at = end;
  end += whole_part(bytes);
  return at;
}

}  // namespace kw
