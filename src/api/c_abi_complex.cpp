// The C interface: cgemm, one and many; csyrk and cherk; ctrsm.
#include <complex>
#include <utility>

#include "api/c_calls.hpp"
#include "api/check.hpp"
#include "text.hpp"

namespace {

using kw::ComplexScalar;
using kw::Layout;
using kw::MatrixView;
using kw::Op;
using kw::Status;
using kw::c_abi::compute_call;
using kw::c_abi::first_failure;
using kw::c_abi::plan_call;
using kw::c_abi::workspace_bytes_of_call;
using kw::detail::CgemmCall;
using kw::detail::CsyrkCall;
using kw::detail::CtrsmCall;
using kw::detail::invalid;
using kw::detail::SgemmBatch;
using Element = std::complex<float>;

static_assert(sizeof(kwComplex) == sizeof(Element));

struct CgemmArguments {
  kwLayout_t layout;
  kwOp_t op_a, op_b;
  std::int64_t m, n, k;
  const kwComplex* alpha;
  const kwComplex* a;
  std::int64_t lda;
  const kwComplex* b;
  std::int64_t ldb;
  const kwComplex* beta;
  kwComplex* c;
  std::int64_t ldc;
  SgemmBatch batch = {};
};

// A matrix that is rows x cols once `op` was applied.
template <class To, class From>
MatrixView<To> view(From* data, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                    kwLayout_t layout, kwOp_t op) {
  if (op != KW_OP_NONE) std::swap(rows, cols);
  return {reinterpret_cast<To*>(data), rows, cols, ld, static_cast<Layout>(layout),
          static_cast<Op>(op)};
}

Status scalar(const kwContext& context, const kwComplex* from, const char* argument,
              ComplexScalar* to) {
  if (context.pointer_mode != KW_POINTER_MODE_HOST) {
    *to = ComplexScalar::at(reinterpret_cast<const Element*>(from));
    return Status::success();
  }
  if (from == nullptr)
    return invalid(kw::text(argument, " is null: pass the address of a kwComplex in host memory"),
                   argument);
  *to = Element(from->re, from->im);
  return Status::success();
}

Status to_call(const kwContext& context, const CgemmArguments& args, CgemmCall* call) {
  using namespace kw::detail;
  Status status = first_failure(
      {check_layout(args.layout, "layout"), check_op(args.op_a, "op_a", true),
       check_op(args.op_b, "op_b", true), check_size(args.m, "m"), check_size(args.n, "n"),
       check_size(args.k, "k"), scalar(context, args.alpha, "alpha", &call->alpha),
       scalar(context, args.beta, "beta", &call->beta)});
  if (!status.ok()) return status;
  call->a = view<const Element>(args.a, args.m, args.k, args.lda, args.layout, args.op_a);
  call->b = view<const Element>(args.b, args.k, args.n, args.ldb, args.layout, args.op_b);
  call->c = view<Element>(args.c, args.m, args.n, args.ldc, args.layout, KW_OP_NONE);
  call->options.math = context.sgemm_options.math;
  call->batch = args.batch;
  return status;
}

kwStatus_t cgemm(kwHandle_t handle, const CgemmArguments& args) {
  return compute_call(handle, args, to_call, kw::detail::cgemm);
}

kwStatus_t cgemm_workspace_bytes(kwHandle_t handle, const CgemmArguments& args, size_t* bytes) {
  return workspace_bytes_of_call(handle, args, to_call, kw::detail::cgemm_workspace_bytes, bytes);
}

kwStatus_t plan_cgemm(kwHandle_t handle, const CgemmArguments& args, kwSgemmPlan* plan) {
  return plan_call(handle, args, to_call, kw::detail::cgemm_outlook, plan);
}

SgemmBatch by_pointers(std::int64_t batch, const kwComplex* const* a, const kwComplex* const* b,
                       kwComplex* const* c) {
  return kw::detail::complex_pointers(batch, reinterpret_cast<const Element* const*>(a),
                                      reinterpret_cast<const Element* const*>(b),
                                      reinterpret_cast<Element* const*>(c));
}

// An update of a triangle; of cherk the scalars are floats.
struct CsyrkArguments {
  kwLayout_t layout;
  kwUplo_t uplo;
  kwOp_t op;
  std::int64_t n, k;
  const kwComplex* alpha;
  const float* real_alpha;
  const kwComplex* a;
  std::int64_t lda;
  const kwComplex* beta;
  const float* real_beta;
  kwComplex* c;
  std::int64_t ldc;
  bool hermitian;
};

Status real(const kwContext& context, const float* from, const char* argument, ComplexScalar* to) {
  const bool on_host = context.pointer_mode == KW_POINTER_MODE_HOST;
  if (on_host && from == nullptr)
    return invalid(kw::text(argument, " is null: pass the address of a float in host memory"),
                   argument);
  *to = kw::detail::real_scalar(on_host ? kw::Scalar(*from) : kw::Scalar::at(from));
  return Status::success();
}

Status to_update(const kwContext& context, const CsyrkArguments& args, CsyrkCall* call) {
  using namespace kw::detail;
  Status status = first_failure({check_layout(args.layout, "layout"), check_op(args.op, "op", true),
                                 check_size(args.n, "n"), check_size(args.k, "k")});
  if (!status.ok()) return status;
  const kwOp_t other = args.hermitian ? KW_OP_CONJUGATE_TRANSPOSE : KW_OP_TRANSPOSE;
  if (args.op != KW_OP_NONE && args.op != other)
    return invalid(
        kw::text("op is ", args.op, ": ", args.hermitian ? "cherk" : "csyrk", " takes 0 (none) or ",
                 other, args.hermitian ? " (conjugate transpose)" : " (transpose)"),
        "op");
  status = args.hermitian ? first_failure({real(context, args.real_alpha, "alpha", &call->alpha),
                                           real(context, args.real_beta, "beta", &call->beta)})
                          : first_failure({scalar(context, args.alpha, "alpha", &call->alpha),
                                           scalar(context, args.beta, "beta", &call->beta)});
  if (!status.ok()) return status;
  call->uplo = static_cast<kw::Uplo>(args.uplo);
  call->hermitian = args.hermitian;
  call->a = view<const Element>(args.a, args.n, args.k, args.lda, args.layout, args.op);
  call->c = view<Element>(args.c, args.n, args.n, args.ldc, args.layout, KW_OP_NONE);
  call->options.math = context.sgemm_options.math;
  return status;
}

// A triangular system.
struct CtrsmArguments {
  kwLayout_t layout;
  kwSide_t side;
  kwUplo_t uplo;
  kwOp_t op;
  kwDiag_t diag;
  std::int64_t m, n;
  const kwComplex* alpha;
  const kwComplex* a;
  std::int64_t lda;
  kwComplex* b;
  std::int64_t ldb;
  std::int64_t batch = 1, stride_a = 0, stride_b = 0;
};

Status to_system(const kwContext& context, const CtrsmArguments& args, CtrsmCall* call) {
  using namespace kw::detail;
  Status status = first_failure({check_layout(args.layout, "layout"), check_op(args.op, "op", true),
                                 check_size(args.m, "m"), check_size(args.n, "n"),
                                 scalar(context, args.alpha, "alpha", &call->alpha)});
  if (!status.ok()) return status;
  call->side = static_cast<kw::Side>(args.side);
  call->uplo = static_cast<kw::Uplo>(args.uplo);
  call->diag = static_cast<kw::Diag>(args.diag);
  const std::int64_t size = args.side == KW_LEFT ? args.m : args.n;
  call->a = view<const Element>(args.a, size, size, args.lda, args.layout, args.op);
  call->b = view<Element>(args.b, args.m, args.n, args.ldb, args.layout, KW_OP_NONE);
  call->options.math = context.sgemm_options.math;
  call->batch = args.batch;
  call->stride_a = args.stride_a;
  call->stride_b = args.stride_b;
  return status;
}

}  // namespace

#define SYSTEM layout, side, uplo, op, diag, m, n, alpha, a, lda, b, ldb

kwStatus_t kwCtrsm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo, kwOp_t op,
                   kwDiag_t diag, int64_t m, int64_t n, const kwComplex* alpha, const kwComplex* a,
                   int64_t lda, kwComplex* b, int64_t ldb) {
  return compute_call(handle, CtrsmArguments{SYSTEM}, to_system, kw::detail::ctrsm);
}
kwStatus_t kwCtrsmWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                                 kwOp_t op, kwDiag_t diag, int64_t m, int64_t n,
                                 const kwComplex* alpha, const kwComplex* a, int64_t lda,
                                 kwComplex* b, int64_t ldb, size_t* bytes) {
  return workspace_bytes_of_call(handle, CtrsmArguments{SYSTEM}, to_system,
                                 kw::detail::ctrsm_workspace_bytes, bytes);
}
kwStatus_t kwPlanCtrsm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                       kwOp_t op, kwDiag_t diag, int64_t m, int64_t n, const kwComplex* alpha,
                       const kwComplex* a, int64_t lda, kwComplex* b, int64_t ldb,
                       kwSgemmPlan* plan) {
  return plan_call(handle, CtrsmArguments{SYSTEM}, to_system, kw::detail::ctrsm_outlook, plan);
}

#define SYSTEMS SYSTEM, batch, stride_a, stride_b

kwStatus_t kwCtrsmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                                 kwOp_t op, kwDiag_t diag, int64_t m, int64_t n,
                                 const kwComplex* alpha, const kwComplex* a, int64_t lda,
                                 int64_t stride_a, kwComplex* b, int64_t ldb, int64_t stride_b,
                                 int64_t batch) {
  return compute_call(handle, CtrsmArguments{SYSTEMS}, to_system, kw::detail::ctrsm);
}
kwStatus_t kwCtrsmStridedBatchedWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwSide_t side,
                                               kwUplo_t uplo, kwOp_t op, kwDiag_t diag, int64_t m,
                                               int64_t n, const kwComplex* alpha,
                                               const kwComplex* a, int64_t lda, int64_t stride_a,
                                               kwComplex* b, int64_t ldb, int64_t stride_b,
                                               int64_t batch, size_t* bytes) {
  return workspace_bytes_of_call(handle, CtrsmArguments{SYSTEMS}, to_system,
                                 kw::detail::ctrsm_workspace_bytes, bytes);
}
kwStatus_t kwPlanCtrsmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwSide_t side,
                                     kwUplo_t uplo, kwOp_t op, kwDiag_t diag, int64_t m, int64_t n,
                                     const kwComplex* alpha, const kwComplex* a, int64_t lda,
                                     int64_t stride_a, kwComplex* b, int64_t ldb, int64_t stride_b,
                                     int64_t batch, kwSgemmPlan* plan) {
  return plan_call(handle, CtrsmArguments{SYSTEMS}, to_system, kw::detail::ctrsm_outlook, plan);
}

#undef SYSTEMS
#undef SYSTEM

#define UPDATE layout, uplo, op, n, k
#define CSYRK \
  { UPDATE, alpha, nullptr, a, lda, beta, nullptr, c, ldc, false }
#define CHERK \
  { UPDATE, nullptr, alpha, a, lda, nullptr, beta, c, ldc, true }

kwStatus_t kwCsyrk(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op, int64_t n,
                   int64_t k, const kwComplex* alpha, const kwComplex* a, int64_t lda,
                   const kwComplex* beta, kwComplex* c, int64_t ldc) {
  return compute_call(handle, CsyrkArguments CSYRK, to_update, kw::detail::csyrk);
}
kwStatus_t kwCsyrkWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op,
                                 int64_t n, int64_t k, const kwComplex* alpha, const kwComplex* a,
                                 int64_t lda, const kwComplex* beta, kwComplex* c, int64_t ldc,
                                 size_t* bytes) {
  return workspace_bytes_of_call(handle, CsyrkArguments CSYRK, to_update,
                                 kw::detail::csyrk_workspace_bytes, bytes);
}
kwStatus_t kwPlanCsyrk(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op, int64_t n,
                       int64_t k, const kwComplex* alpha, const kwComplex* a, int64_t lda,
                       const kwComplex* beta, kwComplex* c, int64_t ldc, kwSgemmPlan* plan) {
  return plan_call(handle, CsyrkArguments CSYRK, to_update, kw::detail::csyrk_outlook, plan);
}

kwStatus_t kwCherk(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op, int64_t n,
                   int64_t k, const float* alpha, const kwComplex* a, int64_t lda,
                   const float* beta, kwComplex* c, int64_t ldc) {
  return compute_call(handle, CsyrkArguments CHERK, to_update, kw::detail::csyrk);
}
kwStatus_t kwCherkWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op,
                                 int64_t n, int64_t k, const float* alpha, const kwComplex* a,
                                 int64_t lda, const float* beta, kwComplex* c, int64_t ldc,
                                 size_t* bytes) {
  return workspace_bytes_of_call(handle, CsyrkArguments CHERK, to_update,
                                 kw::detail::csyrk_workspace_bytes, bytes);
}
kwStatus_t kwPlanCherk(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op, int64_t n,
                       int64_t k, const float* alpha, const kwComplex* a, int64_t lda,
                       const float* beta, kwComplex* c, int64_t ldc, kwSgemmPlan* plan) {
  return plan_call(handle, CsyrkArguments CHERK, to_update, kw::detail::csyrk_outlook, plan);
}

#undef CSYRK
#undef CHERK
#undef UPDATE

#define ONE(a, b, c) layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc

kwStatus_t kwCgemm(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b, int64_t m,
                   int64_t n, int64_t k, const kwComplex* alpha, const kwComplex* a, int64_t lda,
                   const kwComplex* b, int64_t ldb, const kwComplex* beta, kwComplex* c,
                   int64_t ldc) {
  return cgemm(handle, {ONE(a, b, c)});
}

kwStatus_t kwCgemmWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                                 int64_t m, int64_t n, int64_t k, const kwComplex* alpha,
                                 const kwComplex* a, int64_t lda, const kwComplex* b, int64_t ldb,
                                 const kwComplex* beta, kwComplex* c, int64_t ldc, size_t* bytes) {
  return cgemm_workspace_bytes(handle, {ONE(a, b, c)}, bytes);
}

kwStatus_t kwPlanCgemm(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b, int64_t m,
                       int64_t n, int64_t k, const kwComplex* alpha, const kwComplex* a,
                       int64_t lda, const kwComplex* b, int64_t ldb, const kwComplex* beta,
                       kwComplex* c, int64_t ldc, kwSgemmPlan* plan) {
  return plan_cgemm(handle, {ONE(a, b, c)}, plan);
}

kwStatus_t kwCgemmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                                 int64_t m, int64_t n, int64_t k, const kwComplex* alpha,
                                 const kwComplex* a, int64_t lda, int64_t stride_a,
                                 const kwComplex* b, int64_t ldb, int64_t stride_b,
                                 const kwComplex* beta, kwComplex* c, int64_t ldc, int64_t stride_c,
                                 int64_t batch) {
  return cgemm(handle, {ONE(a, b, c), {batch, stride_a, stride_b, stride_c}});
}

kwStatus_t kwCgemmStridedBatchedWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a,
                                               kwOp_t op_b, int64_t m, int64_t n, int64_t k,
                                               const kwComplex* alpha, const kwComplex* a,
                                               int64_t lda, int64_t stride_a, const kwComplex* b,
                                               int64_t ldb, int64_t stride_b, const kwComplex* beta,
                                               kwComplex* c, int64_t ldc, int64_t stride_c,
                                               int64_t batch, size_t* bytes) {
  return cgemm_workspace_bytes(handle, {ONE(a, b, c), {batch, stride_a, stride_b, stride_c}},
                               bytes);
}

kwStatus_t kwPlanCgemmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                                     int64_t m, int64_t n, int64_t k, const kwComplex* alpha,
                                     const kwComplex* a, int64_t lda, int64_t stride_a,
                                     const kwComplex* b, int64_t ldb, int64_t stride_b,
                                     const kwComplex* beta, kwComplex* c, int64_t ldc,
                                     int64_t stride_c, int64_t batch, kwSgemmPlan* plan) {
  return plan_cgemm(handle, {ONE(a, b, c), {batch, stride_a, stride_b, stride_c}}, plan);
}

kwStatus_t kwCgemmBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b, int64_t m,
                          int64_t n, int64_t k, const kwComplex* alpha, const kwComplex* const* a,
                          int64_t lda, const kwComplex* const* b, int64_t ldb,
                          const kwComplex* beta, kwComplex* const* c, int64_t ldc, int64_t batch) {
  return cgemm(handle, {ONE(nullptr, nullptr, nullptr), by_pointers(batch, a, b, c)});
}

kwStatus_t kwCgemmBatchedWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a,
                                        kwOp_t op_b, int64_t m, int64_t n, int64_t k,
                                        const kwComplex* alpha, const kwComplex* const* a,
                                        int64_t lda, const kwComplex* const* b, int64_t ldb,
                                        const kwComplex* beta, kwComplex* const* c, int64_t ldc,
                                        int64_t batch, size_t* bytes) {
  return cgemm_workspace_bytes(
      handle, {ONE(nullptr, nullptr, nullptr), by_pointers(batch, a, b, c)}, bytes);
}

kwStatus_t kwPlanCgemmBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                              int64_t m, int64_t n, int64_t k, const kwComplex* alpha,
                              const kwComplex* const* a, int64_t lda, const kwComplex* const* b,
                              int64_t ldb, const kwComplex* beta, kwComplex* const* c, int64_t ldc,
                              int64_t batch, kwSgemmPlan* plan) {
  return plan_cgemm(handle, {ONE(nullptr, nullptr, nullptr), by_pointers(batch, a, b, c)}, plan);
}

#undef ONE
