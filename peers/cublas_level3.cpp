// cuBLAS's level 3 as a kernel.
#include "level3/kernels.hpp"

#ifdef KW_HAVE_CUDA
#include "cublas_handle.hpp"
#endif

namespace kw::peers {

#ifdef KW_HAVE_CUDA
namespace {

// Both scalars lie in the same place, and both operands of an update have the same operation.
bool supports(const Level3& p, const Device& device) {
  const bool same_op = p.op_a == p.op_b || !p.reads_b();
  return device.kind == DeviceKind::cuda && !p.factors() && p.batch == 1 &&
         (p.updates_triangle() ? same_op : p.op_b == Op::none) &&
         ((p.alpha_at == nullptr) == (p.beta_at == nullptr)) &&
         warm_handle(device.ordinal, CUBLAS_PEDANTIC_MATH).handle != nullptr;
}

std::size_t workspace_bytes(const Level3&, const Device&) { return workspace_of_cublas; }

// What cuBLAS, which is column-major, sees of a row-major call: all matrices transposed.
struct Seen {
  cublasFillMode_t fill;
  cublasSideMode_t side;
  cublasDiagType_t diagonal;
  cublasOperation_t of_update, of_triangle;

  explicit Seen(const Level3& p)
      : fill(p.triangle == Triangle::lower ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER),
        side(p.on_left ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT),
        diagonal(p.unit_diagonal ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT),
        of_update(p.op_a == Op::none ? CUBLAS_OP_T : CUBLAS_OP_N),
        of_triangle(p.op_a == Op::none ? CUBLAS_OP_N : CUBLAS_OP_T) {}
};

Status compute(cublasHandle_t handle, const Level3& p, const float* alpha, const float* beta) {
  const Seen as(p);
  switch (p.routine) {
    case Routine::syrk:
      return check(cublasSsyrk_v2_64(handle, as.fill, as.of_update, p.m, p.k, alpha, p.a, p.lda,
                                     beta, p.c, p.ldc),
                   "cublasSsyrk_v2_64");
    case Routine::syrkx:
      return check(cublasSsyrkx_64(handle, as.fill, as.of_update, p.m, p.k, alpha, p.b, p.ldb, p.a,
                                   p.lda, beta, p.c, p.ldc),
                   "cublasSsyrkx_64");
    case Routine::syr2k:
      return check(cublasSsyr2k_v2_64(handle, as.fill, as.of_update, p.m, p.k, alpha, p.a, p.lda,
                                      p.b, p.ldb, beta, p.c, p.ldc),
                   "cublasSsyr2k_v2_64");
    case Routine::symm:
      return check(cublasSsymm_v2_64(handle, as.side, as.fill, p.n, p.m, alpha, p.a, p.lda, p.b,
                                     p.ldb, beta, p.c, p.ldc),
                   "cublasSsymm_v2_64");
    case Routine::trmm:
      return check(cublasStrmm_v2_64(handle, as.side, as.fill, as.of_triangle, as.diagonal, p.n,
                                     p.m, alpha, p.a, p.lda, p.b, p.ldb, p.c, p.ldc),
                   "cublasStrmm_v2_64");
    case Routine::trsm:
      return check(cublasStrsm_v2_64(handle, as.side, as.fill, as.of_triangle, as.diagonal, p.n,
                                     p.m, alpha, p.a, p.lda, p.c, p.ldc),
                   "cublasStrsm_v2_64");
    case Routine::potrf: break;  // peers/cusolver.cpp
  }
  return Status::success();
}

Status launch(const Level3& p, const Device& device, Workspace workspace, Stream stream) {
  WarmHandle& warm = warm_handle(device.ordinal, CUBLAS_PEDANTIC_MATH);
  const bool on_device = p.alpha_at != nullptr;
  Status status = warm.tell(stream, workspace, on_device);
  if (!status.ok()) return status;
  return compute(warm.handle, p, on_device ? p.alpha_at : &p.alpha,
                 on_device ? p.beta_at : &p.beta);
}

}  // namespace

KernelList<Level3> level3_cuda() {
  KernelList<Level3> peers = {{"cublas", nullptr, "NVIDIA cuBLAS, pedantic FP32", Role::peer,
                               Math::fp32, supports, workspace_bytes, launch}};
  for (const Kernel<Level3>& peer : cholesky_cuda()) peers.push_back(peer);
  return peers;
}
#else
KernelList<Level3> level3_cuda() { return {}; }
#endif

}  // namespace kw::peers
