// AMD's rocBLAS as a row of the list, its handle made before any timing. FP32 in and FP32 sums, on
// the matrix cores where a device has them for FP32.
#include "sgemm/kernels.hpp"
#include "versions.hpp"

#ifdef KW_HAVE_ROCBLAS
#include <fmt/format.h>
#include <hip/hip_runtime_api.h>
#include <rocblas/rocblas.h>

#include <array>
#include <limits>
#include <map>
#endif

namespace kw::peers {

#ifdef KW_HAVE_ROCBLAS
namespace {

Status check(rocblas_status status, const char* what) {
  if (status == rocblas_status_success) return Status::success();
  return Status::failure(StatusCode::device_error,
                         fmt::format("{}: {}", what, rocblas_status_to_string(status)));
}

// One warm handle a device and thread, kept to the end of the process. Null where it cannot be
// made.
rocblas_handle warm_handle(int ordinal) {
  thread_local std::map<int, rocblas_handle> handles;
  const auto known = handles.find(ordinal);
  if (known != handles.end()) return known->second;
  rocblas_handle handle = nullptr;
  if (hipSetDevice(ordinal) != hipSuccess ||
      rocblas_create_handle(&handle) != rocblas_status_success) {
    handle = nullptr;
  }
  return handles[ordinal] = handle;
}

// Both scalars lie in the same place; rocblas_int has 32 bits.
bool supports(const Sgemm& p, const Device& device) {
  for (const std::int64_t size : {p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.batch}) {
    if (size > std::numeric_limits<rocblas_int>::max()) return false;
  }
  return device.kind == DeviceKind::hip && !p.epilogue.any() &&
         (p.alpha_at == nullptr) == (p.beta_at == nullptr) &&
         warm_handle(device.ordinal) != nullptr;
}

rocblas_int to_int(std::int64_t size) { return static_cast<rocblas_int>(size); }

rocblas_operation to_rocblas(Op op) {
  return op == Op::none ? rocblas_operation_none : rocblas_operation_transpose;
}

// rocBLAS is column-major: C^T = op(B)^T op(A)^T is the row-major product with operands swapped.
Status multiply(rocblas_handle handle, const Sgemm& p, const float* alpha, const float* beta) {
  const rocblas_operation op_a = to_rocblas(p.op_a), op_b = to_rocblas(p.op_b);
  const rocblas_int m = to_int(p.m), n = to_int(p.n), k = to_int(p.k), batch = to_int(p.batch);
  const rocblas_int lda = to_int(p.lda), ldb = to_int(p.ldb), ldc = to_int(p.ldc);
  if (p.a_array != nullptr) {
    return check(rocblas_sgemm_batched(handle, op_b, op_a, n, m, k, alpha, p.b_array, ldb,
                                       p.a_array, lda, beta, p.c_array, ldc, batch),
                 "rocblas_sgemm_batched");
  }
  if (p.batch != 1) {
    return check(
        rocblas_sgemm_strided_batched(handle, op_b, op_a, n, m, k, alpha, p.b, ldb, p.stride_b, p.a,
                                      lda, p.stride_a, beta, p.c, ldc, p.stride_c, batch),
        "rocblas_sgemm_strided_batched");
  }
  return check(
      rocblas_sgemm(handle, op_b, op_a, n, m, k, alpha, p.b, ldb, p.a, lda, beta, p.c, ldc),
      "rocblas_sgemm");
}

Status launch(const Sgemm& p, const Device& device, Workspace, Stream stream) {
  rocblas_handle handle = warm_handle(device.ordinal);
  Status status = check(rocblas_set_stream(handle, static_cast<hipStream_t>(stream.handle)),
                        "rocblas_set_stream");
  if (!status.ok()) return status;
  const bool on_device = p.alpha_at != nullptr;
  status = check(rocblas_set_pointer_mode(
                     handle, on_device ? rocblas_pointer_mode_device : rocblas_pointer_mode_host),
                 "rocblas_set_pointer_mode");
  if (!status.ok()) return status;
  return multiply(handle, p, on_device ? p.alpha_at : &p.alpha, on_device ? p.beta_at : &p.beta);
}

}  // namespace

KernelList<Sgemm> sgemm_hip() {
  return {{"rocblas", nullptr, "AMD rocBLAS, FP32", Role::peer, Math::fp32, supports,
           no_workspace<Sgemm>, launch}};
}

std::string rocblas_version() {
  std::array<char, 64> text = {};
  if (rocblas_get_version_string(text.data(), text.size()) != rocblas_status_success) return {};
  return text.data();
}
#else
KernelList<Sgemm> sgemm_hip() { return {}; }

std::string rocblas_version() { return {}; }
#endif

}  // namespace kw::peers
