// Whether two arrays have a byte in common.
#include "api/overlap.hpp"

#include <algorithm>

namespace kw::detail {

namespace {

std::int64_t floor_div(std::int64_t value, std::int64_t divisor) {
  const std::int64_t quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

std::int64_t span(const Footprint& f) { return (f.lines - 1) * f.ld + f.width; }

// Byte (i, j) of x is byte (i2, j2) of y, which begins `offset` bytes later, where
// (i - i2) * ld + (j - j2) == offset. |j - j2| < ld leaves two candidates for the pair of
// differences.
bool share_with_same_ld(const Footprint& x, const Footprint& y, std::int64_t offset) {
  const auto possible = [&](std::int64_t lines, std::int64_t columns) {
    return lines < x.lines && -lines < y.lines && columns < x.width && -columns < y.width;
  };
  const std::int64_t lines = floor_div(offset, x.ld);
  const std::int64_t columns = offset - lines * x.ld;
  return possible(lines, columns) || possible(lines + 1, columns - x.ld);
}

// Whether a run of `width` bytes that begins `start` bytes after f's first meets a line of f.
bool meets_line(const Footprint& f, std::int64_t start, std::int64_t width) {
  const std::int64_t first_ending_later =
      std::max<std::int64_t>(0, floor_div(start - f.width, f.ld) + 1);
  return first_ending_later < f.lines && first_ending_later * f.ld < start + width;
}

}  // namespace

bool shares_byte(const Footprint& x, const Footprint& y) {
  if (x.lines == 0 || x.width == 0 || y.lines == 0 || y.width == 0) return false;
  if (y.lines > x.lines) return shares_byte(y, x);
  const auto offset = static_cast<std::int64_t>(y.address - x.address);
  if (offset >= span(x) || -offset >= span(y)) return false;
  if (x.ld == y.ld) return share_with_same_ld(x, y, offset);
  if (y.lines > most_lines_compared) return false;
  for (std::int64_t line = 0; line < y.lines; ++line) {
    if (meets_line(x, offset + line * y.ld, y.width)) return true;
  }
  return false;
}

}  // namespace kw::detail
