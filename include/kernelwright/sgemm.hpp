// Single-precision matrix product: C = alpha * op(A) * op(B) + beta * C.
#pragma once

#include <cstddef>

#include "kernelwright/context.hpp"
#include "kernelwright/export.h"
#include "kernelwright/math.hpp"
#include "kernelwright/matrix.hpp"

namespace kw {

struct SgemmOptions {
  Math math = Math::fp32;
};

/// C = alpha * op(A) * op(B) + beta * C on the context's stream.
///
/// Each view has its own layout and ld; `a` and `b` may be transposed, `c` may not. op(A) is m x k,
/// op(B) is k x n, C is m x n. beta == 0: C is not read, NaN there is overwritten. alpha == 0 or
/// k == 0: A and B are not read and may be null. m == 0 or n == 0: nothing happens.
/// C may lie between the rows of A or B (panels of one array), but may not share an element with
/// them.
KW_API void sgemm(Context& context, float alpha, MatrixView<const float> a,
                  MatrixView<const float> b, float beta, MatrixView<float> c,
                  const SgemmOptions& options = {});

/// Workspace that the same call of `sgemm` takes.
KW_API std::size_t sgemm_workspace_bytes(const Context& context, float alpha,
                                         MatrixView<const float> a, MatrixView<const float> b,
                                         float beta, MatrixView<float> c,
                                         const SgemmOptions& options = {});

}  // namespace kw
