// The C interface: level 3.
#include <utility>

#include "api/c_calls.hpp"
#include "api/check.hpp"
#include "text.hpp"

namespace {

using kw::Layout;
using kw::MatrixView;
using kw::Op;
using kw::Routine;
using kw::Scalar;
using kw::Status;
using kw::c_abi::compute_call;
using kw::c_abi::first_failure;
using kw::c_abi::plan_call;
using kw::detail::invalid;
using kw::detail::Level3Call;

static_assert(KW_UPPER == static_cast<int>(kw::Uplo::upper));
static_assert(KW_RIGHT == static_cast<int>(kw::Side::right));
static_assert(KW_UNIT == static_cast<int>(kw::Diag::unit));

// A call as C has it. Updates have n and k, the others m and n.
struct Level3Arguments {
  Routine routine;
  kwLayout_t layout;
  kwSide_t side;
  kwUplo_t uplo;
  kwOp_t op;
  kwDiag_t diag;
  std::int64_t m, n, k;
  const float* alpha;
  const float* a;
  std::int64_t lda;
  const float* b;
  std::int64_t ldb;
  const float* beta;
  float* c;
  std::int64_t ldc;
  std::int64_t batch = 1, stride_a = 0, stride_c = 0;
  int* info = nullptr;

  bool updates() const { return routine <= Routine::syr2k; }
  bool has_beta() const { return routine <= Routine::symm; }
};

template <class T>
MatrixView<T> stored(T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                     const Level3Arguments& args, kwOp_t op = KW_OP_NONE) {
  if (op == KW_OP_TRANSPOSE) std::swap(rows, cols);
  return {data, rows, cols, ld, static_cast<Layout>(args.layout), static_cast<Op>(op)};
}

Status check_scalar_of_host(const float* value, const char* argument) {
  if (value != nullptr) return Status::success();
  return invalid(kw::text(argument, " is null: pass the address of a float in host memory"),
                 argument);
}

Status to_factorisation(const kwContext& context, const Level3Arguments& args, Level3Call* call) {
  using namespace kw::detail;
  call->routine = args.routine;
  call->uplo = static_cast<kw::Uplo>(args.uplo);
  call->c = stored(args.c, args.n, args.n, args.ldc, args);
  call->info = args.info;
  call->options.math = context.sgemm_options.math;
  return first_failure({check_layout(args.layout, "layout"), check_size(args.n, "n")});
}

Status to_call(const kwContext& context, const Level3Arguments& args, Level3Call* call) {
  using namespace kw::detail;
  if (args.routine == Routine::potrf) return to_factorisation(context, args, call);
  const bool on_host = context.pointer_mode == KW_POINTER_MODE_HOST;
  Status status =
      first_failure({check_layout(args.layout, "layout"), check_op(args.op, "op"),
                     args.updates() ? check_size(args.n, "n") : check_size(args.m, "m"),
                     args.updates() ? check_size(args.k, "k") : check_size(args.n, "n")});
  if (status.ok() && on_host) status = check_scalar_of_host(args.alpha, "alpha");
  if (status.ok() && on_host && args.has_beta()) status = check_scalar_of_host(args.beta, "beta");
  if (!status.ok()) return status;
  const auto scalar = [&](const float* at) { return on_host ? Scalar(*at) : Scalar::at(at); };
  call->routine = args.routine;
  call->side = static_cast<kw::Side>(args.side);
  call->uplo = static_cast<kw::Uplo>(args.uplo);
  call->diag = static_cast<kw::Diag>(args.diag);
  call->alpha = scalar(args.alpha);
  if (args.has_beta()) call->beta = scalar(args.beta);
  if (args.updates()) {
    call->a = stored(args.a, args.n, args.k, args.lda, args, args.op);
    call->b = stored(args.b, args.n, args.k, args.ldb, args, args.op);
    call->c = stored(args.c, args.n, args.n, args.ldc, args);
  } else {
    const std::int64_t size = args.side == KW_LEFT ? args.m : args.n;
    call->a = stored(args.a, size, size, args.lda, args, args.op);
    call->b = stored(args.b, args.m, args.n, args.ldb, args);
    call->c = stored(args.c, args.m, args.n, args.ldc, args);
  }
  call->options.math = context.sgemm_options.math;
  call->batch = args.batch;
  call->stride_a = args.stride_a;
  call->stride_c = args.stride_c;
  return status;
}

kwStatus_t compute(kwHandle_t handle, const Level3Arguments& args) {
  return compute_call(handle, args, to_call, kw::detail::level3);
}

kwStatus_t plan_level3(kwHandle_t handle, const Level3Arguments& args, kwSgemmPlan* plan) {
  return plan_call(handle, args, to_call, kw::detail::level3_outlook, plan);
}

Level3Arguments update_of(Routine routine, kwLayout_t layout, kwUplo_t uplo, kwOp_t op,
                          std::int64_t n, std::int64_t k, const float* alpha, const float* a,
                          std::int64_t lda, const float* b, std::int64_t ldb, const float* beta,
                          float* c, std::int64_t ldc) {
  return {routine, layout, KW_LEFT, uplo, op,  KW_NON_UNIT, n, n,  k,
          alpha,   a,      lda,     b,    ldb, beta,        c, ldc};
}
Level3Arguments beside_of(Routine routine, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                          kwOp_t op, kwDiag_t diag, std::int64_t m, std::int64_t n,
                          const float* alpha, const float* a, std::int64_t lda, const float* b,
                          std::int64_t ldb, const float* beta, float* c, std::int64_t ldc) {
  return {routine, layout, side, uplo, op, diag, m, n, 0, alpha, a, lda, b, ldb, beta, c, ldc};
}
Level3Arguments system_of(kwLayout_t layout, kwSide_t side, kwUplo_t uplo, kwOp_t op, kwDiag_t diag,
                          std::int64_t m, std::int64_t n, const float* alpha, const float* a,
                          std::int64_t lda, std::int64_t stride_a, float* b, std::int64_t ldb,
                          std::int64_t stride_b, std::int64_t batch) {
  Level3Arguments args = beside_of(Routine::trsm, layout, side, uplo, op, diag, m, n, alpha, a, lda,
                                   nullptr, 0, nullptr, b, ldb);
  args.batch = batch;
  args.stride_a = stride_a;
  args.stride_c = stride_b;
  return args;
}
Level3Arguments factorisation_of(kwLayout_t layout, kwUplo_t uplo, std::int64_t n, float* a,
                                 std::int64_t lda, int* info) {
  Level3Arguments args = update_of(Routine::potrf, layout, uplo, KW_OP_NONE, n, n, nullptr, nullptr,
                                   0, nullptr, 0, nullptr, a, lda);
  args.info = info;
  return args;
}

}  // namespace

kwStatus_t kwSsyrk(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op, int64_t n,
                   int64_t k, const float* alpha, const float* a, int64_t lda, const float* beta,
                   float* c, int64_t ldc) {
  return compute(handle, update_of(Routine::syrk, layout, uplo, op, n, k, alpha, a, lda, nullptr, 0,
                                   beta, c, ldc));
}
kwStatus_t kwSsyrkx(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op, int64_t n,
                    int64_t k, const float* alpha, const float* a, int64_t lda, const float* b,
                    int64_t ldb, const float* beta, float* c, int64_t ldc) {
  return compute(handle, update_of(Routine::syrkx, layout, uplo, op, n, k, alpha, a, lda, b, ldb,
                                   beta, c, ldc));
}
kwStatus_t kwSsyr2k(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op, int64_t n,
                    int64_t k, const float* alpha, const float* a, int64_t lda, const float* b,
                    int64_t ldb, const float* beta, float* c, int64_t ldc) {
  return compute(handle, update_of(Routine::syr2k, layout, uplo, op, n, k, alpha, a, lda, b, ldb,
                                   beta, c, ldc));
}
kwStatus_t kwSsymm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo, int64_t m,
                   int64_t n, const float* alpha, const float* a, int64_t lda, const float* b,
                   int64_t ldb, const float* beta, float* c, int64_t ldc) {
  return compute(handle, beside_of(Routine::symm, layout, side, uplo, KW_OP_NONE, KW_NON_UNIT, m, n,
                                   alpha, a, lda, b, ldb, beta, c, ldc));
}
kwStatus_t kwStrmm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo, kwOp_t op,
                   kwDiag_t diag, int64_t m, int64_t n, const float* alpha, const float* a,
                   int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc) {
  return compute(handle, beside_of(Routine::trmm, layout, side, uplo, op, diag, m, n, alpha, a, lda,
                                   b, ldb, nullptr, c, ldc));
}
kwStatus_t kwStrsm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo, kwOp_t op,
                   kwDiag_t diag, int64_t m, int64_t n, const float* alpha, const float* a,
                   int64_t lda, float* b, int64_t ldb) {
  return compute(handle,
                 system_of(layout, side, uplo, op, diag, m, n, alpha, a, lda, 0, b, ldb, 0, 1));
}
kwStatus_t kwStrsmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                                 kwOp_t op, kwDiag_t diag, int64_t m, int64_t n, const float* alpha,
                                 const float* a, int64_t lda, int64_t stride_a, float* b,
                                 int64_t ldb, int64_t stride_b, int64_t batch) {
  return compute(handle, system_of(layout, side, uplo, op, diag, m, n, alpha, a, lda, stride_a, b,
                                   ldb, stride_b, batch));
}
kwStatus_t kwSpotrf(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, int64_t n, float* a,
                    int64_t lda, int* info) {
  return compute(handle, factorisation_of(layout, uplo, n, a, lda, info));
}
kwStatus_t kwPlanSpotrf(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, int64_t n, float* a,
                        int64_t lda, int* info, kwSgemmPlan* plan) {
  return plan_level3(handle, factorisation_of(layout, uplo, n, a, lda, info), plan);
}
kwStatus_t kwPlanSsyrk(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op, int64_t n,
                       int64_t k, const float* alpha, const float* a, int64_t lda,
                       const float* beta, float* c, int64_t ldc, kwSgemmPlan* plan) {
  return plan_level3(
      handle,
      update_of(Routine::syrk, layout, uplo, op, n, k, alpha, a, lda, nullptr, 0, beta, c, ldc),
      plan);
}
kwStatus_t kwPlanSsyrkx(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op, int64_t n,
                        int64_t k, const float* alpha, const float* a, int64_t lda, const float* b,
                        int64_t ldb, const float* beta, float* c, int64_t ldc, kwSgemmPlan* plan) {
  return plan_level3(
      handle,
      update_of(Routine::syrkx, layout, uplo, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc), plan);
}
kwStatus_t kwPlanSsyr2k(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op, int64_t n,
                        int64_t k, const float* alpha, const float* a, int64_t lda, const float* b,
                        int64_t ldb, const float* beta, float* c, int64_t ldc, kwSgemmPlan* plan) {
  return plan_level3(
      handle,
      update_of(Routine::syr2k, layout, uplo, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc), plan);
}
kwStatus_t kwPlanSsymm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                       int64_t m, int64_t n, const float* alpha, const float* a, int64_t lda,
                       const float* b, int64_t ldb, const float* beta, float* c, int64_t ldc,
                       kwSgemmPlan* plan) {
  return plan_level3(handle,
                     beside_of(Routine::symm, layout, side, uplo, KW_OP_NONE, KW_NON_UNIT, m, n,
                               alpha, a, lda, b, ldb, beta, c, ldc),
                     plan);
}
kwStatus_t kwPlanStrmm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                       kwOp_t op, kwDiag_t diag, int64_t m, int64_t n, const float* alpha,
                       const float* a, int64_t lda, const float* b, int64_t ldb, float* c,
                       int64_t ldc, kwSgemmPlan* plan) {
  return plan_level3(handle,
                     beside_of(Routine::trmm, layout, side, uplo, op, diag, m, n, alpha, a, lda, b,
                               ldb, nullptr, c, ldc),
                     plan);
}
kwStatus_t kwPlanStrsm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                       kwOp_t op, kwDiag_t diag, int64_t m, int64_t n, const float* alpha,
                       const float* a, int64_t lda, float* b, int64_t ldb, kwSgemmPlan* plan) {
  return plan_level3(
      handle, system_of(layout, side, uplo, op, diag, m, n, alpha, a, lda, 0, b, ldb, 0, 1), plan);
}
kwStatus_t kwPlanStrsmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwSide_t side,
                                     kwUplo_t uplo, kwOp_t op, kwDiag_t diag, int64_t m, int64_t n,
                                     const float* alpha, const float* a, int64_t lda,
                                     int64_t stride_a, float* b, int64_t ldb, int64_t stride_b,
                                     int64_t batch, kwSgemmPlan* plan) {
  return plan_level3(handle,
                     system_of(layout, side, uplo, op, diag, m, n, alpha, a, lda, stride_a, b, ldb,
                               stride_b, batch),
                     plan);
}
