// The C interface: products of matrices in host memory.
#include <utility>

#include "api/c_handle.hpp"
#include "distributed/calls.hpp"
#include "text.hpp"

namespace {

using kw::Layout;
using kw::MatrixView;
using kw::Op;
using kw::Status;
using kw::c_abi::first_failure;
using kw::detail::check_layout;
using kw::detail::check_op;
using kw::detail::check_size;
using kw::detail::invalid;

template <class T>
MatrixView<T> host_view(T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                        kwLayout_t layout, kwOp_t op) {
  if (op == KW_OP_TRANSPOSE) std::swap(rows, cols);
  return {data, rows, cols, ld, static_cast<Layout>(layout), static_cast<Op>(op)};
}

Status check_host_scalar(const float* value, const char* argument) {
  if (value != nullptr) return Status::success();
  return invalid(kw::text(argument, " is null: pass the address of a float in host memory"),
                 argument);
}

}  // namespace

kwStatus_t kwSgemmOutOfCore(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                            int64_t m, int64_t n, int64_t k, const float* alpha, const float* a,
                            int64_t lda, const float* b, int64_t ldb, const float* beta, float* c,
                            int64_t ldc, size_t device_bytes) {
  return kw::c_abi::with_handle(handle, [&](kwContext& context) {
    Status status = first_failure({check_layout(layout, "layout"), check_op(op_a, "op_a"),
                                   check_op(op_b, "op_b"), check_size(m, "m"), check_size(n, "n"),
                                   check_size(k, "k"), check_host_scalar(alpha, "alpha"),
                                   check_host_scalar(beta, "beta")});
    if (!status.ok()) return status;
    kw::detail::SgemmCall call{
        *alpha, host_view(a, m, k, lda, layout, op_a),       host_view(b, k, n, ldb, layout, op_b),
        *beta,  host_view(c, m, n, ldc, layout, KW_OP_NONE), {}};
    call.options.math = context.sgemm_options.math;
    return kw::distributed::sgemm_out_of_core(*context.state, call, *alpha, *beta, device_bytes);
  });
}
