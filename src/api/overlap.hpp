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
// has at most `most_lines_compared` lines; other pairs count as separate.
bool shares_byte(const Footprint& x, const Footprint& y);

constexpr std::int64_t most_lines_compared = 1 << 16;

}  // namespace kw::detail
