// The generated cases of case.hpp: choices are mixed so that most pairs of them meet.
#include <array>

#include "check/draw.hpp"
#include "check/rowwise/case.hpp"
#include "rowwise/tuning.hpp"

namespace kw::check {
namespace {

constexpr std::array<RowwiseOp, 5> row_ops = {RowwiseOp::softmax, RowwiseOp::log_softmax,
                                              RowwiseOp::layer_norm, RowwiseOp::rms_norm,
                                              RowwiseOp::map};
constexpr std::array<DataType, 4> row_types = {DataType::float32, DataType::float32,
                                               DataType::float16, DataType::bfloat16};
constexpr std::array<RowActivation, 5> row_activations = {
    RowActivation::none, RowActivation::relu, RowActivation::gelu_tanh, RowActivation::gelu_erf,
    RowActivation::silu};
constexpr std::array<Input, 4> row_inputs = {Input::uniform, Input::normal, Input::unit,
                                             Input::integers};
constexpr std::array<Sprinkle, 8> row_sprinkles = {
    Sprinkle::none, Sprinkle::none,       Sprinkle::none, Sprinkle::none,
    Sprinkle::nan,  Sprinkle::infinities, Sprinkle::none, Sprinkle::far_mean};

// What every case draws, whatever its shape.
RowwiseCase draw_rows(std::size_t number, std::uint64_t seed) {
  Draw draw(number + seed * 1000003);
  RowwiseCase c;
  c.op = row_ops[number % row_ops.size()];
  c.type = draw.from(row_types);
  c.input = draw.from(row_inputs);
  c.sprinkle = draw.from(row_sprinkles);
  c.seed = seed + number;
  c.misalign = draw.from(std::array<std::int64_t, 6>{0, 0, 0, 0, 1, 4});
  c.guard = draw.from(std::array<std::int64_t, 2>{1024, 0});
  c.ldx_pad = draw.from(std::array<std::int64_t, 5>{0, 0, 0, 4, 3});
  c.in_place = draw.from(std::array<bool, 3>{true, false, false});
  c.ldy_pad = c.in_place ? c.ldx_pad : draw.from(std::array<std::int64_t, 4>{0, 0, 8, 1});
  c.bias = draw.from(std::array<bool, 3>{true, false, false});
  c.residual = draw.from(std::array<RowResidual, 6>{RowResidual::none, RowResidual::none,
                                                    RowResidual::none, RowResidual::all,
                                                    RowResidual::periodic, RowResidual::indexed});
  c.sum = draw.from(std::array<bool, 4>{true, false, false, false});
  c.sum_in_residual = c.sum && c.residual == RowResidual::all;
  c.affine = is_norm(c.op) && draw.from(std::array<bool, 3>{true, true, false});
  if (c.op == RowwiseOp::map) c.activation = draw.from(row_activations);
  if (draw.from(std::array<int, 6>{0, 0, 0, 0, 1, 2}) == 1) {
    c.step_x = 2;
    c.step_y = c.in_place ? 2 : 3;
  } else if (!c.in_place) {
    c.gathers = draw.from(std::array<bool, 4>{true, false, false, false});
    c.strays = draw.from(std::array<bool, 2>{true, false});
  }
  return c;
}

// Without what makes rows other than plain: each operation and type over all forms of teams, at
// boundaries of memory and not.
void add_plain_cases(std::vector<RowwiseCase>& cases, std::uint64_t seed) {
  constexpr std::array<DataType, 3> types = {DataType::float32, DataType::float16,
                                             DataType::bfloat16};
  const auto add = [&](std::int64_t rows, std::int64_t cols) {
    const std::size_t number = cases.size();
    RowwiseCase c = draw_rows(number, seed);
    c.op = row_ops[number % 4];  // not map
    c.type = types[number / 4 % types.size()];
    c.affine = is_norm(c.op) && number % 8 < 6;
    c.gamma_alone = number / 12 % 2 == 1;
    c.step_x = c.step_y = 1;
    c.ldy_pad = c.ldx_pad;
    c.gathers = c.strays = c.bias = c.sum = c.sum_in_residual = false;
    c.residual = RowResidual::none;
    c.rows = rows;
    c.cols = cols;
    cases.push_back(c);
  };
  for (const std::int64_t cols : {1, 6, 15, 29, 130, 383, 386, 770, 1201}) {
    for (int i = 0; i < 3; ++i) add(7, cols);
  }
  for (int i = 0; i < 4; ++i) add(3, 12280 + 5 * i);
  for (int i = 0; i < 4; ++i) add(2, 25000 + i);
  for (int i = 0; i < 4; ++i) add(2, 60001 + i);
}

}  // namespace

std::vector<RowwiseCase> rowwise_edge_cases(std::uint64_t seed) {
  std::vector<RowwiseCase> cases;
  const auto add = [&](std::int64_t rows, std::int64_t cols) {
    RowwiseCase c = draw_rows(cases.size(), seed);
    c.rows = rows;
    c.cols = cols;
    cases.push_back(c);
  };
  // Around what lanes, a warp and packs take; each with several operations and choices.
  for (const std::int64_t cols : {0,  1,   2,   3,   4,   5,   7,   8,   9,    16,   31,   32,  33,
                                  64, 100, 128, 255, 256, 257, 512, 768, 1000, 1023, 1024, 1025}) {
    for (int i = 0; i < 6; ++i) add(std::array<std::int64_t, 3>{1, 3, 9}[i % 3], cols);
  }
  for (const std::int64_t rows : {0, 1, 70}) {
    for (int i = 0; i < 5; ++i) add(rows, 12);
  }
  for (const RowTeam& team : row_teams) {
    for (int i = 0; i < 5; ++i) add(2, team.most_columns + i - 2);
  }
  // Blocks that have a row or, in clusters, parts of one.
  for (int i = 0; i < 5; ++i) add(1 + i % 2, (i % 3 + 1) * shared_tile + 3 * i - 5);
  for (int i = 0; i < 5; ++i) add(1 + i % 3, 3 * spread_tile + 4 * (i % 2) + i);
  add_plain_cases(cases, seed);
  return cases;
}

std::vector<RowwiseCase> rowwise_cases_of_shape(const RowwiseCase& shape) {
  std::vector<RowwiseCase> cases;
  for (const std::int64_t misalign : {0, 1}) {
    for (const bool in_place : {false, true}) {
      RowwiseCase c = shape;
      c.misalign = misalign;
      c.in_place = in_place;
      c.ldx_pad = c.ldy_pad = misalign;
      c.affine = is_norm(c.op);
      cases.push_back(c);
    }
  }
  return cases;
}

}  // namespace kw::check
