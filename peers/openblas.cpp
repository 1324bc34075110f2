// OpenBLAS as a row of the list: what a CPU reaches, with all of its threads.
#include "sgemm/kernels.hpp"
#include "versions.hpp"

#ifdef KW_HAVE_CBLAS
#include <cblas.h>

#include <algorithm>
#include <limits>
#endif

namespace kw::peers {

#ifdef KW_HAVE_CBLAS
namespace {

bool supports(const Sgemm& p, const Device& device) {
  const std::int64_t largest = std::max({p.m, p.n, p.k, p.lda, p.ldb, p.ldc});
  return device.kind == DeviceKind::cpu && !p.epilogue.any() &&
         largest <= std::numeric_limits<blasint>::max();
}

CBLAS_TRANSPOSE to_cblas(Op op) { return op == Op::none ? CblasNoTrans : CblasTrans; }

void multiply(const Sgemm& p) {
  const auto size = [](std::int64_t value) { return static_cast<blasint>(value); };
  // OpenBLAS 0.3.21 reads A and B where alpha is 0, if the product is small: its k must be 0 then.
  cblas_sgemm(CblasRowMajor, to_cblas(p.op_a), to_cblas(p.op_b), size(p.m), size(p.n),
              size(p.loop_k()), p.alpha, p.a, size(p.lda), p.b, size(p.ldb), p.beta, p.c,
              size(p.ldc));
}

Status launch(const Sgemm& p, const Device&, Workspace, Stream) {
  for (std::int64_t i = 0; i < p.batch; ++i) multiply(entry_of(p, i));
  return Status::success();
}

}  // namespace

KernelList<Sgemm> sgemm_cpu() {
  return {{"openblas", nullptr, "OpenBLAS, all CPU threads", Role::peer, Math::fp32, supports,
           no_workspace<Sgemm>, launch}};
}

std::string openblas_version() { return openblas_get_config(); }
#else
KernelList<Sgemm> sgemm_cpu() { return {}; }

std::string openblas_version() { return {}; }
#endif

}  // namespace kw::peers
