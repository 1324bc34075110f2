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

bool is_empty(const Footprint& f) { return f.lines == 0 || f.width == 0; }

std::int64_t extent(const Footprints& all) {
  return (all.count - 1) * all.stride + span(all.first);
}

bool extents_meet(const Footprints& x, const Footprints& y) {
  return x.first.address < y.first.address + static_cast<std::uintptr_t>(extent(y)) &&
         y.first.address < x.first.address + static_cast<std::uintptr_t>(extent(x));
}

Footprint nth(const Footprints& all, std::int64_t index) {
  Footprint one = all.first;
  one.address += static_cast<std::uintptr_t>(index * all.stride);
  return one;
}

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
  if (is_empty(x) || is_empty(y)) return false;
  if (y.lines > x.lines) return shares_byte(y, x);
  const auto offset = static_cast<std::int64_t>(y.address - x.address);
  if (offset >= span(x) || -offset >= span(y)) return false;
  if (x.ld == y.ld) return share_with_same_ld(x, y, offset);
  if (y.lines > max_lines_compared) return false;
  for (std::int64_t line = 0; line < y.lines; ++line) {
    if (meets_line(x, offset + line * y.ld, y.width)) return true;
  }
  return false;
}

bool any_shares_byte(Footprints x, Footprints y) {
  constexpr std::int64_t max_bytes = std::int64_t{1} << 60;  // sums of such do not overflow
  if (x.count == 0 || y.count == 0 || is_empty(x.first) || is_empty(y.first)) return false;
  if (extent(x) > max_bytes || extent(y) > max_bytes || !extents_meet(x, y)) return false;
  if (x.stride == y.stride) {
    // How two arrays lie to each other depends on the difference of their indices alone.
    y.first.address -= static_cast<std::uintptr_t>((x.count - 1) * x.stride);
    y.count += x.count - 1;
    x.count = 1;
  }
  const bool same_ld = x.first.ld == y.first.ld;
  const std::int64_t cost = same_ld ? 1 : std::min(x.first.lines, y.first.lines);
  std::int64_t left = max_lines_compared;
  for (std::int64_t i = 0; i < x.count; ++i) {
    const Footprint one = nth(x, i);
    const auto offset = static_cast<std::int64_t>(y.first.address - one.address);
    // Those of y whose extents meet one's: -span(y) < offset + j * stride < span(one).
    const std::int64_t step = std::max<std::int64_t>(y.stride, 1);
    const std::int64_t first = floor_div(-span(y.first) - offset, step) + 1;
    const std::int64_t last = floor_div(span(one) - 1 - offset, step);
    for (std::int64_t j = std::max<std::int64_t>(first, 0); j <= std::min(last, y.count - 1); ++j) {
      if ((left -= cost) < 0) return false;
      if (shares_byte(one, nth(y, j))) return true;
    }
    if (--left < 0) return false;
  }
  return false;
}

}  // namespace kw::detail
