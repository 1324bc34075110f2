// Draws until a reduction is of the third that is its turn.
#include "sweeps/random_reductions.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "sweeps/draws.hpp"

namespace kw {
namespace {

using check::ReduceCase;
using check::SegmentLengths;

constexpr std::array<std::int64_t, 4> paddings = {1, 4, 5, 32};
constexpr std::int64_t most_misaligned = 15;
constexpr std::int64_t most_segments = 10'000'000;

void draw_segments(std::mt19937_64& engine, std::int64_t elements, ReduceCase& c) {
  constexpr std::array<SegmentLengths, 4> lengths = {
      SegmentLengths::equal, SegmentLengths::one_to_32, SegmentLengths::log_uniform,
      SegmentLengths::uneven};
  const auto [count, length] = extents_of(engine, elements, aspect_octaves);
  c.lengths = one_of(engine, lengths);
  switch (c.lengths) {
    case SegmentLengths::one_to_32: c.segments = 2 * elements / 33; break;
    case SegmentLengths::log_uniform: c.segments = elements / 8686; break;  // 10^5 / ln 10^5
    case SegmentLengths::uneven: c.segments = elements / 50; break;
    default: c.segments = count; break;
  }
  c.segments = std::clamp<std::int64_t>(c.segments, 1, most_segments);
  if (c.lengths == SegmentLengths::equal) c.cols = c.segments * length;
}

ReduceCase draw_reduction(std::mt19937_64& engine) {
  constexpr std::array<ReduceShape, 4> shapes = {ReduceShape::whole, ReduceShape::rows,
                                                 ReduceShape::columns, ReduceShape::segments};
  ReduceCase c;
  c.op = static_cast<ReduceOp>(below(engine, 12));
  c.type = static_cast<DataType>(below(engine, 7));
  c.shape = one_of(engine, shapes);
  std::int64_t elements = 0;
  while (elements < fewest_elements || elements > most_elements) {
    elements = log_uniform(engine, 9, 30);
  }
  if (c.shape == ReduceShape::whole) {
    c.cols = elements;
  } else if (c.shape == ReduceShape::segments) {
    draw_segments(engine, elements, c);
  } else {
    const auto [rows, cols] = extents_of(engine, elements, aspect_octaves);
    c.rows = rows;
    c.cols = cols;
    if (below(engine, 2) == 1) c.ld_pad = one_of(engine, paddings);
  }
  if (below(engine, 2) == 1) c.misalign = 1 + below(engine, most_misaligned);
  if (c.op == ReduceOp::variance) c.correction = below(engine, 2);
  return c;
}

}  // namespace

std::int64_t expected_elements(const ReduceCase& c) {
  if (c.shape != ReduceShape::segments) return c.rows * c.cols;
  switch (c.lengths) {
    case SegmentLengths::one_to_32: return c.segments * 33 / 2;
    case SegmentLengths::log_uniform: return c.segments * 8686;
    case SegmentLengths::uneven: return c.segments * 50 + 20011;
    default: return c.cols;
  }
}

bench::Third third_of(const ReduceCase& c) {
  const double bytes =
      static_cast<double>(expected_elements(c)) * static_cast<double>(size_of(c.type));
  return bench::third_of_us(bytes / (bench::reference_roofline.memory_gbs * 1e3));
}

std::vector<ReduceCase> random_reductions(std::uint64_t seed, std::int64_t count) {
  return drawn_cases(seed, count, draw_reduction, [](const ReduceCase& c, std::size_t number) {
    return third_of(c) == static_cast<bench::Third>(number % bench::thirds);
  });
}

}  // namespace kw
