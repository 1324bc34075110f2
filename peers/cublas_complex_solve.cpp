// NVIDIA's cuBLAS as a row of ctrsm's list: true FP32 (pedantic), its handle made before any
// timing.
#include "ctrsm/kernels.hpp"

#ifdef KW_HAVE_CUDA
#include "cublas_handle.hpp"
#endif

namespace kw::peers {

#ifdef KW_HAVE_CUDA
namespace {

bool solves(const Ctrsm& p, const Device& device) {
  return device.kind == DeviceKind::cuda && p.batch == 1 && !(p.conj_a && p.op_a == Op::none) &&
         warm_handle(device.ordinal, CUBLAS_PEDANTIC_MATH).handle != nullptr;
}

std::size_t solve_workspace_bytes(const Ctrsm&, const Device&) { return workspace_of_cublas; }

// cuBLAS, which is column-major, sees all matrices transposed: A on the other side, of which the
// other triangle is stored, with the same operation.
Status solve(const Ctrsm& p, const Device& device, Workspace workspace, Stream stream) {
  WarmHandle& warm = warm_handle(device.ordinal, CUBLAS_PEDANTIC_MATH);
  const bool on_device = p.alpha_at != nullptr;
  Status status = warm.tell(stream, workspace, on_device);
  if (!status.ok()) return status;
  const cublasOperation_t op = p.op_a == Op::none ? CUBLAS_OP_N
                               : p.conj_a         ? CUBLAS_OP_C
                                                  : CUBLAS_OP_T;
  return check(
      cublasCtrsm_v2_64(
          warm.handle, p.on_left ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT,
          p.triangle == Triangle::lower ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER, op,
          p.unit_diagonal ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, p.n, p.m,
          reinterpret_cast<const cuComplex*>(on_device ? p.alpha_at : &p.alpha),
          reinterpret_cast<const cuComplex*>(p.a), p.lda, reinterpret_cast<cuComplex*>(p.c), p.ldc),
      "cublasCtrsm_v2_64");
}

}  // namespace

KernelList<Ctrsm> ctrsm_cuda() {
  return {{"cublas", nullptr, "NVIDIA cuBLAS, pedantic FP32", Role::peer, Math::fp32, solves,
           solve_workspace_bytes, solve}};
}
#else
KernelList<Ctrsm> ctrsm_cuda() { return {}; }
#endif

}  // namespace kw::peers
