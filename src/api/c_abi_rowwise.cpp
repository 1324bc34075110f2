// The C interface: row-wise operations.
#include "api/c_handle.hpp"
#include "api/calls.hpp"
#include "api/check.hpp"

namespace {

using kw::RowActivation;
using kw::RowwiseOp;
using kw::Status;
using kw::c_abi::with_handle;
using kw::detail::RowwiseCall;

static_assert(KW_ROWWISE_SOFTMAX == static_cast<int>(RowwiseOp::softmax));
static_assert(KW_ROWWISE_LOG_SOFTMAX == static_cast<int>(RowwiseOp::log_softmax));
static_assert(KW_ROWWISE_LAYER_NORM == static_cast<int>(RowwiseOp::layer_norm));
static_assert(KW_ROWWISE_RMS_NORM == static_cast<int>(RowwiseOp::rms_norm));
static_assert(KW_ROWWISE_MAP == static_cast<int>(RowwiseOp::map));
static_assert(KW_ROW_ACTIVATION_NONE == static_cast<int>(RowActivation::none));
static_assert(KW_ROW_ACTIVATION_RELU == static_cast<int>(RowActivation::relu));
static_assert(KW_ROW_ACTIVATION_GELU_TANH == static_cast<int>(RowActivation::gelu_tanh));
static_assert(KW_ROW_ACTIVATION_GELU_ERF == static_cast<int>(RowActivation::gelu_erf));
static_assert(KW_ROW_ACTIVATION_SILU == static_cast<int>(RowActivation::silu));

RowwiseCall call_of(kwRowwiseOp_t op, kwDataType_t type, int64_t rows, int64_t cols, const void* x,
                    int64_t ldx, void* y, int64_t ldy, const kwRowwiseOptions* options) {
  const auto element = static_cast<kw::DataType>(type);
  const kwRowwiseOptions o = options != nullptr ? *options : kwRowwiseOptions{};
  const auto or_one = [](int64_t step) { return step == 0 ? 1 : step; };
  RowwiseCall call;
  call.op = static_cast<RowwiseOp>(op);
  call.x = {x, element, o.index != nullptr ? o.x_rows : rows, cols, ldx, or_one(o.step_x)};
  call.y = {y, element, rows, cols, ldy, or_one(o.step_y)};
  call.options = {
      o.gamma,          o.beta,     o.epsilon,     static_cast<RowActivation>(o.activation),
      o.bias,           o.residual, o.ld_residual, o.residual_rows,
      o.residual_index, o.sum,      o.ld_sum,      o.index};
  return call;
}

}  // namespace

kwStatus_t kwRowwise(kwHandle_t handle, kwRowwiseOp_t op, kwDataType_t type, int64_t rows,
                     int64_t cols, const void* x, int64_t ldx, void* y, int64_t ldy,
                     const kwRowwiseOptions* options) {
  return with_handle(handle, [&](kwContext& context) {
    return kw::detail::rowwise(*context.state,
                               call_of(op, type, rows, cols, x, ldx, y, ldy, options));
  });
}

kwStatus_t kwRowwiseWorkspaceBytes(kwHandle_t handle, kwRowwiseOp_t op, kwDataType_t type,
                                   int64_t rows, int64_t cols, const void* x, int64_t ldx, void* y,
                                   int64_t ldy, const kwRowwiseOptions* options, size_t* bytes) {
  return with_handle(handle, [&](kwContext& context) {
    if (bytes == nullptr)
      return kw::detail::invalid("bytes is null: pass the address of a size_t", "bytes");
    return kw::detail::rowwise_workspace_bytes(
        *context.state, call_of(op, type, rows, cols, x, ldx, y, ldy, options), bytes);
  });
}
