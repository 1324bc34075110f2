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
  const auto [cols, rows] = extents_of(engine, elements, row_aspect_octaves);
  c.rows = rows;
  c.cols = cols;
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
  return drawn_cases(seed, count, draw_rowwise, [&](const RowwiseCase& c, std::size_t number) {
    const std::int64_t elements = c.rows * c.cols;
    const auto of_turn = static_cast<int>(number % bench::thirds);
    const auto turn = static_cast<bench::Third>(std::max(of_turn, first_third));
    return third_of(c) == turn && elements >= fewest_row_elements &&
           elements <= most_row_elements && rowwise_bytes(c) >= least_bytes;
  });
}

}  // namespace kw
