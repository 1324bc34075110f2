// cuBLAS's products of FP16 and BF16 matrices, added up in FP32, stored in 16 bits: how a program
// multiplies that takes 16 bits for enough.
#include "anchors.hpp"

#ifdef KW_HAVE_CUDA
#include "arithmetic.hpp"
#include "cublas_handle.hpp"
#include "half_copies.hpp"
#endif

namespace kw::peers {

#ifdef KW_HAVE_CUDA
namespace {

constexpr std::size_t alignment = 256;

struct Extent {
  std::int64_t rows, cols;
  std::size_t bytes() const {
    const auto elements = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
    return ceil_div(2 * elements, alignment) * alignment;
  }
};

Extent extent_of_a(const Sgemm& p) {
  return p.op_a == Op::none ? Extent{p.m, p.k} : Extent{p.k, p.m};
}
Extent extent_of_b(const Sgemm& p) {
  return p.op_b == Op::none ? Extent{p.k, p.n} : Extent{p.n, p.k};
}
Extent extent_of_c(const Sgemm& p) { return {p.m, p.n}; }

// The copies lie one behind the other at the workspace's beginning, cuBLAS's own part behind them.
struct Copies {
  unsigned char *a, *b, *c;
  Workspace rest;

  Copies(const Sgemm& p, Workspace whole)
      : a(static_cast<unsigned char*>(whole.data)),
        b(a + extent_of_a(p).bytes()),
        c(b + extent_of_b(p).bytes()),
        rest{c + extent_of_c(p).bytes(), workspace_of_cublas, whole.tickets} {}
};

template <HalfType type>
struct HalfProduct {
  static constexpr cudaDataType_t cuda_type = type == HalfType::fp16 ? CUDA_R_16F : CUDA_R_16BF;

  static bool supports(const Sgemm& p, const Device& device) {
    return device.kind == DeviceKind::cuda && p.plain() && p.beta == 0 && p.m > 0 && p.n > 0 &&
           p.k > 0 && warm_handle(device.ordinal, CUBLAS_DEFAULT_MATH).handle != nullptr;
  }

  static std::size_t workspace_bytes(const Sgemm& p, const Device&) {
    return extent_of_a(p).bytes() + extent_of_b(p).bytes() + extent_of_c(p).bytes() +
           workspace_of_cublas;
  }

  // cuBLAS is column-major: C^T = op(B)^T op(A)^T is the row-major product with operands swapped.
  static Status product(const Sgemm& p, const Device& device, Workspace workspace, Stream stream) {
    const Copies copies(p, workspace);
    WarmHandle& warm = warm_handle(device.ordinal, CUBLAS_DEFAULT_MATH);
    Status status = warm.tell(stream, copies.rest, false);
    if (!status.ok()) return status;
    const auto op = [](Op ours) { return ours == Op::none ? CUBLAS_OP_N : CUBLAS_OP_T; };
    return check(
        cublasGemmEx_64(warm.handle, op(p.op_b), op(p.op_a), p.n, p.m, p.k, &p.alpha, copies.b,
                        cuda_type, extent_of_b(p).cols, copies.a, cuda_type, extent_of_a(p).cols,
                        &p.beta, copies.c, cuda_type, p.n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx_64");
  }

  static Status launch(const Sgemm& p, const Device& device, Workspace workspace, Stream stream) {
    const Copies copies(p, workspace);
    const Extent a = extent_of_a(p), b = extent_of_b(p);
    Status status = to_half(type, p.a, a.rows, a.cols, p.lda, copies.a, stream);
    if (status.ok()) status = to_half(type, p.b, b.rows, b.cols, p.ldb, copies.b, stream);
    if (status.ok()) status = product(p, device, workspace, stream);
    return status.ok() ? from_half(type, copies.c, p.m, p.n, p.c, p.ldc, stream) : status;
  }

  // Both operands and the result are rounded to 11 bits, or 8: three times 2^-11, or 2^-8, in units
  // of 2^-24. A tensor core cuts what it adds up, for which 2^12 units are room at k = 2^20.
  static double extra_error(const Sgemm&) {
    return 3.0 * (type == HalfType::fp16 ? 1 << 13 : 1 << 16) + (1 << 12);
  }

  static Anchor anchor(const char* name, const char* idea, const char* type_name) {
    return {{.name = name,
             .parent = nullptr,
             .idea = idea,
             .role = Role::peer,
             .math = Math::fp32,
             .supports = supports,
             .workspace_bytes = workspace_bytes,
             .launch = launch,
             .extra_error = extra_error},
            type_name,
            product};
  }
};

}  // namespace

std::vector<Anchor> sgemm_anchors(DeviceKind kind) {
  if (kind != DeviceKind::cuda) return {};
  return {HalfProduct<HalfType::fp16>::anchor("cublas_fp16", "cuBLAS of FP16 matrices", "fp16"),
          HalfProduct<HalfType::bf16>::anchor("cublas_bf16", "cuBLAS of BF16 matrices", "bf16")};
}
#else
std::vector<Anchor> sgemm_anchors(DeviceKind) { return {}; }
#endif

}  // namespace kw::peers
