// Verification of complex triangular systems. Their float64 products are four real ones, of the
// parts.
#include "check/verify_ctrsm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/draw.hpp"
#include "check/run_kernel.hpp"
#include "check/verify_cgemm.hpp"

namespace kw::check {

std::string describe(const CtrsmCase& c) {
  std::string text = fmt::format(
      "ctrsm {}x{} {} {} {}{}", c.m, c.n, c.triangle == Triangle::lower ? "lower" : "upper",
      c.on_left ? "left" : "right", op_letter(c.op_a, c.conj_a), c.unit_diagonal ? " unit" : "");
  const auto add = [&](const char* name, std::int64_t value) {
    if (value != 0) text += fmt::format(" {}+{}", name, value);
  };
  if (c.shared_a) text += " shared-a";
  if (c.scalars_on_device) text += " scalars-on-device";
  if (c.condition == Condition::graded) text += " graded";
  if (c.condition == Condition::ill) text += " ill-conditioned";
  add("lda", c.lda_pad);
  add("ldc", c.ldc_pad);
  add("a", c.misalign_a);
  add("c", c.misalign_c);
  if (c.batch != 1) text += fmt::format(" batch={}", c.batch);
  return text + fmt::format(" alpha={}{:+}i input={} seed={} guard={}", c.alpha, c.alpha_im,
                            to_string(c.input), c.seed, c.guard);
}

namespace {

// Matrices of complex elements as GuardedMatrix sees them.
Placement place_system(const CtrsmCase& c, std::int64_t rows, std::int64_t cols, std::int64_t pad,
                       std::int64_t entries, std::int64_t misalign) {
  constexpr std::int64_t gap = 3;
  const std::int64_t ld = std::max<std::int64_t>(cols, 1) + pad;
  return GuardedMatrix::placement(rows, 2 * cols, 2 * ld, c.guard, 2 * misalign, entries,
                                  entries > 1 ? 2 * gap : 0);
}
Placement place_of_a(const CtrsmCase& c) {
  return place_system(c, c.k(), c.k(), c.lda_pad, c.shared_a ? 1 : c.batch, c.misalign_a);
}
Placement place_of_c(const CtrsmCase& c) {
  return place_system(c, c.m, c.n, c.ldc_pad, c.batch, c.misalign_c);
}

bool reads_system(const CtrsmCase& c) { return c.alpha != 0 || c.alpha_im != 0; }

// Of an entry's four products.
std::size_t system_doubles(const CtrsmCase& c) {
  return static_cast<std::size_t>(complex_parts * c.m * c.n);
}
std::size_t whole_floats(const CtrsmCase& c) { return static_cast<std::size_t>(c.k() * c.k()); }

// Elements beside the diagonal that keep a triangle of that size far from singular.
float size_beside_diagonal(const CtrsmCase& c) {
  if (c.is_timed) return 0x1p-20f;
  const auto k = static_cast<double>(std::max<std::int64_t>(c.k(), 1));
  return static_cast<float>(std::exp2(-std::ceil(std::log2(std::sqrt(k))) - 3));
}

}  // namespace

double CtrsmTrial::bytes(const CtrsmCase& c, const Device& device) {
  double words = 2.0 * static_cast<double>(c.k()) * static_cast<double>(c.k());
  for (const Placement& place : {place_of_a(c), place_of_c(c)})
    words += GuardedMatrix::words(place.rows, place.cols, place.ld, c.guard, 0, place.entries, 6);
  const double results = static_cast<double>(c.m) * static_cast<double>(c.n);
  return words * sizeof(float) + 2.0 * complex_parts * sizeof(double) * results +
         (device.is_gpu() ? 0.0 : cpu_oracle_bytes(c.m, c.n, c.k()));
}

CtrsmTrial::CtrsmTrial(Workbench& bench, const CtrsmCase& c)
    : bench_(bench),
      case_(c),
      a_(bench, place_of_a(c)),
      c_(bench, place_of_c(c)),
      whole_(bench.runtime(), 2 * whole_floats(c) * sizeof(float)),
      products_(bench.runtime(), system_doubles(c) * sizeof(double)),
      magnitudes_(bench.runtime(), system_doubles(c) * sizeof(double)) {
  a_.fill({c.input, c.seed, Operand::a}, reads_system(c), {c.triangle, c.unit_diagonal, 1},
          size_beside_diagonal(c), c.condition);
  make_problem();
  fill_c();
  bench.synchronize();
}

void CtrsmTrial::make_problem() {
  const CtrsmCase& c = case_;
  Ctrsm& p = problem_;
  p.triangle = c.triangle;
  p.on_left = c.on_left;
  p.unit_diagonal = c.unit_diagonal;
  p.op_a = c.op_a;
  p.conj_a = c.conj_a;
  p.m = c.m;
  p.n = c.n;
  p.alpha = {c.alpha, c.alpha_im};
  p.a = reinterpret_cast<const Complex*>(a_.data());
  p.lda = a_.ld() / 2;
  p.c = reinterpret_cast<Complex*>(c_.data());
  p.ldc = c_.ld() / 2;
  p.batch = c.batch;
  p.stride_a = a_.entries() > 1 ? a_.stride() / 2 : 0;
  p.stride_c = c_.entries() > 1 ? c_.stride() / 2 : 0;
  if (!c.scalars_on_device) return;
  scalars_ = DeviceBuffer(bench_.runtime(), sizeof p.alpha);
  require(bench_.runtime().copy(scalars_.data(), &p.alpha, sizeof p.alpha, bench_.stream()));
  bench_.synchronize();
  p.alpha_at = scalars_.as<Complex>();
  // Whoever takes this for alpha is found out.
  p.alpha.re = p.alpha.im = std::numeric_limits<float>::quiet_NaN();
}

void CtrsmTrial::fill_c() { c_.fill({case_.input, case_.seed, Operand::c}, reads_system(case_)); }

// op(A) X of an entry, or X op(A), part by part, over so many terms.
void CtrsmTrial::multiply(std::int64_t entry, std::int64_t depth) {
  const CtrsmCase& c = case_;
  const std::int64_t k = c.k();
  for (int part = 0; part < 2 && depth > 0; ++part)
    require(bench_.tools().copy_whole(
        {whole_.as<float>() + part * k * k, k, k, k, a_.data(c.shared_a ? 0 : entry) + part,
         a_.ld(), 2, Region{c.triangle, c.unit_diagonal}, Beside::zeros, part == 0 ? 1.0f : 0.0f},
        bench_.stream()));
  const bool plain = c.op_a == Op::none;
  for (int part = 0; part < complex_parts; ++part) {
    const int left = part == imag_imag || part == imag_real ? 1 : 0;
    const int right = part == imag_imag || part == real_imag ? 1 : 0;
    const float* const a = whole_.as<float>() + (c.on_left ? left : right) * k * k;
    const float* const x = c_.data(entry) + (c.on_left ? right : left);
    const std::int64_t a_row = plain ? k : 1, a_col = plain ? 1 : k, at = part * c.m * c.n;
    double* const product = products_.as<double>() + at;
    double* const magnitude = magnitudes_.as<double>() + at;
    require(bench_.tools().oracle(
        c.on_left ? Oracle{c.m, c.n, depth, a, a_row, a_col, x, c_.ld(), 2, product, magnitude}
                  : Oracle{c.m, c.n, depth, x, c_.ld(), 2, a, a_row, a_col, product, magnitude},
        bench_.stream()));
  }
}

VerifyResult CtrsmTrial::verify(const Kernel<Ctrsm>& kernel) {
  return guarded([&] {
    if (kernel.role == Role::peer && may_refuse(kernel.role, case_)) {
      return not_had_by(kernel.name);
    }
    fill_c();
    return run_and_judge(bench_, kernel, problem_, case_.guard,
                         [&](const VerifyResult&) { return judge(); });
  });
}

VerifyResult CtrsmTrial::judge() {
  const CtrsmCase& c = case_;
  VerifyResult result;
  result.outcome = Outcome::verified;
  if (reads_system(c))
    judge_residual(result);
  else
    judge_zeros(result);
  if (c.m > 0 && c.n > 0 && c.batch > 0) {
    result.c_first = bench_.read(c_.data());
    result.c_last = bench_.read(c_.data(c.batch - 1) + (c.m - 1) * c_.ld() + 2 * c.n - 1);
  }
  for (const std::string& change : {c_.find_change("B", true), a_.find_change("A", false)}) {
    add_failure(change, result);
  }
  return result;
}

void CtrsmTrial::judge_residual(VerifyResult& result) {
  const CtrsmCase& c = case_;
  // 2 k + 2 roundings of a sum, and those of the quotient and of alpha.
  const double factor = 2 * static_cast<double>(c.k()) + 8;
  Partial found = empty_partial();
  for (std::int64_t entry = 0; entry < c.batch && c.m > 0 && c.n > 0; ++entry) {
    multiply(entry, c.k());
    const JudgeComplexSolve judge{c.m,
                                  c.n,
                                  products_.as<double>(),
                                  magnitudes_.as<double>(),
                                  c.on_left && c.conj_a,
                                  !c.on_left && c.conj_a,
                                  {c.alpha, c.alpha_im},
                                  {c.input, c.seed, Operand::c},
                                  factor,
                                  entry * c.m * c.n};
    merge(found, bench_.find(bench_.tools().judge_complex_solve, judge));
  }
  summarise(found, factor, std::max<std::int64_t>(2 * c.n, 1), result);
  if (result.failures > 0)
    result.message = fmt::format(
        "{} residuals too large, first in row {}, float {} (largest {:.3g} u, bound {:.3g} u)",
        result.failures, result.first_row, result.first_col, result.error.max, factor);
}

// The solution where alpha is 0.
void CtrsmTrial::judge_zeros(VerifyResult& result) {
  const CtrsmCase& c = case_;
  Partial found = empty_partial();
  if (c.m > 0 && c.n > 0 && c.batch > 0) multiply(0, 0);
  for (std::int64_t entry = 0; entry < c.batch && c.m > 0 && c.n > 0; ++entry) {
    const JudgeCgemm judge{c_.data(entry),
                           c.m,
                           c.n,
                           c_.ld(),
                           products_.as<double>(),
                           magnitudes_.as<double>(),
                           false,
                           false,
                           {0, 0},
                           {0, 0},
                           {},
                           0,
                           1,
                           0};
    merge(found, bench_.find(bench_.tools().judge_cgemm, judge));
  }
  summarise(found, 0, std::max<std::int64_t>(2 * c.n, 1), result);
  if (result.failures > 0)
    result.message = fmt::format("{} parts of elements are not 0, first in row {}, float {}",
                                 result.failures, result.first_row, result.first_col);
}

VerifyResult verify_ctrsm(Runtime& runtime, const Kernel<Ctrsm>& kernel, const CtrsmCase& c) {
  return guarded([&] {
    Workbench bench(runtime);
    return CtrsmTrial(bench, c).verify(kernel);
  });
}

namespace {

// All that a system has beside its sizes.
std::vector<CtrsmCase> system_forms() {
  std::vector<CtrsmCase> found;
  for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
    for (const bool on_left : {true, false}) {
      for (const Op op : {Op::none, Op::transpose}) {
        for (const bool conj : {false, true}) {
          for (const bool unit : {false, true}) {
            CtrsmCase c;
            c.triangle = triangle;
            c.on_left = on_left;
            c.op_a = op;
            c.conj_a = conj;
            c.unit_diagonal = unit;
            found.push_back(c);
          }
        }
      }
    }
  }
  return found;
}

}  // namespace

std::vector<CtrsmCase> ctrsm_edge_cases(std::uint64_t seed) {
  constexpr std::array<std::int64_t, 9> extents = {1, 2, 7, 8, 33, 64, 65, 129, 140};
  constexpr std::array<std::int64_t, 3> pads = {0, 1, 4};
  constexpr std::array<std::int64_t, 3> misalignments = {0, 0, 1};
  constexpr std::array<std::array<float, 2>, 5> alphas = {
      {{1, 0}, {-1.5f, 0}, {0, 0.75f}, {1.25f, -0.5f}, {0, 0}}};
  constexpr std::array<Input, 4> inputs = {Input::uniform, Input::normal, Input::unit,
                                           Input::integers};
  constexpr std::array<std::int64_t, 2> guards = {1024, 0};
  constexpr std::array<std::int64_t, 4> batches = {1, 1, 1, 3};
  constexpr std::array<bool, 4> rarely = {false, false, false, true};
  constexpr std::array<Condition, 3> conditions = {Condition::good, Condition::graded,
                                                   Condition::ill};
  // Systems of more than two blocks.
  constexpr std::array<std::int64_t, 2> many = {270, 300};
  constexpr std::int64_t few = 9;
  std::vector<CtrsmCase> cases;
  for (const CtrsmCase& form : system_forms()) {
    for (int i = 0; i < 3; ++i) {
      const std::size_t number = cases.size();
      Draw draw(number);
      CtrsmCase c = form;
      c.m = draw.from(extents);
      c.n = draw.from(extents);
      c.lda_pad = draw.from(pads);
      c.ldc_pad = draw.from(pads);
      c.misalign_a = draw.from(misalignments);
      c.misalign_c = draw.from(misalignments);
      const auto alpha = draw.from(alphas);
      c.alpha = alpha[0], c.alpha_im = alpha[1];
      c.input = draw.from(inputs);
      c.guard = draw.from(guards);
      c.scalars_on_device = draw.from(rarely);
      c.batch = draw.from(batches);
      c.shared_a = c.batch > 1 && draw.from(rarely);
      c.condition = draw.from(conditions);
      if (i == 0 && number % 2 == 0) {
        const std::int64_t size = many[number / 2 % many.size()];
        c.m = c.on_left ? size : few;
        c.n = c.on_left ? few : size;
        c.batch = 1;
        c.shared_a = false;
      }
      c.seed = seed + number;
      cases.push_back(c);
    }
  }
  for (const auto& [m, n] : {std::pair{0, 5}, std::pair{5, 0}}) {
    CtrsmCase& c = cases.emplace_back();
    c.m = m;
    c.n = n;
  }
  return cases;
}

std::vector<CtrsmCase> ctrsm_cases_of_shape(std::int64_t m, std::int64_t n, Input input,
                                            std::uint64_t seed) {
  std::vector<CtrsmCase> cases;
  for (const CtrsmCase& form : system_forms()) {
    for (const Condition condition : {Condition::good, Condition::graded, Condition::ill}) {
      CtrsmCase c = form;
      c.m = m;
      c.n = n;
      c.input = input;
      c.seed = seed;
      c.condition = condition;
      if (condition != Condition::good) {
        c.lda_pad = 3;
        c.ldc_pad = 1;
        c.alpha = -1.5f, c.alpha_im = 0.5f;
        c.guard = 0;
      }
      cases.push_back(c);
    }
  }
  return cases;
}

}  // namespace kw::check
