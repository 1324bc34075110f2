// Solutions and factors by their residuals.
#include <fmt/format.h>

#include <algorithm>

#include "check/run_kernel.hpp"
#include "check/verify_level3.hpp"

namespace kw::check {

void Level3Trial::judge_solution(VerifyResult& result) {
  const Level3Case& c = case_;
  if (c.alpha == 0) return judge_zeros(result);
  // k + 2 roundings of a sum, and those of the division and of alpha.
  const double factor = static_cast<double>(c.k) + 4;
  Partial found = empty_partial();
  for (std::int64_t entry = 0; entry < c.batch && c.m > 0 && c.n > 0; ++entry) {
    multiply_solution(entry);
    const JudgeSolve judge{c.m,
                           c.n,
                           product_.as<double>(),
                           magnitude_.as<double>(),
                           c.alpha,
                           {c.input, c.seed, Operand::c},
                           factor,
                           entry * c.m * c.n};
    merge(found, bench_.find(bench_.tools().judge_solve, judge));
  }
  summarise(found, factor, std::max<std::int64_t>(c.n, 1), result);
  if (result.failures > 0)
    result.message = fmt::format(
        "{} residuals too large, first in row {}, column {} (largest {:.3g} u, bound {:.3g} u)",
        result.failures, result.first_row, result.first_col, result.error.max, factor);
}

// The factor by L L^T: n + 1 roundings of a sum, those of the root and of the division.
void Level3Trial::judge_factor(VerifyResult& result) {
  const Level3Case& c = case_;
  const int info = bench_.read(info_.as<int>());
  if (c.m > 0) {
    require(bench_.tools().copy_whole(
        {left_.as<float>(), c.m, c.m, c.m, c_.data(), c_.ld(), 1, {c.triangle}, Beside::zeros},
        bench_.stream()));
    const bool is_lower = c.triangle == Triangle::lower;
    const std::int64_t row = is_lower ? c.m : 1, col = is_lower ? 1 : c.m;
    const float* const l = left_.as<float>();
    multiply(l, row, col, l, col, row, c.m);
  }
  const double factor = static_cast<double>(c.m) + 4;
  const JudgeFactor judge{c_.filled(), c.m, product_.as<double>(), magnitude_.as<double>(), factor};
  summarise(bench_.find(bench_.tools().judge_factor, judge), factor, std::max<std::int64_t>(c.n, 1),
            result);
  if (result.failures > 0)
    result.message = fmt::format(
        "{} elements of L L^T - A too large, first in row {}, column {} (largest {:.3g} u, bound "
        "{:.3g} u)",
        result.failures, result.first_row, result.first_col, result.error.max, factor);
  if (info == 0) return;
  result.outcome = Outcome::failed;
  result.message += fmt::format("{}info is {} of a positive definite matrix",
                                result.message.empty() ? "" : "; ", info);
}

// The solution where alpha is 0.
void Level3Trial::judge_zeros(VerifyResult& result) {
  const Level3Case& c = case_;
  multiply(nullptr, 0, 0, nullptr, 0, 0, 0);
  Partial found = empty_partial();
  for (std::int64_t entry = 0; entry < c.batch && c.m > 0 && c.n > 0; ++entry) {
    const JudgeSgemm judge{c_.data(entry),          c.m, c.n, c_.ld(), product_.as<double>(),
                           magnitude_.as<double>(), 0,   0,   {},      0};
    merge(found, bench_.find(bench_.tools().judge_sgemm, judge));
  }
  summarise(found, 0, std::max<std::int64_t>(c.n, 1), result);
  if (result.failures > 0)
    result.message = fmt::format("{} elements are not 0, first in row {}, column {}",
                                 result.failures, result.first_row, result.first_col);
}

}  // namespace kw::check
