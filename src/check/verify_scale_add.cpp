// Verification of B = scale * A + shift.
#include <fmt/format.h>

#include <algorithm>

#include "check/run_kernel.hpp"
#include "check/verify.hpp"

namespace kw::check {

std::string describe(const ScaleAddCase& c) {
  std::string text = fmt::format("{}x{}", c.rows, c.cols);
  const auto add = [&](const char* name, std::int64_t value) {
    if (value != 0) text += fmt::format(" {}+{}", name, value);
  };
  add("lda", c.lda_pad);
  add("ldb", c.in_place ? 0 : c.ldb_pad);
  add("a", c.misalign_a);
  add("b", c.misalign_b);
  return text + fmt::format(" scale={} shift={}{} input={} seed={} guard={}", c.scale, c.shift,
                            c.in_place ? " in place" : "", to_string(c.input), c.seed, c.guard);
}

namespace {

std::int64_t ld_of(const ScaleAddCase& c, std::int64_t pad) {
  return std::max<std::int64_t>(c.cols, 1) + pad;
}

}  // namespace

double ScaleAddTrial::bytes(const ScaleAddCase& c, const Device&) {
  const auto words = [&](std::int64_t pad) {
    return GuardedMatrix::words(c.rows, c.cols, ld_of(c, pad), c.guard, 0);
  };
  return ((c.in_place ? 0 : words(c.lda_pad)) + words(c.ldb_pad)) * sizeof(float);
}

ScaleAddTrial::ScaleAddTrial(Workbench& bench, const ScaleAddCase& c)
    : bench_(bench),
      case_(c),
      a_(bench, c.in_place ? 0 : c.rows, c.cols, ld_of(c, c.lda_pad), c.guard, c.misalign_a),
      b_(bench, c.rows, c.cols, ld_of(c, c.in_place ? c.lda_pad : c.ldb_pad), c.guard,
         c.misalign_b) {
  const GuardedMatrix& input = c.in_place ? b_ : a_;
  problem_ = {c.rows, c.cols, c.scale, input.data(), input.ld(), c.shift, b_.data(), b_.ld()};
}

VerifyResult ScaleAddTrial::verify(const Kernel<ScaleAdd>& kernel) {
  return guarded([&] {
    const InputStream values{case_.input, case_.seed, Operand::a};
    const bool readable = case_.scale != 0;
    a_.fill(values, readable);
    b_.fill(values, readable && case_.in_place);
    VerifyResult run = run_kernel(bench_, kernel, problem_, case_.guard);
    if (!run.ok()) return run;
    VerifyResult result = judge();
    result.first_call_us = run.first_call_us;
    result.launch = run.launch;
    return result;
  });
}

VerifyResult ScaleAddTrial::judge() {
  const ScaleAddCase& c = case_;
  VerifyResult result;
  result.outcome = Outcome::verified;
  const JudgeScaleAdd judge{
      b_.data(), c.rows, c.cols, b_.ld(), c.scale, c.shift, {c.input, c.seed, Operand::a}};
  summarise(bench_.find(bench_.tools().judge_scale_add, judge), 0, c.cols, result);
  if (judge.size() > 0) {
    result.c_first = bench_.read(b_.data());
    result.c_last = bench_.read(b_.data() + (c.rows - 1) * b_.ld() + c.cols - 1);
  }
  if (result.failures > 0) {
    result.first_got = bench_.read(b_.data() + result.first_row * b_.ld() + result.first_col);
    result.first_want = judge.want(result.first_row * c.cols + result.first_col);
    result.message = fmt::format("{} of {} elements wrong, first B[{}][{}] = {:.9g}, want {:.9g}",
                                 result.failures, judge.size(), result.first_row, result.first_col,
                                 result.first_got, result.first_want);
  }
  for (const std::string& change : {b_.find_change("B", true), a_.find_change("A", false)}) {
    add_failure(change, result);
  }
  return result;
}

VerifyResult verify_scale_add(Runtime& runtime, const Kernel<ScaleAdd>& kernel,
                              const ScaleAddCase& c) {
  return guarded([&] {
    Workbench bench(runtime);
    return ScaleAddTrial(bench, c).verify(kernel);
  });
}

}  // namespace kw::check
