// The one form in which every kernel sees a complex triangular system: all matrices row-major.
// src/api turns both layouts into this. Sizes, leading dimensions and strides count complex
// elements.
#pragma once

#include <cstdint>

#include "cgemm/problem.hpp"
#include "host_device.hpp"
#include "kernel.hpp"

namespace kw {

//   C = alpha op(A)^-1 C, or alpha C op(A)^-1      A is a triangle, k x k; C is m x n
// op is op_a, and with `conj_a` the conjugate of that; Op::conjugate_transpose does not occur here.
// A's other side is never read, nor its diagonal where that is of ones. alpha == 0: A is not read,
// nor C.
struct Ctrsm {
  Triangle triangle = Triangle::lower;  // of A as it is stored
  bool on_left = true;                  // A
  bool unit_diagonal = false;
  Op op_a = Op::none;
  bool conj_a = false;
  std::int64_t m = 0, n = 0;
  Complex alpha = {1, 0};
  const Complex* a = nullptr;
  std::int64_t lda = 0;
  Complex* c = nullptr;
  std::int64_t ldc = 0;
  // So many systems, at equal distances; A's may be 0.
  std::int64_t batch = 1, stride_a = 0, stride_c = 0;
  // In the device's memory, read when the kernel runs; where null, alpha holds.
  const Complex* alpha_at = nullptr;

  // Unknowns of a line, and lines: those of C along A.
  KW_HOST_DEVICE constexpr std::int64_t k() const { return on_left ? m : n; }
  KW_HOST_DEVICE constexpr std::int64_t lines() const { return on_left ? n : m; }
  // Whether unknowns are found from the first to the last.
  KW_HOST_DEVICE constexpr bool goes_forward() const {
    const bool is_lower = (triangle == Triangle::lower) == (op_a == Op::none);
    return is_lower == on_left;
  }
  // Multiplications and additions, as BLAS counts them.
  double flops() const {
    return 4.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k()) *
           static_cast<double>(batch);
  }
};

// A system is made of complex products.
template <>
struct PartsOf<Ctrsm> {
  using Type = Cgemm;
};

}  // namespace kw
