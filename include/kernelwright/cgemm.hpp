// Single-precision complex matrix products: one, or many of one shape in one call; updates of a
// triangle; and triangular systems.
//
// cgemm   C = alpha * op(A) * op(B) + beta * C, where op(A) is m x k, op(B) is k x n and C is m x n
// csyrk   C = alpha * op(A) * op(A)^T + beta * C, one triangle of a square C; op(A) is n x k
// cherk   C = alpha * op(A) * op(A)^H + beta * C likewise, of a Hermitian C, with real scalars
// ctrsm   B = alpha * op(A)^-1 * B, or alpha * B * op(A)^-1, with a triangular A; B is m x n
//
// Elements are std::complex<float>: real and imaginary part next to each other, at a multiple of 8
// bytes.
//
// Triangle   `uplo` of C with its diagonal; of the other one nothing is read or written. A's op is
//            Op::none or, of csyrk, Op::transpose, of cherk Op::conjugate_transpose. The imaginary
//            parts of a Hermitian C's diagonal are not read, and become 0. alpha == 0 or k == 0,
//            and beta == 1: nothing is written.
// Systems    Of the triangle `uplo`, in A's view, nothing beside it is read, nor the diagonal where
//            that is of ones. alpha == 0: A and B are not read, and B becomes 0. A zero on the
//            diagonal is not looked for: the solution then has infinities or NaN. A right-hand side
//            (a column where A is on the left, else a row) depends on no other one. A's op may be
//            any.
// Views      as sgemm.hpp has them, counted in complex elements; an operand's op may also be
//            Op::conjugate_transpose.
// Scalars    alpha == 0 or k == 0: A and B are not read. beta == 0: C is not read, NaN there is
//            overwritten. A scalar with one part that is 0 multiplies as the real or imaginary
//            number that it is. A scalar on the device has the same effect by its value there.
// Accuracy   Each component of an element is one sum of 2k real products, and its error is small
//            beside the sum of their sizes, as four real products of planes would have it. Three
//            products, which lose that where real and imaginary parts differ in size, are not used.
//            fp32_split promises of each component what it promises of a real product (math.hpp).
//            A complex alpha is multiplied into an operand, in FP32 and by a power of two apart, so
//            that nothing overflows or underflows that alpha times the sum would not.
//            A solution X has a small residual: each element of op(A) X - alpha B, or of its like,
//            is at most (2k + 8) 2^-24 of |op(A)| |X| + |alpha B|, where |z| = |Re z| + |Im z| and
//            A is k x k, whatever the condition; fp32_split promises of a residual what its
//            products do.
// Null, overlap, same bits, errors, time, math
//            as sgemm.hpp has them.
// Workspace  Large products take a real copy of an operand, twice that operand's memory; with less
//            they are computed in parts, or by a kernel that takes none. beta with an imaginary
//            part is multiplied into C before.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "kernelwright/context.hpp"
#include "kernelwright/export.h"
#include "kernelwright/level3.hpp"
#include "kernelwright/math.hpp"
#include "kernelwright/matrix.hpp"

namespace kw {

/// alpha and beta of a complex product. Numbers convert by themselves; `ComplexScalar::at` names a
/// complex number in the memory of the context's device, at a multiple of 8 bytes, that the call's
/// work reads when it runs.
class ComplexScalar {
 public:
  ComplexScalar(std::complex<float> value) : value_(value) {}
  ComplexScalar(float value) : value_(value) {}

  static ComplexScalar at(const std::complex<float>* address) {
    ComplexScalar scalar(1.0f);
    scalar.address_ = address;
    scalar.is_on_device_ = true;
    return scalar;
  }

  bool is_on_device() const { return is_on_device_; }
  /// Where it is on the device, 1.
  std::complex<float> value() const { return value_; }
  /// Where it is a value, null.
  const std::complex<float>* address() const { return address_; }

 private:
  std::complex<float> value_;
  const std::complex<float>* address_ = nullptr;
  bool is_on_device_ = false;
};

struct CgemmOptions {
  Math math = Math::fp32;
};

/// One product.
KW_API void cgemm(Context& context, ComplexScalar alpha, MatrixView<const std::complex<float>> a,
                  MatrixView<const std::complex<float>> b, ComplexScalar beta,
                  MatrixView<std::complex<float>> c, const CgemmOptions& options = {});

/// Workspace that the same call of `cgemm` has use for: with less it may take a slower way.
KW_API std::size_t cgemm_workspace_bytes(const Context& context, ComplexScalar alpha,
                                         MatrixView<const std::complex<float>> a,
                                         MatrixView<const std::complex<float>> b,
                                         ComplexScalar beta, MatrixView<std::complex<float>> c,
                                         const CgemmOptions& options = {});

/// `batch` products of one shape, at equal distances, counted in complex elements, as
/// `sgemm_batched` has it.
KW_API void cgemm_batched(Context& context, ComplexScalar alpha,
                          MatrixView<const std::complex<float>> a,
                          MatrixView<const std::complex<float>> b, ComplexScalar beta,
                          MatrixView<std::complex<float>> c, std::int64_t batch,
                          std::int64_t stride_a, std::int64_t stride_b, std::int64_t stride_c,
                          const CgemmOptions& options = {});

/// Workspace that the same call of `cgemm_batched` has use for.
KW_API std::size_t cgemm_batched_workspace_bytes(
    const Context& context, ComplexScalar alpha, MatrixView<const std::complex<float>> a,
    MatrixView<const std::complex<float>> b, ComplexScalar beta, MatrixView<std::complex<float>> c,
    std::int64_t batch, std::int64_t stride_a, std::int64_t stride_b, std::int64_t stride_c,
    const CgemmOptions& options = {});

/// `batch` products of one shape, anywhere: arrays of `batch` pointers in the device's memory, as
/// `sgemm_batched` has them; each is a multiple of 8 bytes.
KW_API void cgemm_batched(Context& context, ComplexScalar alpha,
                          MatrixPointers<const std::complex<float>> a,
                          MatrixPointers<const std::complex<float>> b, ComplexScalar beta,
                          MatrixPointers<std::complex<float>> c, std::int64_t batch,
                          const CgemmOptions& options = {});

/// Workspace that the same call of `cgemm_batched` has use for.
KW_API std::size_t cgemm_batched_workspace_bytes(
    const Context& context, ComplexScalar alpha, MatrixPointers<const std::complex<float>> a,
    MatrixPointers<const std::complex<float>> b, ComplexScalar beta,
    MatrixPointers<std::complex<float>> c, std::int64_t batch, const CgemmOptions& options = {});

/// An update of a triangle by A and A transposed.
KW_API void csyrk(Context& context, Uplo uplo, ComplexScalar alpha,
                  MatrixView<const std::complex<float>> a, ComplexScalar beta,
                  MatrixView<std::complex<float>> c, const CgemmOptions& options = {});

/// Workspace that the same call of `csyrk` has use for.
KW_API std::size_t csyrk_workspace_bytes(const Context& context, Uplo uplo, ComplexScalar alpha,
                                         MatrixView<const std::complex<float>> a,
                                         ComplexScalar beta, MatrixView<std::complex<float>> c,
                                         const CgemmOptions& options = {});

/// An update of a triangle of a Hermitian matrix by A and its conjugate transpose.
KW_API void cherk(Context& context, Uplo uplo, Scalar alpha,
                  MatrixView<const std::complex<float>> a, Scalar beta,
                  MatrixView<std::complex<float>> c, const CgemmOptions& options = {});

/// Workspace that the same call of `cherk` has use for.
KW_API std::size_t cherk_workspace_bytes(const Context& context, Uplo uplo, Scalar alpha,
                                         MatrixView<const std::complex<float>> a, Scalar beta,
                                         MatrixView<std::complex<float>> c,
                                         const CgemmOptions& options = {});

/// A system with a triangular A, whose solution takes B's place.
KW_API void ctrsm(Context& context, Side side, Uplo uplo, Diag diag, ComplexScalar alpha,
                  MatrixView<const std::complex<float>> a, MatrixView<std::complex<float>> b,
                  const CgemmOptions& options = {});

/// Workspace that the same call of `ctrsm` has use for.
KW_API std::size_t ctrsm_workspace_bytes(const Context& context, Side side, Uplo uplo, Diag diag,
                                         ComplexScalar alpha,
                                         MatrixView<const std::complex<float>> a,
                                         MatrixView<std::complex<float>> b,
                                         const CgemmOptions& options = {});

/// `batch` systems of one shape: those of entry i begin i * stride_a and i * stride_b complex
/// elements after `a` and `b`. stride_a may be 0: one A for all.
KW_API void ctrsm_batched(Context& context, Side side, Uplo uplo, Diag diag, ComplexScalar alpha,
                          MatrixView<const std::complex<float>> a,
                          MatrixView<std::complex<float>> b, std::int64_t batch,
                          std::int64_t stride_a, std::int64_t stride_b,
                          const CgemmOptions& options = {});

/// Workspace that the same call of `ctrsm_batched` has use for.
KW_API std::size_t ctrsm_batched_workspace_bytes(
    const Context& context, Side side, Uplo uplo, Diag diag, ComplexScalar alpha,
    MatrixView<const std::complex<float>> a, MatrixView<std::complex<float>> b, std::int64_t batch,
    std::int64_t stride_a, std::int64_t stride_b, const CgemmOptions& options = {});

}  // namespace kw
