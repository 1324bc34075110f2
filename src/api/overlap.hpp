// Whether two matrices have an element in common.
#pragma once

#include <cstdint>

namespace kw::detail {

// `lines` runs of `width` elements, `ld` elements apart (width <= ld), from `address` on.
struct Footprint {
  std::uintptr_t address = 0;
  std::int64_t lines = 0;
  std::int64_t width = 0;
  std::int64_t ld = 0;
};

// True only where it is certain. Certain is: any pair with the same ld, and any pair one of which
// has at most `most_lines_compared` lines; other pairs count as separate.
bool shares_element(const Footprint& x, const Footprint& y);

constexpr std::int64_t most_lines_compared = 1 << 16;

}  // namespace kw::detail
