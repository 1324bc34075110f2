// Single-precision matrix products: one, or many of one shape in one call.
//
// C = alpha * op(A) * op(B) + beta * C, where op(A) is m x k, op(B) is k x n and C is m x n; with a
// bias, an activation or another matrix that beta multiplies where asked for (epilogue.hpp).
//
// Views      Each has its own layout and ld, in elements; A and B may be transposed, C may not.
// Scalars    alpha == 0 or k == 0: A and B are not read. beta == 0: C is not read, NaN there is
//            overwritten. A scalar on the device has the same effect by its value there.
// Null       is fine where nothing is read or written: for A and B where k or a given alpha is 0,
//            for all where m, n or the batch is 0; then nothing happens.
// Overlap    C may lie between the rows of A or B (panels of one array), and the matrices of a
//            batch between each other's, but no element of a C may be one of A, B or another C.
//            What the addresses prove is an error; what only the device knows (arrays of pointers)
//            and what would take too long to find is the caller's to see to.
// Same bits  as context.hpp has it. An entry of a batch is not promised the bits of a call of its
//            own: a kernel is chosen for the whole batch.
// Errors     kw::Error, as context.hpp has it. argument() is "a", "b", "c", "lda", "ldb", "ldc",
//            the field of a view ("a.rows"), "alpha", "beta", "batch", "stride_a", "stride_b",
//            "stride_c", "options.math", "workspace", or one of epilogue.hpp's.
// Time       Asynchronous on the context's stream, capturable in a graph. The first call of a size
//            may allocate (context.hpp): let one go before a capture, or set a workspace.
// Math       fp32 unless asked otherwise (math.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernelwright/context.hpp"
#include "kernelwright/epilogue.hpp"
#include "kernelwright/export.h"
#include "kernelwright/math.hpp"
#include "kernelwright/matrix.hpp"
#include "kernelwright/scalar.hpp"

namespace kw {

struct SgemmOptions {
  Math math = Math::fp32;
  Epilogue epilogue = {};
};

/// One product.
KW_API void sgemm(Context& context, Scalar alpha, MatrixView<const float> a,
                  MatrixView<const float> b, Scalar beta, MatrixView<float> c,
                  const SgemmOptions& options = {});

/// Workspace that the same call of `sgemm` has use for: with less it may take a slower way.
KW_API std::size_t sgemm_workspace_bytes(const Context& context, Scalar alpha,
                                         MatrixView<const float> a, MatrixView<const float> b,
                                         Scalar beta, MatrixView<float> c,
                                         const SgemmOptions& options = {});

/// `batch` products of one shape, at equal distances: `a`, `b` and `c` are those of entry 0, and
/// entry i begins i * stride_a, i * stride_b and i * stride_c elements further on. A stride is 0 or
/// more; one of 0 gives all entries the same input. stride_c may be 0 where batch is at most 1.
KW_API void sgemm_batched(Context& context, Scalar alpha, MatrixView<const float> a,
                          MatrixView<const float> b, Scalar beta, MatrixView<float> c,
                          std::int64_t batch, std::int64_t stride_a, std::int64_t stride_b,
                          std::int64_t stride_c, const SgemmOptions& options = {});

/// Workspace that the same call of `sgemm_batched` has use for.
KW_API std::size_t sgemm_batched_workspace_bytes(
    const Context& context, Scalar alpha, MatrixView<const float> a, MatrixView<const float> b,
    Scalar beta, MatrixView<float> c, std::int64_t batch, std::int64_t stride_a,
    std::int64_t stride_b, std::int64_t stride_c, const SgemmOptions& options = {});

/// `batch` products of one shape, anywhere: arrays of `batch` pointers, themselves in the device's
/// memory, say where the matrices of each entry lie. The pointers are read when the call's work
/// runs, and only the device can check them: each is a multiple of 4 bytes, an input may serve
/// several entries, a C only one.
KW_API void sgemm_batched(Context& context, Scalar alpha, MatrixPointers<const float> a,
                          MatrixPointers<const float> b, Scalar beta, MatrixPointers<float> c,
                          std::int64_t batch, const SgemmOptions& options = {});

/// Workspace that the same call of `sgemm_batched` takes.
KW_API std::size_t sgemm_batched_workspace_bytes(const Context& context, Scalar alpha,
                                                 MatrixPointers<const float> a,
                                                 MatrixPointers<const float> b, Scalar beta,
                                                 MatrixPointers<float> c, std::int64_t batch,
                                                 const SgemmOptions& options = {});

}  // namespace kw
