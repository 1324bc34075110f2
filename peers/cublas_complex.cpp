// NVIDIA's cuBLAS as a row of cgemm's list: true FP32 (pedantic), its handle made before any
// timing.
#include "cgemm/kernels.hpp"

#ifdef KW_HAVE_CUDA
#include "cublas_handle.hpp"
#endif

namespace kw::peers {

#ifdef KW_HAVE_CUDA
namespace {

// Both scalars lie in the same place, and a conjugate is a transpose.
bool supports(const Cgemm& p, const Device& device) {
  return device.kind == DeviceKind::cuda && (p.alpha_at == nullptr) == (p.beta_at == nullptr) &&
         !(p.conj_a && p.op_a == Op::none) && !(p.conj_b && p.op_b == Op::none) &&
         warm_handle(device.ordinal, CUBLAS_PEDANTIC_MATH).handle != nullptr;
}

std::size_t workspace_bytes(const Cgemm&, const Device&) { return workspace_of_cublas; }

cublasOperation_t to_cublas(Op op, bool conj) {
  return op == Op::none ? CUBLAS_OP_N : conj ? CUBLAS_OP_C : CUBLAS_OP_T;
}

// C's transpose, as its memory is for cuBLAS: of csyrk the same matrix, of cherk its conjugate. A's
// memory is A transposed.
Status update(cublasHandle_t handle, const Cgemm& p, const cuComplex* alpha,
              const cuComplex* beta) {
  const cublasFillMode_t fill =
      p.triangle == Triangle::lower ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
  const bool is_plain = p.op_a == Op::none;
  const auto* const a = reinterpret_cast<const cuComplex*>(p.a);
  auto* const c = reinterpret_cast<cuComplex*>(p.c);
  if (p.hermitian)
    return check(cublasCherk_v2_64(handle, fill, is_plain ? CUBLAS_OP_C : CUBLAS_OP_N, p.m, p.k,
                                   &alpha->x, a, p.lda, &beta->x, c, p.ldc),
                 "cublasCherk_v2_64");
  return check(cublasCsyrk_v2_64(handle, fill, is_plain ? CUBLAS_OP_T : CUBLAS_OP_N, p.m, p.k,
                                 alpha, a, p.lda, beta, c, p.ldc),
               "cublasCsyrk_v2_64");
}

// As multiply() of cublas.cpp.
Status multiply(cublasHandle_t handle, const Cgemm& p, const cuComplex* alpha,
                const cuComplex* beta) {
  const cublasOperation_t op_a = to_cublas(p.op_a, p.conj_a), op_b = to_cublas(p.op_b, p.conj_b);
  const auto* const a = reinterpret_cast<const cuComplex*>(p.a);
  const auto* const b = reinterpret_cast<const cuComplex*>(p.b);
  auto* const c = reinterpret_cast<cuComplex*>(p.c);
  if (p.triangle != Triangle::none) return update(handle, p, alpha, beta);
  if (p.by_pointers()) {
    const auto arrays = [](const Complex* const* of) {
      return reinterpret_cast<const cuComplex* const*>(of);
    };
    return check(
        cublasCgemmBatched_64(handle, op_b, op_a, p.n, p.m, p.k, alpha, arrays(p.b_array), p.ldb,
                              arrays(p.a_array), p.lda, beta,
                              reinterpret_cast<cuComplex* const*>(p.c_array), p.ldc, p.batch),
        "cublasCgemmBatched_64");
  }
  if (p.batch != 1) {
    return check(
        cublasCgemmStridedBatched_64(handle, op_b, op_a, p.n, p.m, p.k, alpha, b, p.ldb, p.stride_b,
                                     a, p.lda, p.stride_a, beta, c, p.ldc, p.stride_c, p.batch),
        "cublasCgemmStridedBatched_64");
  }
  return check(cublasCgemm_v2_64(handle, op_b, op_a, p.n, p.m, p.k, alpha, b, p.ldb, a, p.lda, beta,
                                 c, p.ldc),
               "cublasCgemm_v2_64");
}

Status launch(const Cgemm& p, const Device& device, Workspace workspace, Stream stream) {
  WarmHandle& warm = warm_handle(device.ordinal, CUBLAS_PEDANTIC_MATH);
  const bool on_device = p.alpha_at != nullptr;
  Status status = warm.tell(stream, workspace, on_device);
  if (!status.ok()) return status;
  const auto scalar = [&](const Complex* at, const Complex& value) {
    return reinterpret_cast<const cuComplex*>(on_device ? at : &value);
  };
  return multiply(warm.handle, p, scalar(p.alpha_at, p.alpha), scalar(p.beta_at, p.beta));
}

}  // namespace

KernelList<Cgemm> cgemm_cuda() {
  return {{"cublas", nullptr, "NVIDIA cuBLAS, pedantic FP32", Role::peer, Math::fp32, supports,
           workspace_bytes, launch}};
}
#else
KernelList<Cgemm> cgemm_cuda() { return {}; }
#endif

}  // namespace kw::peers
