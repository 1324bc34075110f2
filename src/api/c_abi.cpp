// The C interface: handles, sgemm and scale_add.
#include <optional>
#include <utility>

#include "api/c_handle.hpp"
#include "api/calls.hpp"
#include "api/check.hpp"
#include "kernelwright/version.hpp"
#include "text.hpp"

namespace {

using kw::Layout;
using kw::MatrixView;
using kw::Op;
using kw::Status;
using kw::StatusCode;
using kw::c_abi::error_without_handle;
using kw::c_abi::first_failure;
using kw::c_abi::guarded;
using kw::c_abi::with_state;
using kw::detail::ContextState;
using kw::detail::invalid;

static_assert(KW_STATUS_OK == static_cast<int>(StatusCode::ok));
static_assert(KW_STATUS_INVALID_ARGUMENT == static_cast<int>(StatusCode::invalid_argument));
static_assert(KW_STATUS_UNSUPPORTED == static_cast<int>(StatusCode::unsupported));
static_assert(KW_STATUS_NO_DEVICE == static_cast<int>(StatusCode::no_device));
static_assert(KW_STATUS_OUT_OF_MEMORY == static_cast<int>(StatusCode::out_of_memory));
static_assert(KW_STATUS_WORKSPACE_TOO_SMALL == static_cast<int>(StatusCode::workspace_too_small));
static_assert(KW_STATUS_DEVICE_ERROR == static_cast<int>(StatusCode::device_error));
static_assert(KW_STATUS_INTERNAL_ERROR == static_cast<int>(StatusCode::internal_error));
static_assert(KW_ROW_MAJOR == static_cast<int>(Layout::row_major));
static_assert(KW_COL_MAJOR == static_cast<int>(Layout::col_major));
static_assert(KW_OP_NONE == static_cast<int>(Op::none));
static_assert(KW_OP_TRANSPOSE == static_cast<int>(Op::transpose));

template <class Open>
kwStatus_t create(kwHandle_t* handle, const Open& open) noexcept {
  return guarded(error_without_handle, [&] {
    if (handle == nullptr) {
      return invalid("handle is null: pass the address of a kwHandle_t", "handle");
    }
    *handle = nullptr;
    auto context = std::make_unique<kwContext>();
    Status status = open(&context->state);
    if (status.ok()) *handle = context.release();
    return status;
  });
}

Status check_scalar(const float* value, const char* argument) {
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
};

Status to_call(const SgemmArguments& args, kw::detail::SgemmCall* call) {
  using namespace kw::detail;
  Status status =
      first_failure({check_layout(args.layout, "layout"), check_op(args.op_a, "op_a"),
                     check_op(args.op_b, "op_b"), check_size(args.m, "m"), check_size(args.n, "n"),
                     check_size(args.k, "k"), check_scalar(args.alpha, "alpha"),
                     check_scalar(args.beta, "beta")});
  if (!status.ok()) return status;
  *call = {*args.alpha,
           view(args.a, args.m, args.k, args.lda, args.layout, args.op_a),
           view(args.b, args.k, args.n, args.ldb, args.layout, args.op_b),
           *args.beta,
           view(args.c, args.m, args.n, args.ldc, args.layout, KW_OP_NONE),
           {}};
  return status;
}

}  // namespace

kwStatus_t kwCreateCpu(kwHandle_t* handle) {
  return create(handle, [](auto* state) { return ContextState::open_cpu(state); });
}

kwStatus_t kwCreateGpu(kwHandle_t* handle, int ordinal) {
  return create(handle,
                [&](auto* state) { return ContextState::open_gpu(ordinal, std::nullopt, state); });
}

kwStatus_t kwCreateGpuOnStream(kwHandle_t* handle, void* stream, int ordinal) {
  return create(handle, [&](auto* state) {
    return ContextState::open_gpu(ordinal, kw::Stream{stream}, state);
  });
}

void kwDestroy(kwHandle_t handle) { delete handle; }

kwStatus_t kwSetStream(kwHandle_t handle, void* stream) {
  return with_state(handle, [&](ContextState& state) { return state.set_stream(stream); });
}

kwStatus_t kwSynchronize(kwHandle_t handle) {
  return with_state(handle, [](ContextState& state) { return state.synchronize(); });
}

kwStatus_t kwSetWorkspace(kwHandle_t handle, void* data, size_t bytes) {
  return with_state(handle, [&](ContextState& state) { return state.set_workspace(data, bytes); });
}

kwStatus_t kwSgemm(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b, int64_t m,
                   int64_t n, int64_t k, const float* alpha, const float* a, int64_t lda,
                   const float* b, int64_t ldb, const float* beta, float* c, int64_t ldc) {
  return with_state(handle, [&](ContextState& state) {
    kw::detail::SgemmCall call;
    Status status =
        to_call({layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, &call);
    return status.ok() ? kw::detail::sgemm(state, call) : status;
  });
}

kwStatus_t kwSgemmWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                                 int64_t m, int64_t n, int64_t k, const float* alpha,
                                 const float* a, int64_t lda, const float* b, int64_t ldb,
                                 const float* beta, float* c, int64_t ldc, size_t* bytes) {
  return with_state(handle, [&](ContextState& state) {
    if (bytes == nullptr) return invalid("bytes is null: pass the address of a size_t", "bytes");
    *bytes = 0;
    kw::detail::SgemmCall call;
    Status status =
        to_call({layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, &call);
    return status.ok() ? kw::detail::sgemm_workspace_bytes(state, call, bytes) : status;
  });
}

kwStatus_t kwScaleAdd(kwHandle_t handle, kwLayout_t layout, int64_t m, int64_t n,
                      const float* scale, const float* a, int64_t lda, const float* shift, float* b,
                      int64_t ldb) {
  return with_state(handle, [&](ContextState& state) {
    using namespace kw::detail;
    Status status =
        first_failure({check_layout(layout, "layout"), check_size(m, "m"), check_size(n, "n"),
                       check_scalar(scale, "scale"), check_scalar(shift, "shift")});
    if (!status.ok()) return status;
    return kw::detail::scale_add(state, {*scale, view(a, m, n, lda, layout, KW_OP_NONE), *shift,
                                         view(b, m, n, ldb, layout, KW_OP_NONE)});
  });
}

const char* kwDeviceKind(kwHandle_t handle) {
  return handle == nullptr ? nullptr : kw::to_string(handle->state->device().kind);
}

const char* kwDeviceName(kwHandle_t handle) {
  return handle == nullptr ? nullptr : handle->state->device().name.c_str();
}

const char* kwStatusString(kwStatus_t status) {
  return kw::to_string(static_cast<StatusCode>(status));
}

const char* kwLastErrorMessage(kwHandle_t handle) {
  return (handle == nullptr ? error_without_handle : handle->last_error).c_str();
}

const char* kwVersion(void) { return kw::version(); }
