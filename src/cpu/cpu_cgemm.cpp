// cpu_cgemm_cblas: the complex product by the machine's CBLAS, with the guarantees that cpu_cblas
// has; of one triangle by its csyrk and cherk. cpu_cgemm_loop: the same as plain loops, for
// machines without one, and for a conjugate without a transpose, which CBLAS does not have.
#include <algorithm>
#include <limits>

#include "cgemm/scalars.hpp"
#include "cpu/kernels.hpp"
#ifdef KW_HAVE_CBLAS
#include <cblas.h>
#endif

namespace kw::cpu {

namespace {

// Below this many complex multiply-adds an entry is work for one thread.
constexpr double complex_for_one_thread = 32.0 * 32 * 32;

// Entry `index` as one product, with its scalars read and k = 0 where alpha is.
Cgemm entry_of(const Cgemm& all, std::int64_t index) {
  Cgemm one = all;
  one.alpha = alpha_of(all);
  one.beta = beta_of(all);
  one.alpha_at = one.beta_at = nullptr;
  one.k = one.loop_k();
  if (one.k > 0) {
    one.a = a_of(all, index);
    one.b = b_of(all, index);
  }
  one.c = c_of(all, index);
  one.batch = 1;
  one.a_array = one.b_array = nullptr;
  one.c_array = nullptr;
  return one;
}

template <class Compute>
void each_entry(const Cgemm& all, bool one_thread_each, const Compute& compute) {
  [[maybe_unused]] const bool spread = all.batch > 1 && one_thread_each;
#pragma omp parallel for schedule(static) if (spread)
  for (std::int64_t i = 0; i < all.batch; ++i) compute(entry_of(all, i));
}

void scale_complex(const Cgemm& p) {
  if (p.beta.re == 1 && p.beta.im == 0) return;
  for (std::int64_t i = 0; i < p.m; ++i) {
    Complex* const row = p.c + i * p.ldc;
    for (std::int64_t j = 0; j < p.n; ++j) {
      if (!is_wanted(p, i, j)) continue;
      row[j] = is_zero(p.beta) ? Complex{0, 0} : times(p.beta, row[j]);
      if (p.hermitian && i == j) row[j].im = 0;
    }
  }
}

// Sums of `chain` of k go to a total, so that rounding errors stay those of short sums.
Complex sum_of(const Cgemm& p, std::int64_t i, std::int64_t j) {
  constexpr std::int64_t chain = 256;
  const std::int64_t a_step = p.op_a == Op::none ? 1 : p.lda;
  const std::int64_t b_step = p.op_b == Op::none ? p.ldb : 1;
  const Complex* a = p.a + i * (p.op_a == Op::none ? p.lda : 1);
  const Complex* b = p.b + j * (p.op_b == Op::none ? 1 : p.ldb);
  Complex total{0, 0};
  for (std::int64_t begin = 0; begin < p.k; begin += chain) {
    Complex sum{0, 0};
    for (std::int64_t l = begin; l < std::min(begin + chain, p.k); ++l) {
      const Complex x = conjugate(*a, p.conj_a), y = conjugate(*b, p.conj_b);
      sum.re += x.re * y.re - x.im * y.im;
      sum.im += x.re * y.im + x.im * y.re;
      a += a_step;
      b += b_step;
    }
    total = {total.re + sum.re, total.im + sum.im};
  }
  return total;
}

void loop(const Cgemm& p) {
  if (p.k == 0) return scale_complex(p);
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      if (!is_wanted(p, i, j)) continue;
      Complex& c = p.c[i * p.ldc + j];
      const Complex product = times(p.alpha, sum_of(p, i, j));
      const Complex before = is_zero(p.beta) ? Complex{0, 0} : times(p.beta, c);
      c = {product.re + before.re, product.im + before.im};
      if (p.hermitian && i == j) c.im = 0;
    }
  }
}

}  // namespace

Status cpu_cgemm_loop(const Cgemm& problem, const Device&, Workspace, Stream) {
  each_entry(problem, true, loop);
  return Status::success();
}

#ifdef KW_HAVE_CBLAS
namespace {

constexpr std::int64_t most_complex = std::numeric_limits<int>::max();

CBLAS_TRANSPOSE to_cblas(Op op, bool conj) {
  return op == Op::none ? CblasNoTrans : conj ? CblasConjTrans : CblasTrans;
}

// A matrix of one line has no use for its ld, which may then be too large for the CBLAS.
std::int64_t complex_ld(std::int64_t lines, std::int64_t width, std::int64_t ld) {
  return lines == 1 ? std::max<std::int64_t>(width, 1) : ld;
}
std::int64_t ld_of_a(const Cgemm& p) {
  return p.op_a == Op::none ? complex_ld(p.m, p.k, p.lda) : complex_ld(p.k, p.m, p.lda);
}
std::int64_t ld_of_b(const Cgemm& p) {
  return p.op_b == Op::none ? complex_ld(p.k, p.n, p.ldb) : complex_ld(p.n, p.k, p.ldb);
}
std::int64_t ld_of_c(const Cgemm& p) { return complex_ld(p.m, p.n, p.ldc); }

// The part from (i, j, l) on, at most_complex `largest` in each direction. Later slices of k add to
// what the first left.
void one_slice(const Cgemm& p, std::int64_t i, std::int64_t j, std::int64_t l,
               std::int64_t largest) {
  const auto size = [&](std::int64_t extent, std::int64_t first) {
    return static_cast<int>(std::min(largest, extent - first));
  };
  const Complex one{1, 0};
  cblas_cgemm(
      CblasRowMajor, to_cblas(p.op_a, p.conj_a), to_cblas(p.op_b, p.conj_b), size(p.m, i),
      size(p.n, j), size(p.k, l), &p.alpha,
      p.a + (p.op_a == Op::none ? i * p.lda + l : l * p.lda + i), static_cast<int>(ld_of_a(p)),
      p.b + (p.op_b == Op::none ? l * p.ldb + j : j * p.ldb + l), static_cast<int>(ld_of_b(p)),
      l > 0 ? &one : &p.beta, p.c + i * p.ldc + j, static_cast<int>(ld_of_c(p)));
}

}  // namespace

void cblas_in_slices(const Cgemm& p, std::int64_t largest) {
  if (is_zero(p.beta) || p.k == 0) scale_complex(p);
  if (p.k == 0) return;
  for (std::int64_t i = 0; i < p.m; i += largest) {
    for (std::int64_t j = 0; j < p.n; j += largest) {
      for (std::int64_t l = 0; l < p.k; l += largest) one_slice(p, i, j, l, largest);
    }
  }
}

namespace {

// With the scalars 0 where C is not read, and 1 where the sum over k goes on.
void update_triangle(const Cgemm& p) {
  if (is_zero(p.beta) || p.k == 0) scale_complex(p);
  if (p.k == 0) return;
  const CBLAS_UPLO uplo = p.triangle == Triangle::lower ? CblasLower : CblasUpper;
  const auto n = static_cast<int>(p.m), k = static_cast<int>(p.k);
  const auto lda = static_cast<int>(ld_of_a(p)), ldc = static_cast<int>(ld_of_c(p));
  const CBLAS_TRANSPOSE op = to_cblas(p.op_a, p.hermitian);
  if (p.hermitian)
    cblas_cherk(CblasRowMajor, uplo, op, n, k, p.alpha.re, p.a, lda, p.beta.re, p.c, ldc);
  else
    cblas_csyrk(CblasRowMajor, uplo, op, n, k, &p.alpha, p.a, lda, &p.beta, p.c, ldc);
}

}  // namespace

bool cpu_cgemm_cblas_supports(const Cgemm& p, const Device&) {
  const bool has_op = !(p.conj_a && p.op_a == Op::none) && !(p.conj_b && p.op_b == Op::none);
  const bool is_in_one_call = p.triangle == Triangle::none || std::max(p.m, p.k) <= most_complex;
  return has_op && is_in_one_call && std::max({ld_of_a(p), ld_of_b(p), ld_of_c(p)}) <= most_complex;
}

Status cpu_cgemm_cblas(const Cgemm& problem, const Device&, Workspace, Stream) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  const bool small = size(problem.m) * size(problem.n) * size(problem.k) <= complex_for_one_thread;
  each_entry(problem, small, [](const Cgemm& p) {
    if (p.triangle == Triangle::none)
      cblas_in_slices(p, most_complex);
    else
      update_triangle(p);
  });
  return Status::success();
}
#endif

}  // namespace kw::cpu
