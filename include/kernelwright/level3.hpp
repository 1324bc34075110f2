// Single-precision level 3 beside the product: updates of a triangle, products with a symmetric or
// a triangular matrix, triangular systems; and the Cholesky factorisation, which is made of them.
//
// Triangles  `uplo` names the triangle, diagonal included, of the matrix as its view has it: of C
// for
//            updates, else of A. The other one is never read or written. Diag::unit: A's diagonal
//            is not read and counts as ones.
// Views      Each has its own layout and ld, in elements, and inputs may be transposed; what is
//            written may not. A symmetric A is the same transposed.
// Scalars    alpha == 0 (or k == 0): A and B are not read. beta == 0: C is not read. A scalar on
// the
//            device has the same effect by its value there, but A and B must be there.
// Null       is fine where nothing is read or written.
// Overlap    No element of what is written, its other triangle included, may be one of an input;
// but
//            of strmm C may be B itself. What the addresses prove is an error.
// Accuracy   as math.hpp has it for products. Systems are solved by blocks: substitution within,
//            products between them; the residual of each element stays within that of sums of so
//            many products. A singular A divides by zero, as in BLAS. strmm may multiply the zeros
//            of A's other side: an infinity or NaN in B then reaches elements of C that do not
//            depend on it.
// Same bits, errors, time, math   as sgemm.hpp has them. argument() may be "uplo", "side", "diag"
//            too.
// Workspace  strmm and ssymm: as many floats as A has, besides the product's.
// Method     Updates are products whose tiles outside of the triangle are left out. Systems by
//            blocks: Higham, Accuracy and Stability of Numerical Algorithms (2002), chapter 8;
//            factors by halves, chapter 10.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernelwright/context.hpp"
#include "kernelwright/export.h"
#include "kernelwright/math.hpp"
#include "kernelwright/matrix.hpp"
#include "kernelwright/scalar.hpp"

namespace kw {

enum class Uplo : int { lower = 0, upper = 1 };
/// Where A stands: op(A) B or B op(A).
enum class Side : int { left = 0, right = 1 };
enum class Diag : int { non_unit = 0, unit = 1 };

struct Level3Options {
  Math math = Math::fp32;
};

/// C = alpha op(A) op(A)^T + beta C of one triangle; op(A) is n x k, C n x n.
KW_API void ssyrk(Context& context, Uplo uplo, Scalar alpha, MatrixView<const float> a, Scalar beta,
                  MatrixView<float> c, const Level3Options& options = {});
/// C = alpha op(A) op(B)^T + beta C of one triangle: for products that are known to be symmetric.
KW_API void ssyrkx(Context& context, Uplo uplo, Scalar alpha, MatrixView<const float> a,
                   MatrixView<const float> b, Scalar beta, MatrixView<float> c,
                   const Level3Options& options = {});
/// C = alpha (op(A) op(B)^T + op(B) op(A)^T) + beta C of one triangle.
KW_API void ssyr2k(Context& context, Uplo uplo, Scalar alpha, MatrixView<const float> a,
                   MatrixView<const float> b, Scalar beta, MatrixView<float> c,
                   const Level3Options& options = {});
/// C = alpha A op(B) + beta C, or alpha op(B) A + beta C, with a symmetric A.
KW_API void ssymm(Context& context, Side side, Uplo uplo, Scalar alpha, MatrixView<const float> a,
                  MatrixView<const float> b, Scalar beta, MatrixView<float> c,
                  const Level3Options& options = {});
/// C = alpha op(A) op(B), or alpha op(B) op(A), with a triangular A. C may be B.
KW_API void strmm(Context& context, Side side, Uplo uplo, Diag diag, Scalar alpha,
                  MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c,
                  const Level3Options& options = {});
/// B = alpha op(A)^-1 B, or alpha B op(A)^-1, with a triangular A.
KW_API void strsm(Context& context, Side side, Uplo uplo, Diag diag, Scalar alpha,
                  MatrixView<const float> a, MatrixView<float> b,
                  const Level3Options& options = {});
/// `batch` systems of one shape: those of entry i begin i * stride_a and i * stride_b elements
/// after `a` and `b`. stride_a may be 0: one A for all.
KW_API void strsm_batched(Context& context, Side side, Uplo uplo, Diag diag, Scalar alpha,
                          MatrixView<const float> a, MatrixView<float> b, std::int64_t batch,
                          std::int64_t stride_a, std::int64_t stride_b,
                          const Level3Options& options = {});

/// A = L L^T (lower) or U^T U of a symmetric positive definite A, of which one triangle is read and
/// becomes L or U. `info` is an int in the device's memory (of a CPU context: in the host's), which
/// is written on the stream: 0; or, where the leading minor of that order is not positive, NaN
/// among it, its order, and then the triangle holds values of no use. A + E = L L^T with
/// |E| <= (n + 1) 2^-24 |L| |L|^T.
KW_API void spotrf(Context& context, Uplo uplo, MatrixView<float> a, int* info,
                   const Level3Options& options = {});

/// Workspace that the call of the same name has use for: with less it may take a slower way.
KW_API std::size_t ssyrk_workspace_bytes(const Context& context, Uplo uplo, Scalar alpha,
                                         MatrixView<const float> a, Scalar beta,
                                         MatrixView<float> c, const Level3Options& options = {});
KW_API std::size_t ssyrkx_workspace_bytes(const Context& context, Uplo uplo, Scalar alpha,
                                          MatrixView<const float> a, MatrixView<const float> b,
                                          Scalar beta, MatrixView<float> c,
                                          const Level3Options& options = {});
KW_API std::size_t ssyr2k_workspace_bytes(const Context& context, Uplo uplo, Scalar alpha,
                                          MatrixView<const float> a, MatrixView<const float> b,
                                          Scalar beta, MatrixView<float> c,
                                          const Level3Options& options = {});
KW_API std::size_t ssymm_workspace_bytes(const Context& context, Side side, Uplo uplo, Scalar alpha,
                                         MatrixView<const float> a, MatrixView<const float> b,
                                         Scalar beta, MatrixView<float> c,
                                         const Level3Options& options = {});
KW_API std::size_t strmm_workspace_bytes(const Context& context, Side side, Uplo uplo, Diag diag,
                                         Scalar alpha, MatrixView<const float> a,
                                         MatrixView<const float> b, MatrixView<float> c,
                                         const Level3Options& options = {});
KW_API std::size_t strsm_workspace_bytes(const Context& context, Side side, Uplo uplo, Diag diag,
                                         Scalar alpha, MatrixView<const float> a,
                                         MatrixView<float> b, const Level3Options& options = {});
KW_API std::size_t strsm_batched_workspace_bytes(const Context& context, Side side, Uplo uplo,
                                                 Diag diag, Scalar alpha, MatrixView<const float> a,
                                                 MatrixView<float> b, std::int64_t batch,
                                                 std::int64_t stride_a, std::int64_t stride_b,
                                                 const Level3Options& options = {});
KW_API std::size_t spotrf_workspace_bytes(const Context& context, Uplo uplo, MatrixView<float> a,
                                          const Level3Options& options = {});

}  // namespace kw
