// The C interface: sgemm, one and many, and scale_add.
#include <utility>

#include "api/c_calls.hpp"
#include "api/check.hpp"
#include "api/check_sgemm.hpp"
#include "text.hpp"

namespace {

using kw::Layout;
using kw::Math;
using kw::MatrixView;
using kw::Op;
using kw::Scalar;
using kw::Status;
using kw::c_abi::compute_call;
using kw::c_abi::first_failure;
using kw::c_abi::plan_call;
using kw::c_abi::with_handle;
using kw::c_abi::with_state;
using kw::c_abi::workspace_bytes_of_call;
using kw::detail::ContextState;
using kw::detail::invalid;
using kw::detail::SgemmBatch;
using kw::detail::SgemmCall;

static_assert(KW_MATH_FP32 == static_cast<int>(Math::fp32));
static_assert(KW_MATH_FP32_SPLIT == static_cast<int>(Math::fp32_split));
static_assert(KW_ACTIVATION_NONE == static_cast<int>(kw::Activation::none));
static_assert(KW_ACTIVATION_RELU == static_cast<int>(kw::Activation::relu));
static_assert(KW_ACTIVATION_GELU_TANH == static_cast<int>(kw::Activation::gelu_tanh));
static_assert(KW_ACTIVATION_GELU_ERF == static_cast<int>(kw::Activation::gelu_erf));
static_assert(KW_BIAS_OF_ROWS == static_cast<int>(kw::BiasOf::rows));
static_assert(KW_BIAS_OF_COLUMNS == static_cast<int>(kw::BiasOf::columns));

Status check_on_host(const float* value, const char* argument) {
  if (value != nullptr) return Status::success();
  return invalid(kw::text(argument, " is null: pass the address of a float in host memory"),
                 argument);
}

// A matrix that is rows x cols once `op` was applied.
template <class T>
MatrixView<T> view(T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                   kwLayout_t layout, kwOp_t op) {
  if (op == KW_OP_TRANSPOSE) std::swap(rows, cols);
  return {data, rows, cols, ld, static_cast<Layout>(layout), static_cast<Op>(op)};
}

struct SgemmArguments {
  kwLayout_t layout;
  kwOp_t op_a, op_b;
  std::int64_t m, n, k;
  const float* alpha;
  const float* a;
  std::int64_t lda;
  const float* b;
  std::int64_t ldb;
  const float* beta;
  float* c;
  std::int64_t ldc;
  SgemmBatch batch = {};
};

Status to_call(const kwContext& context, const SgemmArguments& args, SgemmCall* call) {
  using namespace kw::detail;
  const bool on_host = context.pointer_mode == KW_POINTER_MODE_HOST;
  Status status = first_failure({check_layout(args.layout, "layout"), check_op(args.op_a, "op_a"),
                                 check_op(args.op_b, "op_b"), check_size(args.m, "m"),
                                 check_size(args.n, "n"), check_size(args.k, "k")});
  if (status.ok() && on_host) {
    status = first_failure({check_on_host(args.alpha, "alpha"), check_on_host(args.beta, "beta")});
  }
  if (!status.ok()) return status;
  *call = {on_host ? Scalar(*args.alpha) : Scalar::at(args.alpha),
           view(args.a, args.m, args.k, args.lda, args.layout, args.op_a),
           view(args.b, args.k, args.n, args.ldb, args.layout, args.op_b),
           on_host ? Scalar(*args.beta) : Scalar::at(args.beta),
           view(args.c, args.m, args.n, args.ldc, args.layout, KW_OP_NONE),
           context.sgemm_options,
           args.batch};
  // Its size and layout are C's, of which the handle knows nothing.
  MatrixView<const float>& source = call->options.epilogue.source;
  if (source.data != nullptr) {
    source = view(source.data, args.m, args.n, source.ld, args.layout, KW_OP_NONE);
  }
  return status;
}

kwStatus_t sgemm(kwHandle_t handle, const SgemmArguments& args) {
  return compute_call(handle, args, to_call, kw::detail::sgemm);
}

kwStatus_t sgemm_workspace_bytes(kwHandle_t handle, const SgemmArguments& args, size_t* bytes) {
  return workspace_bytes_of_call(handle, args, to_call, kw::detail::sgemm_workspace_bytes, bytes);
}

kwStatus_t plan_sgemm(kwHandle_t handle, const SgemmArguments& args, kwSgemmPlan* plan) {
  return plan_call(handle, args, to_call, kw::detail::sgemm_outlook, plan);
}

SgemmBatch by_pointers(std::int64_t batch, const float* const* a, const float* const* b,
                       float* const* c) {
  return {batch, 0, 0, 0, true, a, b, c};
}

}  // namespace

kwStatus_t kwSetMath(kwHandle_t handle, kwMath_t math) {
  return with_handle(handle, [&](kwContext& context) {
    const auto wanted = static_cast<Math>(math);
    Status status = kw::detail::check_math(wanted, "math");
    if (status.ok()) context.sgemm_options.math = wanted;
    return status;
  });
}

kwStatus_t kwGetMath(kwHandle_t handle, kwMath_t* math) {
  return with_handle(handle, [&](const kwContext& context) {
    if (math == nullptr) return invalid("math is null: pass the address of a kwMath_t", "math");
    *math = static_cast<kwMath_t>(context.sgemm_options.math);
    return Status::success();
  });
}

kwStatus_t kwSetEpilogue(kwHandle_t handle, const kwEpilogue* epilogue) {
  return with_handle(handle, [&](kwContext& context) {
    kw::Epilogue& own = context.sgemm_options.epilogue;
    own = {};
    if (epilogue == nullptr) return Status::success();
    own.bias = epilogue->bias;
    own.bias_of = static_cast<kw::BiasOf>(epilogue->bias_of);
    own.stride_bias = epilogue->stride_bias;
    own.activation = static_cast<kw::Activation>(epilogue->activation);
    own.source.data = epilogue->source;
    own.source.ld = epilogue->ld_source;
    own.stride_source = epilogue->stride_source;
    return Status::success();
  });
}

kwStatus_t kwSgemm(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b, int64_t m,
                   int64_t n, int64_t k, const float* alpha, const float* a, int64_t lda,
                   const float* b, int64_t ldb, const float* beta, float* c, int64_t ldc) {
  return sgemm(handle, {layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
}

kwStatus_t kwPlanSgemm(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b, int64_t m,
                       int64_t n, int64_t k, const float* alpha, const float* a, int64_t lda,
                       const float* b, int64_t ldb, const float* beta, float* c, int64_t ldc,
                       kwSgemmPlan* plan) {
  return plan_sgemm(handle, {layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc},
                    plan);
}

kwStatus_t kwPlanSgemmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                                     int64_t m, int64_t n, int64_t k, const float* alpha,
                                     const float* a, int64_t lda, int64_t stride_a, const float* b,
                                     int64_t ldb, int64_t stride_b, const float* beta, float* c,
                                     int64_t ldc, int64_t stride_c, int64_t batch,
                                     kwSgemmPlan* plan) {
  const SgemmBatch entries = {batch, stride_a, stride_b, stride_c};
  return plan_sgemm(
      handle, {layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, entries}, plan);
}

kwStatus_t kwPlanSgemmBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                              int64_t m, int64_t n, int64_t k, const float* alpha,
                              const float* const* a, int64_t lda, const float* const* b,
                              int64_t ldb, const float* beta, float* const* c, int64_t ldc,
                              int64_t batch, kwSgemmPlan* plan) {
  return plan_sgemm(handle,
                    {layout, op_a, op_b, m, n, k, alpha, nullptr, lda, nullptr, ldb, beta, nullptr,
                     ldc, by_pointers(batch, a, b, c)},
                    plan);
}

kwStatus_t kwSgemmWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                                 int64_t m, int64_t n, int64_t k, const float* alpha,
                                 const float* a, int64_t lda, const float* b, int64_t ldb,
                                 const float* beta, float* c, int64_t ldc, size_t* bytes) {
  return sgemm_workspace_bytes(
      handle, {layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, bytes);
}

kwStatus_t kwSgemmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                                 int64_t m, int64_t n, int64_t k, const float* alpha,
                                 const float* a, int64_t lda, int64_t stride_a, const float* b,
                                 int64_t ldb, int64_t stride_b, const float* beta, float* c,
                                 int64_t ldc, int64_t stride_c, int64_t batch) {
  return sgemm(handle, {layout,
                        op_a,
                        op_b,
                        m,
                        n,
                        k,
                        alpha,
                        a,
                        lda,
                        b,
                        ldb,
                        beta,
                        c,
                        ldc,
                        {batch, stride_a, stride_b, stride_c}});
}

kwStatus_t kwSgemmStridedBatchedWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a,
                                               kwOp_t op_b, int64_t m, int64_t n, int64_t k,
                                               const float* alpha, const float* a, int64_t lda,
                                               int64_t stride_a, const float* b, int64_t ldb,
                                               int64_t stride_b, const float* beta, float* c,
                                               int64_t ldc, int64_t stride_c, int64_t batch,
                                               size_t* bytes) {
  return sgemm_workspace_bytes(handle,
                               {layout,
                                op_a,
                                op_b,
                                m,
                                n,
                                k,
                                alpha,
                                a,
                                lda,
                                b,
                                ldb,
                                beta,
                                c,
                                ldc,
                                {batch, stride_a, stride_b, stride_c}},
                               bytes);
}

kwStatus_t kwSgemmBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b, int64_t m,
                          int64_t n, int64_t k, const float* alpha, const float* const* a,
                          int64_t lda, const float* const* b, int64_t ldb, const float* beta,
                          float* const* c, int64_t ldc, int64_t batch) {
  return sgemm(handle, {layout, op_a, op_b, m, n, k, alpha, nullptr, lda, nullptr, ldb, beta,
                        nullptr, ldc, by_pointers(batch, a, b, c)});
}

kwStatus_t kwSgemmBatchedWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a,
                                        kwOp_t op_b, int64_t m, int64_t n, int64_t k,
                                        const float* alpha, const float* const* a, int64_t lda,
                                        const float* const* b, int64_t ldb, const float* beta,
                                        float* const* c, int64_t ldc, int64_t batch,
                                        size_t* bytes) {
  return sgemm_workspace_bytes(handle,
                               {layout, op_a, op_b, m, n, k, alpha, nullptr, lda, nullptr, ldb,
                                beta, nullptr, ldc, by_pointers(batch, a, b, c)},
                               bytes);
}

kwStatus_t kwScaleAdd(kwHandle_t handle, kwLayout_t layout, int64_t m, int64_t n,
                      const float* scale, const float* a, int64_t lda, const float* shift, float* b,
                      int64_t ldb) {
  return with_state(handle, [&](ContextState& state) {
    using namespace kw::detail;
    Status status =
        first_failure({check_layout(layout, "layout"), check_size(m, "m"), check_size(n, "n"),
                       check_on_host(scale, "scale"), check_on_host(shift, "shift")});
    if (!status.ok()) return status;
    return kw::detail::scale_add(state, {*scale, view(a, m, n, lda, layout, KW_OP_NONE), *shift,
                                         view(b, m, n, ldb, layout, KW_OP_NONE)});
  });
}
