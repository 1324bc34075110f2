// The one form in which every kernel of level 3 sees a call: all matrices row-major. src/api turns
// both layouts into this.
#pragma once

#include <cstdint>

#include "host_device.hpp"
#include "kernel.hpp"
#include "sgemm/problem.hpp"

namespace kw {

enum class Routine : std::uint8_t { syrk, syrkx, syr2k, symm, trmm, trsm, potrf };

inline const char* to_string(Routine routine) {
  constexpr const char* names[] = {"ssyrk", "ssyrkx", "ssyr2k", "ssymm",
                                   "strmm", "strsm",  "spotrf"};
  return names[static_cast<int>(routine)];
}

//   syrk    C = alpha op_a(A) op_a(A)^T + beta C                               the triangle of C
//   syrkx   C = alpha op_a(A) op_b(B)^T + beta C                               the triangle of C
//   syr2k   C = alpha (op_a(A) op_b(B)^T + op_b(B) op_a(A)^T) + beta C         the triangle of C
//           C is m x m, op_a(A) and op_b(B) are m x k; n is m
//   symm    C = alpha A op_b(B) + beta C, or alpha op_b(B) A + beta C          A's triangle is read
//   trmm    C = alpha op_a(A) op_b(B), or alpha op_b(B) op_a(A); C may be B    A is a triangle
//   trsm    C = alpha op_a(A)^-1 C, or alpha C op_a(A)^-1                      A is a triangle
//           C is m x n, A is k x k: k is m where A is on the left, else n
//   potrf   C = L L^T, or U^T U: L or U in place of the triangle of C; n and k are m
// Of a triangle the other side is never read or written, and where the diagonal is of ones, A's is
// not read. alpha == 0: A and B are not read. beta == 0: C is not read.
struct Level3 {
  Routine routine = Routine::syrk;
  Triangle triangle = Triangle::lower;  // of C, else of A as it is stored
  bool on_left = true;                  // A
  bool unit_diagonal = false;
  Op op_a = Op::none, op_b = Op::none;
  std::int64_t m = 0, n = 0, k = 0;
  float alpha = 1;
  const float* a = nullptr;
  std::int64_t lda = 0;
  const float* b = nullptr;
  std::int64_t ldb = 0;
  float beta = 0;
  float* c = nullptr;
  std::int64_t ldc = 0;
  // Of trsm: so many systems, at equal distances in floats; A's may be 0.
  std::int64_t batch = 1, stride_a = 0, stride_c = 0;
  // Of potrf: 0, or the number, from 1 on, of the first pivot that is not positive.
  int* info = nullptr;
  // Scalars in the device's memory, read when the kernel runs; where null, alpha and beta hold.
  const float* alpha_at = nullptr;
  const float* beta_at = nullptr;

  KW_HOST_DEVICE constexpr bool updates_triangle() const { return routine <= Routine::syr2k; }
  KW_HOST_DEVICE constexpr bool has_triangular_a() const {
    return routine == Routine::trmm || routine == Routine::trsm;
  }
  KW_HOST_DEVICE constexpr bool factors() const { return routine == Routine::potrf; }
  KW_HOST_DEVICE constexpr bool reads_b() const {
    return routine != Routine::syrk && routine != Routine::trsm && !factors();
  }
  bool reads_c() const { return routine != Routine::trmm && (beta_at != nullptr || beta != 0); }
  bool in_place() const { return routine == Routine::trmm && b == c; }
  // Whether op_a(A) has zeros above its diagonal.
  KW_HOST_DEVICE constexpr bool is_lower() const {
    return (triangle == Triangle::lower) == (op_a == Op::none);
  }
  // Multiplications and additions, as BLAS counts them.
  double flops() const {
    const auto rows = static_cast<double>(m), columns = static_cast<double>(n),
               depth = static_cast<double>(k), entries = static_cast<double>(batch);
    if (routine == Routine::syr2k) return 2 * rows * (rows + 1) * depth;
    if (updates_triangle()) return rows * (rows + 1) * depth;
    if (factors()) return rows * (rows + 1) * (2 * rows + 1) / 6;
    return (routine == Routine::symm ? 2 : 1) * rows * columns * depth * entries;
  }
};

template <>
struct PartsOf<Level3> {
  using Type = Sgemm;
};

}  // namespace kw
