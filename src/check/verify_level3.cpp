// Verification of level 3.
#include "check/verify_level3.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "check/run_kernel.hpp"
#include "check/tolerance.hpp"

namespace kw::check {

namespace {

bool updates_triangle(Routine routine) { return routine <= Routine::syr2k; }
bool has_triangular_a(Routine routine) {
  return routine == Routine::trmm || routine == Routine::trsm;
}
bool factors(Routine routine) { return routine == Routine::potrf; }
bool reads_b(const Level3Case& c) {
  return c.routine != Routine::syrk && c.routine != Routine::trsm && !factors(c.routine) &&
         !c.in_place;
}

struct StoredMatrix {
  std::int64_t rows, cols, pad, entries, misalign;
};
StoredMatrix stored_a(const Level3Case& c) {
  if (factors(c.routine)) return {0, 0, 0, 1, 0};
  if (!updates_triangle(c.routine))
    return {c.k, c.k, c.lda_pad, c.shared_a ? 1 : c.batch, c.misalign_a};
  if (c.op_a == Op::none) return {c.m, c.k, c.lda_pad, 1, c.misalign_a};
  return {c.k, c.m, c.lda_pad, 1, c.misalign_a};
}
StoredMatrix stored_b(const Level3Case& c) {
  if (!reads_b(c)) return {0, 0, 0, 1, 0};
  std::int64_t rows = c.m, cols = updates_triangle(c.routine) ? c.k : c.n;
  if (c.op_b == Op::transpose) std::swap(rows, cols);
  return {rows, cols, c.ldb_pad, 1, c.misalign_b};
}
StoredMatrix stored_c(const Level3Case& c) { return {c.m, c.n, c.ldc_pad, c.batch, c.misalign_c}; }

std::int64_t ld_of(const StoredMatrix& s) { return std::max<std::int64_t>(s.cols, 1) + s.pad; }
Placement place(const Level3Case& c, const StoredMatrix& s) {
  constexpr std::int64_t gap = 3;
  return GuardedMatrix::placement(s.rows, s.cols, ld_of(s), c.guard, s.misalign, s.entries,
                                  s.entries > 1 ? gap : 0);
}

Region region_of_a(const Level3Case& c) {
  if (updates_triangle(c.routine)) return {};
  return {c.triangle, has_triangular_a(c.routine) && c.unit_diagonal};
}
Region region_of_c(const Level3Case& c) {
  return updates_triangle(c.routine) || factors(c.routine) ? Region{c.triangle} : Region{};
}

constexpr float nearly_none = 0x1p-20f;

// Elements beside the diagonal that keep a triangle of that size far from singular, and a symmetric
// matrix positive.
float beside_diagonal(const Level3Case& c) {
  if (c.routine != Routine::trsm && !factors(c.routine)) return 0;
  if (c.is_timed) return nearly_none;
  const auto k = static_cast<double>(std::max<std::int64_t>(c.k, 1));
  const double size = factors(c.routine) ? k : std::sqrt(k);
  return static_cast<float>(std::exp2(-std::ceil(std::log2(size)) - 2));
}

// The k of the product that a float64 sum has.
std::int64_t depth(const Level3Case& c) { return c.routine == Routine::syr2k ? 2 * c.k : c.k; }
// Of whole factors, in floats: of A, or of A and B beside each other.
std::size_t left_size(const Level3Case& c) {
  if (c.routine == Routine::syr2k) return static_cast<std::size_t>(c.m * 2 * c.k);
  return updates_triangle(c.routine) ? 0 : static_cast<std::size_t>(c.k * c.k);
}
std::size_t right_size(const Level3Case& c) {
  if (c.routine == Routine::syr2k) return left_size(c);
  return c.in_place ? static_cast<std::size_t>(c.m * c.n) : 0;
}

template <class T>
std::int64_t step(Op op, T ld, bool of_rows) {
  return (op == Op::none) == of_rows ? ld : 1;
}

}  // namespace

Level3Case level3_case(Routine routine, std::int64_t m, std::int64_t n, std::int64_t k,
                       bool on_left) {
  Level3Case c;
  c.on_left = on_left;
  c.routine = routine;
  c.m = m;
  c.n = updates_triangle(routine) || factors(routine) ? m : n;
  c.k = updates_triangle(routine) ? k : on_left || factors(routine) ? m : n;
  return c;
}

std::string describe(const Level3Case& c) {
  std::string text = fmt::format("{} {}x{}x{} {}", to_string(c.routine), c.m, c.n, c.k,
                                 c.triangle == Triangle::lower ? "lower" : "upper");
  const auto add = [&](const char* name, std::int64_t value) {
    if (value != 0) text += fmt::format(" {}+{}", name, value);
  };
  if (!updates_triangle(c.routine) && !factors(c.routine)) text += c.on_left ? " left" : " right";
  text += fmt::format(" {}{}", c.op_a == Op::none ? 'N' : 'T', c.op_b == Op::none ? 'N' : 'T');
  for (const auto& [is_so, words] : {std::pair{c.unit_diagonal, " unit"},
                                     {c.in_place, " in-place"},
                                     {c.shared_a, " shared-a"},
                                     {c.scalars_on_device, " scalars-on-device"}}) {
    if (is_so) text += words;
  }
  if (c.condition == Condition::graded) text += " graded";
  if (c.condition == Condition::ill) text += " ill-conditioned";
  add("lda", c.lda_pad);
  add("ldb", c.ldb_pad);
  add("ldc", c.ldc_pad);
  add("a", c.misalign_a);
  add("b", c.misalign_b);
  add("c", c.misalign_c);
  if (c.batch != 1) text += fmt::format(" batch={}", c.batch);
  return text + fmt::format(" alpha={} beta={} input={} seed={} guard={}", c.alpha, c.beta,
                            to_string(c.input), c.seed, c.guard);
}

double Level3Trial::bytes(const Level3Case& c, const Device& device) {
  double words = 0;
  for (const StoredMatrix& s : {stored_a(c), stored_b(c), stored_c(c)})
    words += GuardedMatrix::words(s.rows, s.cols, ld_of(s), c.guard, s.misalign, s.entries, 3);
  words += static_cast<double>(left_size(c)) + static_cast<double>(right_size(c));
  const double results = static_cast<double>(c.m) * static_cast<double>(c.n);
  return words * sizeof(float) + 2 * results * sizeof(double) +
         (device.is_gpu() ? 0.0 : cpu_oracle_bytes(c.m, c.n, depth(c)));
}

Level3Trial::Level3Trial(Workbench& bench, const Level3Case& c)
    : bench_(bench),
      case_(c),
      a_(bench, place(c, stored_a(c))),
      b_(bench, place(c, stored_b(c))),
      c_(bench, place(c, stored_c(c))),
      left_(bench.runtime(), left_size(c) * sizeof(float)),
      right_(bench.runtime(), right_size(c) * sizeof(float)),
      product_(bench.runtime(), static_cast<std::size_t>(c.m * c.n) * sizeof(double)),
      magnitude_(bench.runtime(), static_cast<std::size_t>(c.m * c.n) * sizeof(double)) {
  const bool readable = c.alpha != 0 && c.k > 0;
  a_.fill({c.input, c.seed, Operand::a}, readable, region_of_a(c), beside_diagonal(c), c.condition);
  b_.fill({c.input, c.seed, Operand::b}, readable);
  make_problem();
  fill_c();
  if (readable) make_factors();
  if (!solves() && !factors(c.routine)) multiply_factors();
  bench.synchronize();
}

void Level3Trial::make_problem() {
  const Level3Case& c = case_;
  Level3& p = problem_;
  p.routine = c.routine;
  p.triangle = c.triangle;
  p.on_left = c.on_left;
  p.unit_diagonal = c.unit_diagonal;
  p.op_a = c.op_a;
  p.op_b = c.op_b;
  p.m = c.m;
  p.n = c.n;
  p.k = c.k;
  p.alpha = c.alpha;
  p.beta = c.beta;
  p.a = a_.data();
  p.lda = a_.ld();
  const GuardedMatrix& b = c.in_place ? c_ : b_;
  p.b = b.data();
  p.ldb = b.ld();
  p.c = c_.data();
  p.ldc = c_.ld();
  p.batch = c.batch;
  p.stride_a = a_.entries() > 1 ? a_.stride() : 0;
  p.stride_c = c_.entries() > 1 ? c_.stride() : 0;
  if (factors(c.routine)) {
    info_ = DeviceBuffer(bench_.runtime(), sizeof(int));
    p.info = info_.as<int>();
  }
  if (!c.scalars_on_device) return;
  const float scalars[] = {c.alpha, c.beta};
  scalars_ = DeviceBuffer(bench_.runtime(), sizeof scalars);
  require(bench_.runtime().copy(scalars_.data(), scalars, sizeof scalars, bench_.stream()));
  p.alpha_at = scalars_.as<float>();
  p.beta_at = scalars_.as<float>() + 1;
  // Whoever takes these for the scalars is found out.
  p.alpha = p.beta = std::numeric_limits<float>::quiet_NaN();
}

void Level3Trial::fill_c() {
  const Level3Case& c = case_;
  const bool is_input =
      factors(c.routine) ||
      (solves() || c.in_place ? c.alpha != 0 : c.beta != 0 && c.routine != Routine::trmm);
  c_.fill({c.input, c.seed, Operand::c}, is_input, region_of_c(c),
          factors(c.routine) ? beside_diagonal(c) : 0, c.condition, true);
}

// Whole matrices of what is stored as a triangle, or is to stand beside another.
void Level3Trial::make_factors() {
  const Level3Case& c = case_;
  const auto copy = [&](const CopyWhole& whole) {
    require(bench_.tools().copy_whole(whole, bench_.stream()));
  };
  if (c.routine == Routine::syr2k) {
    const auto place_at = [&](DeviceBuffer& to, std::int64_t column, const GuardedMatrix& from,
                              Op op) {
      copy({to.as<float>() + column, c.m, c.k, 2 * c.k, from.data(), step(op, from.ld(), true),
            step(op, from.ld(), false)});
    };
    place_at(left_, 0, a_, c.op_a);
    place_at(left_, c.k, b_, c.op_b);
    place_at(right_, 0, b_, c.op_b);
    place_at(right_, c.k, a_, c.op_a);
    return;
  }
  if (c.in_place) copy({right_.as<float>(), c.m, c.n, c.n, c_.data(), c_.ld(), 1});
  if (updates_triangle(c.routine) || solves() || factors(c.routine)) return;
  copy({left_.as<float>(), c.k, c.k, c.k, a_.data(), a_.ld(), 1, region_of_a(c),
        c.routine == Routine::symm ? Beside::mirrored : Beside::zeros});
}

void Level3Trial::multiply(const float* left, std::int64_t left_row_step,
                           std::int64_t left_col_step, const float* right,
                           std::int64_t right_row_step, std::int64_t right_col_step,
                           std::int64_t of_depth) {
  const Level3Case& c = case_;
  require(bench_.tools().oracle({c.m, c.n, c.alpha == 0 && !factors(c.routine) ? 0 : of_depth, left,
                                 left_row_step, left_col_step, right, right_row_step,
                                 right_col_step, product_.as<double>(), magnitude_.as<double>()},
                                bench_.stream()));
}

void Level3Trial::multiply_factors() {
  const Level3Case& c = case_;
  if (c.routine == Routine::syr2k)
    return multiply(left_.as<float>(), 2 * c.k, 1, right_.as<float>(), 1, 2 * c.k, 2 * c.k);
  const bool has_b = reads_b(c);
  if (updates_triangle(c.routine)) {
    const GuardedMatrix& b = has_b ? b_ : a_;
    const Op op_b = has_b ? c.op_b : c.op_a;
    return multiply(a_.data(), step(c.op_a, a_.ld(), true), step(c.op_a, a_.ld(), false), b.data(),
                    step(op_b, b.ld(), false), step(op_b, b.ld(), true), c.k);
  }
  const float* const a = left_.as<float>();
  const std::int64_t a_row = step(c.op_a, c.k, true), a_col = step(c.op_a, c.k, false);
  const float* const b = has_b ? b_.data() : right_.as<float>();
  const std::int64_t ldb = has_b ? b_.ld() : c.n;
  const std::int64_t b_row = step(c.op_b, ldb, true), b_col = step(c.op_b, ldb, false);
  if (c.on_left)
    multiply(a, a_row, a_col, b, b_row, b_col, c.k);
  else
    multiply(b, b_row, b_col, a, a_row, a_col, c.k);
}

// Of an entry's solution.
void Level3Trial::multiply_solution(std::int64_t entry) {
  const Level3Case& c = case_;
  if (c.alpha != 0)
    require(bench_.tools().copy_whole(
        {left_.as<float>(), c.k, c.k, c.k, a_.data(c.shared_a ? 0 : entry), a_.ld(), 1,
         region_of_a(c), Beside::zeros},
        bench_.stream()));
  const float* const a = left_.as<float>();
  const std::int64_t a_row = step(c.op_a, c.k, true), a_col = step(c.op_a, c.k, false);
  const float* const x = c_.data(entry);
  if (c.on_left)
    multiply(a, a_row, a_col, x, c_.ld(), 1, c.k);
  else
    multiply(x, c_.ld(), 1, a, a_row, a_col, c.k);
}

VerifyResult Level3Trial::verify(const Kernel<Level3>& kernel) {
  return guarded([&] {
    fill_c();
    return run_and_judge(bench_, kernel, problem_, case_.guard,
                         [&](const VerifyResult&) { return judge(); });
  });
}

VerifyResult Level3Trial::judge() {
  VerifyResult result;
  result.outcome = Outcome::verified;
  if (factors(case_.routine))
    judge_factor(result);
  else if (solves())
    judge_solution(result);
  else
    judge_product(result);
  const Level3Case& c = case_;
  if (c.m > 0 && c.n > 0) {
    result.c_first = bench_.read(c_.data());
    result.c_last = bench_.read(c_.data() + (c.m - 1) * c_.ld() + c.n - 1);
  }
  for (const std::string& change :
       {c_.find_change("C", true), a_.find_change("A", false), b_.find_change("B", false)}) {
    add_failure(change, result);
  }
  return result;
}

void Level3Trial::judge_product(VerifyResult& result) {
  const Level3Case& c = case_;
  // A triangle's product may be put together from a few parts, each rounded where it is stored.
  constexpr double parts = 4;
  const std::int64_t loop_k = c.alpha == 0 ? 0 : depth(c);
  const double beta = c.routine == Routine::trmm ? 0 : c.beta;
  // On the diagonal of an update by A alone all products are positive.
  const bool has_squares = c.routine == Routine::syrk && c.input != Input::integers;
  const Input signs = has_squares ? Input::unit : c.input;
  const double factor = is_exact(c.input, depth(c), c.alpha, static_cast<float>(beta))
                            ? 0
                            : product_tolerance(signs, loop_k) + parts;
  const JudgeSgemm judge{c_.data(),
                         c.m,
                         c.n,
                         c_.ld(),
                         product_.as<double>(),
                         magnitude_.as<double>(),
                         c.alpha,
                         beta,
                         {c.input, c.seed, Operand::c},
                         factor,
                         1,
                         0,
                         {},
                         region_of_c(c)};
  summarise(bench_.find(bench_.tools().judge_sgemm, judge), factor, std::max<std::int64_t>(c.n, 1),
            result);
  if (result.failures == 0) return;
  const std::int64_t element = result.first_row * c.n + result.first_col;
  result.first_got = bench_.read(c_.data() + result.first_row * c_.ld() + result.first_col);
  result.first_want =
      judge.want(bench_.read(product_.as<double>() + element), judge.addends(element));
  result.message = fmt::format(
      "{} elements wrong, first C[{}][{}] = {:.9g}, want {:.9g} (largest error {:.3g} u, bound "
      "{:.3g} u)",
      result.failures, result.first_row, result.first_col, result.first_got, result.first_want,
      result.error.max, factor);
}

VerifyResult verify_level3(Runtime& runtime, const Kernel<Level3>& kernel, const Level3Case& c) {
  return guarded([&] {
    Workbench bench(runtime);
    return Level3Trial(bench, c).verify(kernel);
  });
}

}  // namespace kw::check
