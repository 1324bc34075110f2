// Lengths of segments.
#include <array>
#include <cmath>
#include <utility>

#include "check/reduce/case.hpp"

namespace kw::check {
namespace {

constexpr std::array<std::pair<SegmentLengths, const char*>, 5> length_names = {{
    {SegmentLengths::equal, "equal"},
    {SegmentLengths::one_to_32, "one_to_32"},
    {SegmentLengths::log_uniform, "log_uniform"},
    {SegmentLengths::uneven, "uneven"},
    {SegmentLengths::out_of_range, "out_of_range"},
}};

// Of a segment that is not the long one.
std::int64_t length_of(SegmentLengths lengths, std::uint64_t bits) {
  switch (lengths) {
    case SegmentLengths::one_to_32: return static_cast<std::int64_t>(bits >> 59) + 1;
    case SegmentLengths::log_uniform: {
      const double share = static_cast<double>(bits >> 11) * 0x1p-53;
      return static_cast<std::int64_t>(std::exp(share * std::log(100000.0)));
    }
    default: {
      constexpr std::array<std::int64_t, 8> choices = {0, 1, 0, 1, 2, 7, 33, 40};
      return choices[bits >> 61];
    }
  }
}

std::vector<std::int64_t> equal_offsets(std::int64_t segments, std::int64_t cols) {
  std::vector<std::int64_t> offsets;
  for (std::int64_t s = 0; s <= segments; ++s) {
    offsets.push_back(cols == 0 ? 64 * s : segments == 0 ? 0 : cols / segments * s);
  }
  return offsets;
}

}  // namespace

const char* to_string(SegmentLengths lengths) {
  for (const auto& [value, name] : length_names) {
    if (value == lengths) return name;
  }
  return "unknown";
}

bool parse_segment_lengths(std::string_view name, SegmentLengths* lengths) {
  for (const auto& [value, known] : length_names) {
    if (name == known) {
      *lengths = value;
      return true;
    }
  }
  return false;
}

std::vector<std::int64_t> segment_offsets(SegmentLengths lengths, std::int64_t segments,
                                          std::uint64_t seed, std::int64_t cols) {
  if (lengths == SegmentLengths::equal) return equal_offsets(segments, cols);
  const bool has_long_one =
      lengths == SegmentLengths::uneven || lengths == SegmentLengths::out_of_range;
  std::vector<std::int64_t> offsets = {0};
  for (std::int64_t s = 0; s < segments; ++s) {
    const std::uint64_t bits = random_bits(seed, Operand::c, static_cast<std::uint64_t>(s));
    const bool is_long_one = has_long_one && s == segments / 2;
    // At most 40 elements a segment: longer than all others together.
    const std::int64_t length = is_long_one ? 20011 + 40 * segments : length_of(lengths, bits);
    offsets.push_back(offsets.back() + length);
  }
  if (lengths == SegmentLengths::out_of_range) {
    offsets.front() -= out_of_range_by;
    offsets.back() += out_of_range_by;
  }
  return offsets;
}

}  // namespace kw::check
