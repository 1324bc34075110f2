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

// Two extents of about `elements` in all, whose ratio is log-uniform as far as `elements` allows.
std::array<std::int64_t, 2> extents_of(std::mt19937_64& engine, std::int64_t elements) {
  const std::int64_t ratio = log_uniform(engine, 0, aspect_octaves);
  std::int64_t least = 1;  // of both: the root of elements over ratio
  while (least * least * ratio < elements) ++least;
  const std::int64_t other = std::max<std::int64_t>(elements / least, 1);
  if (below(engine, 2) == 0) return {least, other};
  return {other, least};
}

void draw_segments(std::mt19937_64& engine, std::int64_t elements, ReduceCase& c) {
  constexpr std::array<SegmentLengths, 4> lengths = {
      SegmentLengths::equal, SegmentLengths::one_to_32, SegmentLengths::log_uniform,
      SegmentLengths::uneven};
  const auto [count, length] = extents_of(engine, elements);
  c.lengths =
      lengths[static_cast<std::size_t>(below(engine, static_cast<std::int64_t>(lengths.size())))];
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
  c.shape =
      shapes[static_cast<std::size_t>(below(engine, static_cast<std::int64_t>(shapes.size())))];
  std::int64_t elements = 0;
  while (elements < fewest_elements || elements > most_elements) {
    elements = log_uniform(engine, 9, 30);
  }
  if (c.shape == ReduceShape::whole) {
    c.cols = elements;
  } else if (c.shape == ReduceShape::segments) {
    draw_segments(engine, elements, c);
  } else {
    const auto [rows, cols] = extents_of(engine, elements);
    c.rows = rows;
    c.cols = cols;
    if (below(engine, 2) == 1) {
      c.ld_pad = paddings[static_cast<std::size_t>(
          below(engine, static_cast<std::int64_t>(paddings.size())))];
    }
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
  std::mt19937_64 engine(seed);
  std::vector<ReduceCase> cases;
  while (static_cast<std::int64_t>(cases.size()) < count) {
    const ReduceCase c = draw_reduction(engine);
    const auto turn = static_cast<bench::Third>(cases.size() % bench::thirds);
    if (third_of(c) == turn) cases.push_back(c);
  }
  return cases;
}

}  // namespace kw
