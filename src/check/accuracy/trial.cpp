// Operands are made on the host and copied: they are small, and their kinds are many.
#include "check/accuracy/trial.hpp"

#include <bit>
#include <cmath>

#include "check/each.hpp"
#include "check/run_kernel.hpp"

namespace kw::check {
namespace {

std::int64_t ld_of(std::int64_t cols, std::int64_t pad) {
  return std::max<std::int64_t>(cols, 1) + pad;
}

GuardedMatrix matrix(Workbench& bench, const SgemmCase& c, Op op, std::int64_t rows,
                     std::int64_t cols, std::int64_t pad) {
  if (op == Op::transpose) std::swap(rows, cols);
  return {bench, rows, cols, ld_of(cols, pad), c.guard, 0};
}

}  // namespace

AccuracyTrial::AccuracyTrial(Workbench& bench, const AccuracyClass& of, const SgemmCase& c)
    : bench_(bench),
      class_(of),
      case_(c),
      a_(matrix(bench, c, c.op_a, c.m, c.k, c.lda_pad)),
      b_(matrix(bench, c, c.op_b, c.k, c.n, c.ldb_pad)),
      c_(matrix(bench, c, Op::none, c.m, c.n, c.ldc_pad)) {
  problem_ = {{c.m, c.n, c.k, c.op_a, c.op_b, c.alpha, a_.data(), a_.ld(), b_.data(), b_.ld(),
               c.beta, c_.data(), c_.ld()}};
  upload(a_, stored(Operand::a));
  upload(b_, stored(Operand::b));
  if (c.beta != 0) c_before_ = stored(Operand::c);
  fetch_oracle();
}

// The element at a row and a column of the matrix as it is stored.
AccuracyElement AccuracyTrial::element(Operand operand, std::int64_t row, std::int64_t col) const {
  const SgemmCase& c = case_;
  const bool flipped = (operand == Operand::a && c.op_a == Op::transpose) ||
                       (operand == Operand::b && c.op_b == Op::none);
  if (flipped) std::swap(row, col);
  return {c.seed, operand, row, col, operand == Operand::b ? c.n : c.m, c.k};
}

AccuracyTrial::Words AccuracyTrial::stored(Operand operand) const {
  const bool is_a = operand == Operand::a, is_b = operand == Operand::b;
  std::int64_t rows = is_b ? case_.k : case_.m, cols = is_a ? case_.k : case_.n;
  if ((is_a ? case_.op_a : is_b ? case_.op_b : Op::none) == Op::transpose) std::swap(rows, cols);
  const std::int64_t ld = (is_a ? a_ : is_b ? b_ : c_).ld();
  if (rows == 0 || cols == 0) return {};
  Words words(static_cast<std::size_t>((rows - 1) * ld + cols), canary_word);
  parallel_ranges(rows, threads_for(rows * cols), [&](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t col = 0; col < cols; ++col) {
        words[static_cast<std::size_t>(row * ld + col)] =
            std::bit_cast<std::uint32_t>(class_.value(element(operand, row, col)));
      }
    }
  });
  return words;
}

void AccuracyTrial::upload(GuardedMatrix& to, const Words& words) {
  to.fill({}, false);
  if (words.empty()) return;
  require(bench_.runtime().copy(to.data(), words.data(), words.size() * sizeof(words[0]),
                                bench_.stream()));
}

void AccuracyTrial::fetch_oracle() {
  const SgemmCase& c = case_;
  const auto count = static_cast<std::size_t>(c.m * c.n);
  const std::size_t bytes = count * sizeof(double);
  DeviceBuffer product(bench_.runtime(), bytes), magnitude(bench_.runtime(), bytes);
  require(bench_.tools().oracle(make_oracle(problem_, product.as<double>(), magnitude.as<double>()),
                                bench_.stream()));
  product_.resize(count);
  magnitude_.resize(count);
  require(bench_.runtime().copy(product_.data(), product.data(), bytes, bench_.stream()));
  require(bench_.runtime().copy(magnitude_.data(), magnitude.data(), bytes, bench_.stream()));
  want_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::int64_t>(i) / c.n, col = static_cast<std::int64_t>(i) % c.n;
    const double before = c.beta == 0 ? 0 : class_.value(element(Operand::c, row, col));
    const double alpha = c.alpha, beta = c.beta;
    want_[i] = {std::fma(alpha, product_[i], beta * before),
                unit_roundoff * (std::fabs(alpha) * magnitude_[i] + std::fabs(beta * before))};
  }
}

AccuracyRun AccuracyTrial::run(const Kernel<Sgemm>& kernel) {
  AccuracyRun run;
  Words results[2];
  for (Words& result : results) {
    const VerifyResult launched = guarded([&] {
      upload(c_, c_before_);
      VerifyResult found = run_kernel(bench_, kernel, problem_, case_.guard);
      if (!found.ok()) return found;
      found.message = c_.find_change("C", true);
      if (!found.message.empty()) found.outcome = Outcome::failed;
      result.resize(static_cast<std::size_t>((case_.m - 1) * c_.ld() + case_.n));
      require(bench_.runtime().copy(result.data(), c_.data(), result.size() * sizeof(result[0]),
                                    bench_.stream()));
      return found;
    });
    run.outcome = launched.outcome;
    run.message = launched.message;
    run.path = launched.path;
    run.launch = launched.launch;
    if (!launched.ok()) return run;
  }
  run.same_bits = results[0] == results[1];
  judge(results[0], run);
  return run;
}

void AccuracyTrial::judge(const Words& words, AccuracyRun& run) const {
  for (std::int64_t row = 0; row < case_.m; ++row) {
    for (std::int64_t col = 0; col < case_.n; ++col) {
      const std::int64_t at = row * case_.n + col;
      const float got = std::bit_cast<float>(words[static_cast<std::size_t>(row * c_.ld() + col)]);
      add_element(got, want_[static_cast<std::size_t>(at)], at, run.found);
    }
  }
  run.c_first = std::bit_cast<float>(words.front());
  run.c_last = std::bit_cast<float>(words.back());
}

}  // namespace kw::check
