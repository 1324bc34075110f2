// The one form in which every kernel sees a matrix product. src/api checks the caller's arguments
// and turns both layouts into this: all three matrices row-major.
#pragma once

#include <cstdint>

#include "kernel.hpp"
#include "kernelwright/matrix.hpp"

namespace kw {

// C[m][n] = alpha * op_a(A)[m][k] * op_b(B)[k][n] + beta * C[m][n]
//   op_a none: A is stored [m][k] with lda >= k;  transpose: stored [k][m] with lda >= m
//   op_b none: B is stored [k][n] with ldb >= n;  transpose: stored [n][k] with ldb >= k
// alpha == 0 or k == 0: A and B are never read.  beta == 0: C is never read.
struct Sgemm {
  std::int64_t m = 0, n = 0, k = 0;
  Op op_a = Op::none, op_b = Op::none;
  float alpha = 1;
  const float* a = nullptr;
  std::int64_t lda = 0;
  const float* b = nullptr;
  std::int64_t ldb = 0;
  float beta = 0;
  float* c = nullptr;
  std::int64_t ldc = 0;

  // The k that a kernel loops over: nothing of A and B may be touched when alpha is 0.
  std::int64_t loop_k() const { return alpha == 0 ? 0 : k; }
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

}  // namespace kw
