// cpu_ctrsm_cblas: a complex triangular system by the machine's CBLAS, with no look at A and C
// where alpha is 0. cpu_ctrsm_loop: the same as plain loops, for machines without one, and for a
// conjugate without a transpose, which CBLAS does not have.
#include <algorithm>
#include <limits>

#include "cpu/kernels.hpp"
#include "ctrsm/loop.hpp"
#ifdef KW_HAVE_CBLAS
#include <cblas.h>
#endif

namespace kw::cpu {

Status cpu_ctrsm_loop(const Ctrsm& call, const Device&, Workspace, Stream) {
  const Ctrsm p = ctrsm::with_scalar(call);
  const std::int64_t count = ctrsm::loop_items(p);
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t item = 0; item < count; ++item) ctrsm::loop_item(p, item);
  return Status::success();
}

#ifdef KW_HAVE_CBLAS
bool cpu_ctrsm_cblas_supports(const Ctrsm& p, const Device&) {
  constexpr std::int64_t largest = std::numeric_limits<int>::max();
  return !(p.conj_a && p.op_a == Op::none) && std::max({p.m, p.n, p.lda, p.ldc}) <= largest;
}

Status cpu_ctrsm_cblas(const Ctrsm& call, const Device& device, Workspace, Stream) {
  const Ctrsm p = ctrsm::with_scalar(call);
  if (p.m == 0 || p.n == 0) return Status::success();
  if (is_zero(p.alpha)) return cpu_ctrsm_loop(p, device, {}, {});
  const CBLAS_TRANSPOSE op = p.op_a == Op::none ? CblasNoTrans
                             : p.conj_a         ? CblasConjTrans
                                                : CblasTrans;
  for (std::int64_t entry = 0; entry < p.batch; ++entry)
    cblas_ctrsm(CblasRowMajor, p.on_left ? CblasLeft : CblasRight,
                p.triangle == Triangle::lower ? CblasLower : CblasUpper, op,
                p.unit_diagonal ? CblasUnit : CblasNonUnit, static_cast<int>(p.m),
                static_cast<int>(p.n), &p.alpha, p.a + entry * p.stride_a, static_cast<int>(p.lda),
                p.c + entry * p.stride_c, static_cast<int>(p.ldc));
  return Status::success();
}
#endif

}  // namespace kw::cpu
