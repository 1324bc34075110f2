// Draws until a case is of the third that is its turn.
#include "sweeps/random_rowwise.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "sweeps/draws.hpp"

namespace kw {
namespace {

using check::RowwiseCase;

constexpr int fewest_octave = 10, most_octave = 29;  // of elements

template <class T, std::size_t count>
T one_of(std::mt19937_64& engine, const std::array<T, count>& values) {
  return values[static_cast<std::size_t>(below(engine, static_cast<std::int64_t>(count)))];
}

RowwiseCase draw_rowwise(std::mt19937_64& engine) {
  constexpr std::array row_ops = {RowwiseOp::softmax, RowwiseOp::log_softmax, RowwiseOp::layer_norm,
                                  RowwiseOp::rms_norm};
  constexpr std::array row_types = {DataType::float32, DataType::float32, DataType::float16,
                                    DataType::bfloat16};
  constexpr std::array<std::int64_t, 4> row_paddings = {1, 4, 5, 32};
  RowwiseCase c;
  c.op = one_of(engine, row_ops);
  c.type = one_of(engine, row_types);
  c.affine = is_norm(c.op);
  const std::int64_t elements = log_uniform(engine, fewest_octave, most_octave);
  const std::int64_t ratio = log_uniform(engine, 0, row_aspect_octaves);
  std::int64_t least = 1;  // of both extents: the root of elements over ratio
  while (least * least * ratio < elements) ++least;
  c.rows = least;
  c.cols = std::max<std::int64_t>(elements / least, 1);
  if (below(engine, 2) == 0) std::swap(c.rows, c.cols);
  if (below(engine, 4) == 0) c.misalign = 1 + below(engine, 15);
  if (below(engine, 4) == 0) c.ldx_pad = c.ldy_pad = one_of(engine, row_paddings);
  c.in_place = below(engine, 4) == 0;
  return c;
}

}  // namespace

double rowwise_bytes(const RowwiseCase& c) {
  return 2.0 * static_cast<double>(c.rows * c.cols) * static_cast<double>(size_of(c.type));
}

bench::Third third_of(const RowwiseCase& c) {
  return bench::third_of_us(rowwise_bytes(c) / (bench::reference_roofline.memory_gbs * 1e3));
}

std::vector<RowwiseCase> random_rowwise(std::uint64_t seed, std::int64_t count,
                                        double least_bytes) {
  constexpr double middle_us = 4, long_us = 50;
  const double least_us = least_bytes / (bench::reference_roofline.memory_gbs * 1e3);
  const int first_third = least_us >= long_us ? 2 : least_us >= middle_us ? 1 : 0;
  std::mt19937_64 engine(seed);
  std::vector<RowwiseCase> cases;
  while (static_cast<std::int64_t>(cases.size()) < count) {
    const RowwiseCase c = draw_rowwise(engine);
    const std::int64_t elements = c.rows * c.cols;
    const auto of_turn = static_cast<int>(cases.size() % bench::thirds);
    const auto turn = static_cast<bench::Third>(std::max(of_turn, first_third));
    if (third_of(c) == turn && elements >= fewest_row_elements && elements <= most_row_elements &&
        rowwise_bytes(c) >= least_bytes)
      cases.push_back(c);
  }
  return cases;
}

}  // namespace kw
