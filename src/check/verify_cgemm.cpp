// Verification of a complex product. Its float64 product is four real ones, of the parts.
#include "check/verify_cgemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "check/run_kernel.hpp"
#include "check/tolerance.hpp"

namespace kw::check {

char op_letter(Op op, bool conj) {
  return op == Op::none ? (conj ? 'J' : 'N') : (conj ? 'C' : 'T');
}

std::string describe(const CgemmCase& c) {
  const std::string real = describe(static_cast<const SgemmCase&>(c));
  // "NT" is right but for conjugates.
  const std::size_t ops = real.find(' ') + 1;
  std::string text = real;
  text[ops] = op_letter(c.op_a, c.conj_a);
  text[ops + 1] = op_letter(c.op_b, c.conj_b);
  text = fmt::format("{} alpha-im={} beta-im={}", text, c.alpha_im, c.beta_im);
  if (c.triangle == Triangle::none) return text;
  return fmt::format("{} {} {}", c.hermitian ? "cherk" : "csyrk",
                     c.triangle == Triangle::lower ? "lower" : "upper", text);
}

CgemmCase as_update(CgemmCase c, Triangle triangle, bool hermitian) {
  c.triangle = triangle;
  c.hermitian = hermitian;
  c.n = c.m;
  c.op_b = c.op_a == Op::none ? Op::transpose : Op::none;
  c.conj_a = hermitian && c.op_a == Op::transpose;
  c.conj_b = hermitian && c.op_a == Op::none;
  c.batch = 1;
  c.gap = 0;
  c.by_pointers = c.shared_a = c.shared_b = false;
  if (hermitian) c.alpha_im = c.beta_im = 0;
  return c;
}

namespace {

// A matrix of complex elements as GuardedMatrix sees it.
Placement place_complex(const CgemmCase& c, Op op, std::int64_t rows, std::int64_t cols,
                        std::int64_t pad, bool shared, std::int64_t misalign) {
  if (op == Op::transpose) std::swap(rows, cols);
  const std::int64_t ld = std::max<std::int64_t>(cols, 1) + pad;
  return GuardedMatrix::placement(rows, 2 * cols, 2 * ld, c.guard, 2 * misalign,
                                  shared ? 1 : c.batch, 2 * c.gap);
}
Placement place_a(const CgemmCase& c) {
  return place_complex(c, c.op_a, c.m, c.k, c.lda_pad, c.shared_a, c.misalign_a);
}
Placement place_b(const CgemmCase& c) {
  return place_complex(c, c.op_b, c.k, c.n, c.ldb_pad, c.shared_b, c.misalign_b);
}
Placement place_c(const CgemmCase& c) {
  return place_complex(c, Op::none, c.m, c.n, c.ldc_pad, false, c.misalign_c);
}

std::size_t parts_bytes(const CgemmCase& c) {
  return static_cast<std::size_t>(c.batch * c.m * c.n) * complex_parts * sizeof(double);
}

bool reads_inputs(const CgemmCase& c) { return (c.alpha != 0 || c.alpha_im != 0) && c.k > 0; }
bool reads_c(const CgemmCase& c) { return c.beta != 0 || c.beta_im != 0; }

// Pointers lead to A and C in descending order, to B in ascending order.
std::int64_t slot_of(const CgemmCase& c, const GuardedMatrix& matrix, bool descending,
                     std::int64_t entry) {
  if (matrix.entries() == 1) return 0;
  return c.by_pointers && descending ? c.batch - 1 - entry : entry;
}

template <class T>
DeviceBuffer put_values(Workbench& bench, const std::vector<T>& values) {
  DeviceBuffer buffer(bench.runtime(), values.size() * sizeof(T));
  require(bench.runtime().copy(buffer.data(), values.data(), values.size() * sizeof(T),
                               bench.stream()));
  return buffer;
}

Region region_of_c(const CgemmCase& c) {
  return {c.triangle, false, c.triangle == Triangle::none ? 0 : 1};
}

Complex* complex_at(const GuardedMatrix& matrix, std::int64_t entry = 0) {
  return reinterpret_cast<Complex*>(matrix.data(entry));
}

}  // namespace

Cgemm without_matrices(const CgemmCase& c) {
  Cgemm p;
  p.m = c.m, p.n = c.n, p.k = c.k;
  p.op_a = c.op_a, p.op_b = c.op_b;
  p.conj_a = c.conj_a, p.conj_b = c.conj_b;
  p.alpha = {c.alpha, c.alpha_im}, p.beta = {c.beta, c.beta_im};
  p.triangle = c.triangle;
  p.hermitian = c.hermitian;
  p.lda = place_a(c).ld / 2, p.ldc = place_c(c).ld / 2;
  p.ldb = c.triangle == Triangle::none ? place_b(c).ld / 2 : p.lda;
  p.batch = c.batch;
  return p;
}

double CgemmTrial::bytes(const CgemmCase& c, const Device& device) {
  double words = 0;
  for (const Placement& place : {place_a(c), place_b(c), place_c(c)})
    words += GuardedMatrix::words(place.rows, place.cols, place.ld, c.guard, 0, place.entries,
                                  2 * c.gap);
  return words * sizeof(float) +
         2.0 * complex_parts * sizeof(double) * static_cast<double>(c.batch) *
             static_cast<double>(c.m) * static_cast<double>(c.n) +
         (device.is_gpu() ? 0.0 : cpu_oracle_bytes(c.m, c.n, c.k));
}

CgemmTrial::CgemmTrial(Workbench& bench, const CgemmCase& c)
    : bench_(bench),
      case_(c),
      a_(bench, place_a(c)),
      b_(bench, place_b(c)),
      c_(bench, place_c(c)),
      products_(bench.runtime(), parts_bytes(c)),
      magnitudes_(bench.runtime(), parts_bytes(c)) {
  a_.fill({c.input, c.seed, Operand::a}, reads_inputs(c));
  b_.fill({c.input, c.seed, Operand::b}, reads_inputs(c));
  make_problem();
  make_oracle_products();
  bench.synchronize();
}

void CgemmTrial::make_problem() {
  const CgemmCase& c = case_;
  const auto stride = [](const GuardedMatrix& matrix) {
    return matrix.entries() > 1 ? matrix.stride() / 2 : 0;
  };
  problem_ = without_matrices(c);
  Cgemm& p = problem_;
  p.a = complex_at(a_), p.b = is_update() ? p.a : complex_at(b_), p.c = complex_at(c_);
  p.stride_a = stride(a_), p.stride_b = stride(b_), p.stride_c = stride(c_);
  if (c.by_pointers) {
    std::vector<float*> pointers;
    for (const auto& [matrix, descending] :
         {std::pair{&a_, true}, std::pair{&b_, false}, std::pair{&c_, true}}) {
      for (std::int64_t i = 0; i < c.batch; ++i)
        pointers.push_back(matrix->data(slot_of(c, *matrix, descending, i)));
    }
    pointers_ = put_values(bench_, pointers);
    p.a_array = pointers_.as<const Complex*>();
    p.b_array = pointers_.as<const Complex*>() + c.batch;
    p.c_array = pointers_.as<Complex*>() + 2 * c.batch;
    p.a = p.b = nullptr;
    p.c = nullptr;
  }
  if (c.scalars_on_device) {
    // Those of cherk are floats.
    scalars_ = put_values(bench_, c.hermitian ? std::vector<Complex>{{p.alpha.re, p.beta.re}}
                                              : std::vector<Complex>{p.alpha, p.beta});
    p.alpha_at = scalars_.as<Complex>();
    p.beta_at = c.hermitian ? reinterpret_cast<const Complex*>(scalars_.as<float>() + 1)
                            : scalars_.as<Complex>() + 1;
    // Whoever takes these for the scalars is found out.
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    p.alpha = p.beta = {nan, nan};
  }
}

void CgemmTrial::make_oracle_products() {
  const CgemmCase& c = case_;
  const bool a_plain = c.op_a == Op::none, b_plain = c.op_b == Op::none;
  const std::int64_t step = c.batch * c.m * c.n, k = reads_inputs(c) ? c.k : 0;
  for (std::int64_t i = 0; i < c.batch; ++i) {
    const float* const a = a_.data(slot_of(c, a_, true, i));
    const GuardedMatrix& of_b = is_update() ? a_ : b_;
    const float* const b = of_b.data(slot_of(c, of_b, false, i));
    for (int part = 0; part < complex_parts; ++part) {
      const int a_part = part == imag_imag || part == imag_real ? 1 : 0;
      const int b_part = part == imag_imag || part == real_imag ? 1 : 0;
      const std::int64_t at = part * step + slot_of(c, c_, true, i) * c.m * c.n;
      require(bench_.tools().oracle(
          {c.m, c.n, k, a + a_part, a_plain ? a_.ld() : 2, a_plain ? 2 : a_.ld(), b + b_part,
           b_plain ? of_b.ld() : 2, b_plain ? 2 : of_b.ld(), products_.as<double>() + at,
           magnitudes_.as<double>() + at},
          bench_.stream()));
    }
  }
}

VerifyResult CgemmTrial::verify(const Kernel<Cgemm>& kernel) {
  return guarded([&] {
    if (may_refuse(kernel.role, case_) && kernel.role == Role::peer) {
      return not_had_by(kernel.name);
    }
    c_.fill({case_.input, case_.seed, Operand::c}, reads_c(case_), region_of_c(case_));
    return run_and_judge(bench_, kernel, problem_, case_.guard,
                         [&](const VerifyResult&) { return judge(); });
  });
}

VerifyResult CgemmTrial::judge() {
  const CgemmCase& c = case_;
  VerifyResult result;
  result.outcome = Outcome::verified;
  const bool is_real = c.alpha_im == 0 && c.beta_im == 0;
  const bool is_exact_here = is_real && is_exact(c.input, 2 * c.k, c.alpha, c.beta);
  // A complex alpha is one more product and sum for each element of an operand or of C.
  // On the diagonal of an update all products may be positive.
  const Input signs = is_update() && c.input != Input::integers ? Input::unit : c.input;
  const double factor =
      is_exact_here ? 0 : product_tolerance(signs, reads_inputs(c) ? 2 * c.k : 0) + 4;
  const JudgeCgemm judge{c_.data(),
                         c.m,
                         c.n,
                         c_.ld(),
                         products_.as<double>(),
                         magnitudes_.as<double>(),
                         c.conj_a,
                         c.conj_b,
                         {c.alpha, c.alpha_im},
                         {c.beta, c.beta_im},
                         {c.input, c.seed, Operand::c},
                         factor,
                         c.batch,
                         c_.stride(),
                         region_of_c(c),
                         c.hermitian,
                         !reads_inputs(c) && c.beta == 1};
  summarise(bench_.find(bench_.tools().judge_cgemm, judge), factor, 2 * c.n, result);
  if (judge.size() > 0) {
    result.c_first = bench_.read(c_.data());
    result.c_last = bench_.read(c_.data(c.batch - 1) + (c.m - 1) * c_.ld() + 2 * c.n - 1);
  }
  if (result.failures > 0)
    result.message = fmt::format(
        "{} of {} floats of C wrong, first float {} of row {} (largest error {:.3g} u, bound "
        "{:.3g} u)",
        result.failures, judge.size(), result.first_col, result.first_row, result.error.max,
        factor);
  for (const std::string& change :
       {c_.find_change("C", true), a_.find_change("A", false), b_.find_change("B", false)}) {
    add_failure(change, result);
  }
  return result;
}

VerifyResult verify_cgemm(Runtime& runtime, const Kernel<Cgemm>& kernel, const CgemmCase& c) {
  return guarded([&] {
    Workbench bench(runtime);
    return CgemmTrial(bench, c).verify(kernel);
  });
}

}  // namespace kw::check
