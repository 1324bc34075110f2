// NVIDIA's cuBLAS as a row of the list: true FP32 (pedantic), its handle made before any timing.
#include "sgemm/kernels.hpp"
#include "versions.hpp"

#ifdef KW_HAVE_CUDA
#include <fmt/format.h>

#include "cublas_handle.hpp"
#endif

namespace kw::peers {

#ifdef KW_HAVE_CUDA
namespace {

// Both scalars lie in the same place.
bool supports(const Sgemm& p, const Device& device) {
  return device.kind == DeviceKind::cuda && !p.epilogue.any() &&
         (p.alpha_at == nullptr) == (p.beta_at == nullptr) &&
         warm_handle(device.ordinal, CUBLAS_PEDANTIC_MATH).handle != nullptr;
}

std::size_t workspace_bytes(const Sgemm&, const Device&) { return workspace_of_cublas; }

cublasOperation_t to_cublas(Op op) { return op == Op::none ? CUBLAS_OP_N : CUBLAS_OP_T; }

// cuBLAS is column-major: C^T = op(B)^T op(A)^T is the row-major product with operands swapped.
Status multiply(cublasHandle_t handle, const Sgemm& p, const float* alpha, const float* beta) {
  const cublasOperation_t op_a = to_cublas(p.op_a), op_b = to_cublas(p.op_b);
  if (p.a_array != nullptr) {
    return check(cublasSgemmBatched_64(handle, op_b, op_a, p.n, p.m, p.k, alpha, p.b_array, p.ldb,
                                       p.a_array, p.lda, beta, p.c_array, p.ldc, p.batch),
                 "cublasSgemmBatched_64");
  }
  if (p.batch != 1) {
    return check(cublasSgemmStridedBatched_64(handle, op_b, op_a, p.n, p.m, p.k, alpha, p.b, p.ldb,
                                              p.stride_b, p.a, p.lda, p.stride_a, beta, p.c, p.ldc,
                                              p.stride_c, p.batch),
                 "cublasSgemmStridedBatched_64");
  }
  return check(cublasSgemm_v2_64(handle, op_b, op_a, p.n, p.m, p.k, alpha, p.b, p.ldb, p.a, p.lda,
                                 beta, p.c, p.ldc),
               "cublasSgemm_v2_64");
}

Status launch(const Sgemm& p, const Device& device, Workspace workspace, Stream stream) {
  WarmHandle& warm = warm_handle(device.ordinal, CUBLAS_PEDANTIC_MATH);
  const bool on_device = p.alpha_at != nullptr;
  Status status = warm.tell(stream, workspace, on_device);
  if (!status.ok()) return status;
  return multiply(warm.handle, p, on_device ? p.alpha_at : &p.alpha,
                  on_device ? p.beta_at : &p.beta);
}

}  // namespace

KernelList<Sgemm> sgemm_cuda() {
  return {{"cublas", nullptr, "NVIDIA cuBLAS, pedantic FP32", Role::peer, Math::fp32, supports,
           workspace_bytes, launch}};
}

std::string cublas_version() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  if (cublasGetProperty(MAJOR_VERSION, &major) != CUBLAS_STATUS_SUCCESS ||
      cublasGetProperty(MINOR_VERSION, &minor) != CUBLAS_STATUS_SUCCESS ||
      cublasGetProperty(PATCH_LEVEL, &patch) != CUBLAS_STATUS_SUCCESS) {
    return {};
  }
  return fmt::format("{}.{}.{}", major, minor, patch);
}
#else
KernelList<Sgemm> sgemm_cuda() { return {}; }

std::string cublas_version() { return {}; }
#endif

}  // namespace kw::peers
