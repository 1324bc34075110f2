// Verification of a row-wise operation.
#include <fmt/format.h>

#include <algorithm>

#include "check/rowwise/case.hpp"
#include "check/run_kernel.hpp"

namespace kw::check {

std::string describe(const RowwiseCase& c) {
  std::string text = fmt::format("{} {} {}x{}", to_string(c.op), to_string(c.type), c.rows, c.cols);
  const auto add = [&](const char* name, std::int64_t value, std::int64_t usual) {
    if (value != usual) text += fmt::format(" {}{}", name, value);
  };
  add("ldx+", c.ldx_pad, 0);
  add("ldy+", c.ldy_pad, 0);
  add("step_x=", c.step_x, 1);
  add("step_y=", c.step_y, 1);
  add("at+", c.misalign, 0);
  add("residual=", static_cast<int>(c.residual), 0);
  const auto say = [&](bool is_so, const char* word) {
    if (is_so) text += fmt::format(" {}", word);
  };
  say(c.activation != RowActivation::none, to_string(c.activation));
  say(c.in_place, "in place");
  say(c.gathers, "by index");
  say(c.strays, "some outside");
  say(c.bias, "bias");
  say(c.affine, c.gamma_alone ? "gamma" : "gamma beta");
  say(c.sum, c.sum_in_residual ? "sum in residual" : "sum");
  say(c.sprinkle != Sprinkle::none, to_string(c.sprinkle));
  return text + fmt::format(" input={} seed={} guard={}", to_string(c.input), c.seed, c.guard);
}

namespace {

constexpr std::int64_t table_rows = 61, period = 7;  // of gathered x; of residuals

std::int64_t width_of(const RowwiseCase& c, std::int64_t step) {
  return c.cols == 0 ? 0 : (c.cols - 1) * step + 1;
}
std::int64_t rows_of_x(const RowwiseCase& c) { return c.gathers ? table_rows : c.rows; }
std::int64_t rows_of_residual(const RowwiseCase& c) {
  switch (c.residual) {
    case RowResidual::none: return 0;
    case RowResidual::all: return c.rows;
    default: return period;
  }
}

// The data of each array is drawn with a seed of its own.
ElementStream stream_of(const RowwiseCase& c, int array) {
  ElementStream stream;
  stream.type = c.type;
  stream.input = c.input;
  stream.seed = c.seed * 8 + static_cast<std::uint64_t>(array);
  if (array == 0) {
    stream.sprinkle = c.sprinkle;
    stream.every = std::max<std::int64_t>(rows_of_x(c) * c.cols / 4, 1);
  }
  return stream;
}

GuardedArray make_rows(Workbench& bench, const RowwiseCase& c, int array, std::int64_t rows,
                       std::int64_t width, std::int64_t pad) {
  return {bench,   stream_of(c, array), rows, width, std::max<std::int64_t>(width, 1) + pad,
          c.guard, c.misalign};
}
GuardedArray make_vector(Workbench& bench, const RowwiseCase& c, int array, bool is_there) {
  return make_rows(bench, c, array, is_there ? 1 : 0, c.cols, 0);
}

// Some lie outside where they may.
std::vector<std::int64_t> draw_indices(const RowwiseCase& c, std::int64_t within,
                                       std::uint64_t which) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(c.rows));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::uint64_t dice = mix(c.seed * 4 + which + golden_gamma * i);
    indices[i] = static_cast<std::int64_t>((dice >> 32) % static_cast<std::uint64_t>(within));
    if (c.strays && dice % 4 == 0) indices[i] = dice % 8 == 0 ? -1 : within + 1000000;
  }
  return indices;
}

DeviceBuffer to_device(Workbench& bench, const std::vector<std::int64_t>& values) {
  DeviceBuffer buffer(bench.runtime(), values.size() * sizeof(std::int64_t));
  if (!values.empty())
    require(bench.runtime().copy(buffer.data(), values.data(), buffer.bytes(), bench.stream()));
  return buffer;
}

}  // namespace

double RowwiseTrial::bytes(const RowwiseCase& c, const Device&) {
  const auto array = [&](std::int64_t rows, std::int64_t step, std::int64_t pad) {
    return GuardedArray::bytes(c.type, rows, width_of(c, step), width_of(c, step) + pad, c.guard);
  };
  double bytes = array(rows_of_x(c), c.step_x, c.ldx_pad) + 32.0 * static_cast<double>(c.rows);
  if (!c.in_place) bytes += array(c.rows, c.step_y, c.ldy_pad);
  if (c.sum && !c.sum_in_residual) bytes += array(c.rows, 1, 0);
  return bytes + array(rows_of_residual(c), 1, 0);
}

RowwiseTrial::RowwiseTrial(Workbench& bench, const RowwiseCase& c)
    : bench_(bench),
      case_(c),
      x_(make_rows(bench, c, 0, rows_of_x(c), width_of(c, c.step_x), c.ldx_pad)),
      y_(make_rows(bench, c, 1, c.in_place ? 0 : c.rows, width_of(c, c.step_y), c.ldy_pad)),
      vectors_{make_vector(bench, c, 2, c.bias), make_vector(bench, c, 3, c.affine),
               make_vector(bench, c, 4, c.affine)},
      residual_(make_rows(bench, c, 5, rows_of_residual(c), c.cols, 0)),
      sum_(make_rows(bench, c, 6, c.sum && !c.sum_in_residual ? c.rows : 0, c.cols, 0)),
      statistics_(bench.runtime(), static_cast<std::size_t>(c.rows) * 2 * sizeof(double)) {
  if (c.gathers) index_ = to_device(bench, draw_indices(c, table_rows, 0));
  if (c.residual == RowResidual::indexed)
    residual_index_ = to_device(bench, draw_indices(c, period, 1));
  make_problem();
  data_ = {problem_,        stream_of(c, 0), stream_of(c, 2),      stream_of(c, 5),
           stream_of(c, 3), stream_of(c, 4), width_of(c, c.step_x)};
  make_statistics();
}

void RowwiseTrial::make_problem() {
  const RowwiseCase& c = case_;
  Rowwise& p = problem_;
  p.op = c.op;
  p.type = c.type;
  p.activation = c.activation;
  p.epsilon = c.epsilon;
  p.rows = c.rows;
  p.cols = c.cols;
  p.x = x_.data();
  p.ldx = x_.ld();
  p.step_x = c.step_x;
  p.index = c.gathers ? index_.as<std::int64_t>() : nullptr;
  p.x_rows = rows_of_x(c);
  if (c.bias) p.bias = vectors_[0].data();
  if (c.affine) {
    p.gamma = vectors_[1].data();
    if (!c.gamma_alone) p.beta = vectors_[2].data();
  }
  if (c.residual != RowResidual::none) {
    p.residual = residual_.data();
    p.ld_residual = residual_.ld();
    p.residual_rows = rows_of_residual(c);
    if (c.residual == RowResidual::indexed) p.residual_index = residual_index_.as<std::int64_t>();
  }
  if (c.sum) {
    const GuardedArray& sum = c.sum_in_residual ? residual_ : sum_;
    p.sum = sum.data();
    p.ld_sum = sum.ld();
  }
  const GuardedArray& y = c.in_place ? x_ : y_;
  p.y = y.data();
  p.ldy = y.ld();
  p.step_y = c.in_place ? c.step_x : c.step_y;
}

void RowwiseTrial::make_statistics() {
  constexpr std::int64_t largest_piece = 1024;
  const RowwiseCase& c = case_;
  if (c.op == RowwiseOp::map || c.rows == 0 || c.cols == 0) return;
  const std::int64_t pieces = (c.cols + largest_piece - 1) / largest_piece;
  const DeviceBuffer scratch(bench_.runtime(),
                             static_cast<std::size_t>(c.rows * pieces) * sizeof(double));
  RowwiseOracle oracle = {
      data_, pieces, largest_piece, scratch.as<double>(), statistics_.as<double>(), 0};
  for (oracle.phase = 0; oracle.phase < 4; ++oracle.phase)
    require(rowwise_tools_for(bench_.device()).oracle(oracle, bench_.stream()));
  bench_.synchronize();
}

void RowwiseTrial::fill() {
  x_.fill_input();
  residual_.fill_input();
  for (GuardedArray& vector : vectors_) vector.fill_input();
  y_.fill_output();
  sum_.fill_output();
}

VerifyResult RowwiseTrial::verify(const Kernel<Rowwise>& kernel) {
  return guarded([&] {
    fill();
    VerifyResult run = run_kernel(bench_, kernel, problem_, case_.guard);
    if (!run.ok()) return run;
    VerifyResult result = judge(kernel.role == Role::peer);
    result.first_call_us = run.first_call_us;
    result.launch = run.launch;
    return result;
  });
}

VerifyResult RowwiseTrial::judge(bool is_copy) {
  VerifyResult result;
  result.outcome = Outcome::verified;
  const JudgeRowwise judge = {data_, statistics_.as<double>(), !case_.in_place, 0xA5, is_copy};
  const std::int64_t width = std::max<std::int64_t>(judge.width(), 1);
  summarise(bench_.find(rowwise_tools_for(bench_.device()).judge, judge), 8, width, result);
  const GuardedArray& y = case_.in_place ? x_ : y_;
  if (judge.size() > 0) {
    result.c_first = static_cast<float>(y.value_at(0));
    result.c_last = static_cast<float>(y.value_at(judge.size() - 1));
  }
  if (result.failures > 0) {
    const std::int64_t at = result.first_row * width + result.first_col;
    result.first_got = y.value_at(at);
    result.message = fmt::format(
        "{} of {} elements wrong (or of the sum), first y[{}][{}] = {:.9g}", result.failures,
        judge.size(), result.first_row, result.first_col / problem_.step_y, result.first_got);
  }
  const std::string changes = find_changes();
  if (changes.empty()) return result;
  result.outcome = Outcome::failed;
  result.message += (result.message.empty() ? "" : "; ") + changes;
  return result;
}

std::string RowwiseTrial::find_changes() {
  std::string text;
  const auto add = [&](GuardedArray& array, const char* name, bool is_output, bool was_input) {
    const std::string change = array.find_change(name, is_output, was_input);
    if (!change.empty()) text += (text.empty() ? "" : "; ") + change;
  };
  add(x_, "x's elements", case_.in_place, true);
  add(y_, "y's elements", true, false);
  add(residual_, "the residual's elements", case_.sum && case_.sum_in_residual, true);
  add(sum_, "the sum's elements", true, false);
  for (GuardedArray& vector : vectors_) add(vector, "a vector's elements", false, true);
  return text;
}

VerifyResult verify_rowwise(Runtime& runtime, const Kernel<Rowwise>& kernel, const RowwiseCase& c) {
  return guarded([&] {
    Workbench bench(runtime);
    return RowwiseTrial(bench, c).verify(kernel);
  });
}

}  // namespace kw::check
