// Whether two arrays have a byte in common.
#pragma once

#include <cstdint>

namespace kw::detail {

// `lines` runs of `width` bytes, `ld` bytes apart (width <= ld), from `address` on. Aligned
// elements of one size share a byte where they are the same element.
struct Footprint {
  std::uintptr_t address = 0;
  std::int64_t lines = 0;
  std::int64_t width = 0;
  std::int64_t ld = 0;
};

// True only where it is certain. Certain is: any pair with the same ld, and any pair one of which
// has at most `max_lines_compared` lines; other pairs count as separate.
bool shares_byte(const Footprint& x, const Footprint& y);

constexpr std::int64_t max_lines_compared = 1 << 16;

// `count` arrays like `first`, `stride` bytes apart.
struct Footprints {
  Footprint first;
  std::int64_t count = 1;
  std::int64_t stride = 0;
};

// Whether any of x has a byte in common with any of y. True only where it is certain: what
// comparing takes is limited as above, over all pairs of arrays whose extents meet.
bool any_shares_byte(Footprints x, Footprints y);

}  // namespace kw::detail
