// The CPU's lists, fastest first.
#include "attention/kernels.hpp"
#include "cgemm/kernels.hpp"
#include "cpu/kernels.hpp"
#include "ctrsm/kernels.hpp"
#include "level3/kernels.hpp"
#include "reduce/kernels.hpp"
#include "rowwise/kernels.hpp"
#include "scale_add/kernels.hpp"
#include "sgemm/kernels.hpp"

namespace kw::cpu {

namespace {

template <class Problem>
bool always(const Problem&, const Device&) {
  return true;
}

}  // namespace

KernelList<Sgemm> sgemm_production() {
  return {
#ifdef KW_HAVE_CBLAS
      {"cpu_cblas", nullptr, "the machine's CBLAS, all threads", Role::production, Math::fp32,
       cpu_cblas_supports, no_workspace<Sgemm>, cpu_cblas},
#endif
      {"cpu_loop", nullptr, "plain loops, one thread a product", Role::production, Math::fp32,
       always<Sgemm>, no_workspace<Sgemm>, cpu_loop}};
}

KernelList<Level3> level3_production() {
  return {
      {"cpu_cholesky", nullptr, "by halves, plain loops for blocks", Role::production, Math::fp32,
       cpu_cholesky_supports, no_workspace<Level3>, cpu_cholesky},
#ifdef KW_HAVE_CBLAS
      {"cpu_level3_cblas", nullptr, "the machine's CBLAS, all threads", Role::production,
       Math::fp32, cpu_level3_cblas_supports, no_workspace<Level3>, cpu_level3_cblas},
#endif
      {"cpu_level3_loop", nullptr, "plain loops, an element or a line a thread", Role::production,
       Math::fp32, cpu_level3_loop_supports, no_workspace<Level3>, cpu_level3_loop}};
}

KernelList<ScaleAdd> scale_add_production() {
  return {{"cpu_scale_add", nullptr, "one fused multiply-add an element, one thread",
           Role::production, Math::fp32, always<ScaleAdd>, no_workspace<ScaleAdd>, cpu_scale_add}};
}

KernelList<Reduce> reduce_production() {
  return {{"cpu_reduce", nullptr, "lanes in vectors, chunks over the threads", Role::production,
           Math::fp32, always<Reduce>, cpu_reduce_workspace_bytes, cpu_reduce}};
}

KernelList<Rowwise> rowwise_production() {
  return {{"cpu_rowwise", nullptr, "a row a thread, sums in double", Role::production, Math::fp32,
           always<Rowwise>, no_workspace<Rowwise>, cpu_rowwise}};
}

KernelList<Cgemm> cgemm_production() {
  return {
#ifdef KW_HAVE_CBLAS
      {"cpu_cgemm_cblas", nullptr, "the machine's CBLAS, all threads", Role::production, Math::fp32,
       cpu_cgemm_cblas_supports, no_workspace<Cgemm>, cpu_cgemm_cblas},
#endif
      {"cpu_cgemm_loop", nullptr, "plain loops, one thread a product", Role::production, Math::fp32,
       always<Cgemm>, no_workspace<Cgemm>, cpu_cgemm_loop}};
}

KernelList<Ctrsm> ctrsm_production() {
  return {
#ifdef KW_HAVE_CBLAS
      {"cpu_ctrsm_cblas", nullptr, "the machine's CBLAS, all threads", Role::production, Math::fp32,
       cpu_ctrsm_cblas_supports, no_workspace<Ctrsm>, cpu_ctrsm_cblas},
#endif
      {"cpu_ctrsm_loop", nullptr, "plain loops, a line of unknowns a thread", Role::production,
       Math::fp32, always<Ctrsm>, no_workspace<Ctrsm>, cpu_ctrsm_loop}};
}

KernelList<Attention> attention_production() {
  return {{"cpu_attention", nullptr, "a query at a time, all threads", Role::production, Math::fp32,
           always<Attention>, no_workspace<Attention>, cpu_attention}};
}

}  // namespace kw::cpu
