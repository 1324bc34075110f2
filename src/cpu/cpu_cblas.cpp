// cpu_cblas: the product by the machine's CBLAS, with the guarantees that CBLAS implementations
// differ on: 64-bit sizes, no look at C where beta is 0, none at A and B where alpha or k is 0.
#ifdef KW_HAVE_CBLAS
#include <cblas.h>

#include <algorithm>
#include <limits>

#include "cpu/each_entry.hpp"
#include "cpu/kernels.hpp"

namespace kw::cpu {

namespace {

constexpr std::int64_t most = std::numeric_limits<int>::max();

CBLAS_TRANSPOSE to_cblas(Op op) { return op == Op::none ? CblasNoTrans : CblasTrans; }

// A matrix of one line has no use for its ld, which may then be too large for the CBLAS.
std::int64_t needed_ld(std::int64_t lines, std::int64_t width, std::int64_t ld) {
  return lines == 1 ? std::max<std::int64_t>(width, 1) : ld;
}

struct LeadingDimensions {
  std::int64_t a, b, c;
};

LeadingDimensions leading_dimensions(const Sgemm& p) {
  const bool a_is_plain = p.op_a == Op::none;
  const bool b_is_plain = p.op_b == Op::none;
  return {a_is_plain ? needed_ld(p.m, p.k, p.lda) : needed_ld(p.k, p.m, p.lda),
          b_is_plain ? needed_ld(p.k, p.n, p.ldb) : needed_ld(p.n, p.k, p.ldb),
          needed_ld(p.m, p.n, p.ldc)};
}

// Sizes that fit the CBLAS's integers.
void one_call(const Sgemm& p, const LeadingDimensions& ld) {
  cblas_sgemm(CblasRowMajor, to_cblas(p.op_a), to_cblas(p.op_b), static_cast<int>(p.m),
              static_cast<int>(p.n), static_cast<int>(p.k), p.alpha, p.a, static_cast<int>(ld.a),
              p.b, static_cast<int>(ld.b), p.beta, p.c, static_cast<int>(ld.c));
}

// The part of the product from (i, j, l) on, at most `largest` in each direction. Later slices of k
// add to what the first left.
Sgemm slice(const Sgemm& p, std::int64_t i, std::int64_t j, std::int64_t l, std::int64_t largest) {
  Sgemm part = p;
  part.m = std::min(largest, p.m - i);
  part.n = std::min(largest, p.n - j);
  part.k = std::min(largest, p.k - l);
  part.a += p.op_a == Op::none ? i * p.lda + l : l * p.lda + i;
  part.b += p.op_b == Op::none ? l * p.ldb + j : j * p.ldb + l;
  part.c += i * p.ldc + j;
  if (l > 0) part.beta = 1;
  return part;
}

}  // namespace

bool cpu_cblas_supports(const Sgemm& problem, const Device&) {
  const LeadingDimensions ld = leading_dimensions(problem);
  return std::max({ld.a, ld.b, ld.c}) <= most;
}

void cblas_in_slices(const Sgemm& p, std::int64_t largest) {
  if (p.beta == 0 || p.loop_k() == 0) scale_matrix(p.beta, p.c, p.m, p.n, p.ldc);
  if (p.loop_k() == 0) return;
  const LeadingDimensions ld = leading_dimensions(p);
  for (std::int64_t i = 0; i < p.m; i += largest) {
    for (std::int64_t j = 0; j < p.n; j += largest) {
      for (std::int64_t l = 0; l < p.k; l += largest) one_call(slice(p, i, j, l, largest), ld);
    }
  }
}

Status cpu_cblas(const Sgemm& problem, const Device&, Workspace, Stream) {
  const auto size = [](std::int64_t extent) { return static_cast<double>(extent); };
  const bool small = size(problem.m) * size(problem.n) * size(problem.k) <= most_for_one_thread;
  each_entry(problem, small, [](const Sgemm& p) { cblas_in_slices(p, most); });
  return Status::success();
}

}  // namespace kw::cpu
#endif
