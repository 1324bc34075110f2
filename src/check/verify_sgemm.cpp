// Verification of a matrix product.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "check/run_kernel.hpp"
#include "check/tolerance.hpp"
#include "check/verify.hpp"

namespace kw::check {

std::string describe(const SgemmCase& c) {
  std::string text = fmt::format("{}x{}x{} {}{}", c.m, c.n, c.k, c.op_a == Op::none ? 'N' : 'T',
                                 c.op_b == Op::none ? 'N' : 'T');
  const auto add = [&](const char* name, std::int64_t value) {
    if (value != 0) text += fmt::format(" {}+{}", name, value);
  };
  add("lda", c.lda_pad);
  add("ldb", c.ldb_pad);
  add("ldc", c.ldc_pad);
  add("a", c.misalign_a);
  add("b", c.misalign_b);
  add("c", c.misalign_c);
  return text + fmt::format(" alpha={} beta={} input={} seed={} guard={}", c.alpha, c.beta,
                            to_string(c.input), c.seed, c.guard);
}

namespace {

struct Stored {
  std::int64_t rows, cols, ld;
};
Stored stored(Op op, std::int64_t rows, std::int64_t cols, std::int64_t pad) {
  if (op == Op::transpose) std::swap(rows, cols);
  // BLAS asks for ld >= 1 even where there are no columns.
  return {rows, cols, std::max<std::int64_t>(cols, 1) + pad};
}
Stored stored_a(const SgemmCase& c) { return stored(c.op_a, c.m, c.k, c.lda_pad); }
Stored stored_b(const SgemmCase& c) { return stored(c.op_b, c.k, c.n, c.ldb_pad); }
Stored stored_c(const SgemmCase& c) { return stored(Op::none, c.m, c.n, c.ldc_pad); }

GuardedMatrix make_matrix(Workbench& bench, const Stored& s, std::int64_t guard,
                          std::int64_t misalign) {
  return {bench, s.rows, s.cols, s.ld, guard, misalign};
}

std::size_t dense_bytes(const SgemmCase& c) {
  return static_cast<std::size_t>(c.m * c.n) * sizeof(double);
}

}  // namespace

std::size_t SgemmTrial::bytes(const SgemmCase& c) {
  const auto words = [&](const Stored& s) {
    return static_cast<std::size_t>(
        GuardedMatrix::placement(s.rows, s.cols, s.ld, c.guard, 0).total);
  };
  return (words(stored_a(c)) + words(stored_b(c)) + words(stored_c(c))) * sizeof(float) +
         2 * dense_bytes(c);
}

SgemmTrial::SgemmTrial(Workbench& bench, const SgemmCase& c)
    : bench_(bench),
      case_(c),
      a_(make_matrix(bench, stored_a(c), c.guard, c.misalign_a)),
      b_(make_matrix(bench, stored_b(c), c.guard, c.misalign_b)),
      c_(make_matrix(bench, stored_c(c), c.guard, c.misalign_c)),
      product_(bench.runtime(), dense_bytes(c)),
      magnitude_(bench.runtime(), dense_bytes(c)) {
  problem_ = {c.m,     c.n,       c.k,     c.op_a, c.op_b,    c.alpha, a_.data(),
              a_.ld(), b_.data(), b_.ld(), c.beta, c_.data(), c_.ld()};
  const bool readable = problem_.loop_k() > 0;
  a_.fill({c.input, c.seed, Operand::a}, readable);
  b_.fill({c.input, c.seed, Operand::b}, readable);
  require(bench.tools().oracle(
      make_oracle(problem_, product_.as<double>(), magnitude_.as<double>()), bench.stream()));
  bench.synchronize();
}

VerifyResult SgemmTrial::verify(const Kernel<Sgemm>& kernel) {
  return guarded([&] {
    c_.fill({case_.input, case_.seed, Operand::c}, case_.beta != 0);
    VerifyResult run = run_kernel(bench_, kernel, problem_, case_.guard);
    if (!run.ok()) return run;
    VerifyResult result = judge();
    result.first_call_us = run.first_call_us;
    result.launch = run.launch;
    return result;
  });
}

VerifyResult SgemmTrial::judge() {
  const SgemmCase& c = case_;
  VerifyResult result;
  result.outcome = Outcome::verified;
  const double factor =
      is_exact(c.input, c.k, c.alpha, c.beta) ? 0 : product_tolerance(c.input, problem_.loop_k());
  const JudgeSgemm judge{c_.data(),
                         c.m,
                         c.n,
                         c_.ld(),
                         product_.as<double>(),
                         magnitude_.as<double>(),
                         c.alpha,
                         c.beta,
                         {c.input, c.seed, Operand::c},
                         factor};
  summarise(bench_.find(bench_.tools().judge_sgemm, judge), factor, c.n, result);
  if (c.m > 0 && c.n > 0) {
    result.c_first = bench_.read(c_.data());
    result.c_last = bench_.read(c_.data() + (c.m - 1) * c_.ld() + c.n - 1);
  }
  if (result.failures > 0) {
    const std::int64_t element = result.first_row * c.n + result.first_col;
    const double product = bench_.read(product_.as<double>() + element);
    result.first_got = bench_.read(c_.data() + result.first_row * c_.ld() + result.first_col);
    result.first_want = std::fma(judge.alpha, product, judge.beta * judge.before(element));
    result.message = fmt::format(
        "{} of {} elements wrong, first C[{}][{}] = {:.9g}, want {:.9g} (largest error {:.3g} u, "
        "bound {:.3g} u)",
        result.failures, c.m * c.n, result.first_row, result.first_col, result.first_got,
        result.first_want, result.error.max, factor);
  }
  for (const std::string& change :
       {c_.find_change("C", true), a_.find_change("A", false), b_.find_change("B", false)}) {
    if (change.empty()) continue;
    result.outcome = Outcome::failed;
    result.message += (result.message.empty() ? "" : "; ") + change;
  }
  return result;
}

VerifyResult verify_sgemm(Runtime& runtime, const Kernel<Sgemm>& kernel, const SgemmCase& c) {
  return guarded([&] {
    Workbench bench(runtime);
    return SgemmTrial(bench, c).verify(kernel);
  });
}

}  // namespace kw::check
