// The one form in which every kernel sees a complex matrix product. src/api checks the caller's
// arguments and turns both layouts into this: all matrices row-major. Sizes, leading dimensions and
// strides count complex elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "host_device.hpp"
#include "kernel.hpp"
#include "kernelwright/matrix.hpp"
#include "sgemm/problem.hpp"

namespace kw {

// std::complex<float>, cuComplex and hipFloatComplex lie in memory in the same way.
struct alignas(8) Complex {
  float re, im;
};

KW_HOST_DEVICE constexpr bool is_zero(const Complex& z) { return z.re == 0 && z.im == 0; }

// C[m][n] = alpha * op_a(A)[m][k] * op_b(B)[k][n] + beta * C[m][n], batch times.
//   op_a none: A is stored [m][k] with lda >= k;  transpose: stored [k][m] with lda >= m
//   op_b none: B is stored [k][n] with ldb >= n;  transpose: stored [n][k] with ldb >= k
//   conj_a, conj_b: the conjugate of that; with a transpose or without
// Op::conjugate_transpose does not occur here. alpha == 0 or k == 0: A and B are never read.
// beta == 0: C is never read. Batches and scalars on the device are as Sgemm has them.
struct Cgemm {
  std::int64_t m = 0, n = 0, k = 0;
  Op op_a = Op::none, op_b = Op::none;
  bool conj_a = false, conj_b = false;
  Complex alpha = {1, 0};
  const Complex* a = nullptr;
  std::int64_t lda = 0;
  const Complex* b = nullptr;
  std::int64_t ldb = 0;
  Complex beta = {0, 0};
  Complex* c = nullptr;
  std::int64_t ldc = 0;

  std::int64_t batch = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  const Complex* const* a_array = nullptr;
  const Complex* const* b_array = nullptr;
  Complex* const* c_array = nullptr;
  const Complex* alpha_at = nullptr;
  const Complex* beta_at = nullptr;

  // Of csyrk and cherk, where C is square: its elements beside the triangle are neither read nor
  // written. op_b(B) is op_a(A) transposed, as CBLAS wants it; kernels for GPUs do not ask.
  Triangle triangle = Triangle::none;
  // cherk: C's diagonal is real. The imaginary parts there are not read, and become 0; scalars are
  // real, and those on the device single floats.
  bool hermitian = false;

  bool by_pointers() const { return c_array != nullptr; }
  // The k that a kernel loops over, as far as the host knows.
  constexpr std::int64_t loop_k() const { return alpha_at == nullptr && is_zero(alpha) ? 0 : k; }
  double flops() const {
    const double columns = static_cast<double>(triangle == Triangle::none ? n : n + 1);
    return (triangle == Triangle::none ? 8.0 : 4.0) * static_cast<double>(m) * columns *
           static_cast<double>(k) * static_cast<double>(batch);
  }
};

// The product of a complex product's real form is one of Sgemm (src/cgemm/real_product.hpp).
template <>
struct PartsOf<Cgemm> {
  using Type = Sgemm;
};

// `count` entries of the batch from entry `first` on.
inline Cgemm some_entries(const Cgemm& all, std::int64_t first, std::int64_t count) {
  Cgemm part = all;
  part.batch = count;
  if (all.by_pointers()) {
    part.a_array += first;
    part.b_array += first;
    part.c_array += first;
  } else {
    part.a += first * all.stride_a;
    part.b += first * all.stride_b;
    part.c += first * all.stride_c;
  }
  return part;
}

// The most blocks of a launch.
inline constexpr std::int64_t most_launch_blocks = std::numeric_limits<int>::max();

// Calls launch(part of the batch, its blocks) with as many entries of so many blocks as one launch
// has room for, until one fails.
template <class Launch>
Status launch_entries(const Cgemm& p, std::int64_t an_entry, const Launch& launch) {
  const std::int64_t at_once = most_launch_blocks / std::max<std::int64_t>(an_entry, 1);
  for (std::int64_t first = 0; first < p.batch; first += at_once) {
    const Cgemm part = some_entries(p, first, std::min(at_once, p.batch - first));
    Status status = launch(part, static_cast<unsigned>(an_entry * part.batch));
    if (!status.ok()) return status;
  }
  return Status::success();
}

// `count` rows of C from `first` on, of a problem without arrays of pointers.
inline Cgemm some_rows(const Cgemm& all, std::int64_t first, std::int64_t count) {
  Cgemm part = all;
  part.m = count;
  part.a += all.op_a == Op::none ? first * all.lda : first;
  part.c += first * all.ldc;
  return part;
}

// `count` columns of C likewise.
inline Cgemm some_columns(const Cgemm& all, std::int64_t first, std::int64_t count) {
  Cgemm part = all;
  part.n = count;
  part.b += all.op_b == Op::none ? first : first * all.ldb;
  part.c += first;
  return part;
}

// What `count` of k from `first` on add to C; the first of them also multiply it by beta. Of a
// problem without arrays of pointers.
inline Cgemm some_depth(const Cgemm& all, std::int64_t first, std::int64_t count) {
  Cgemm part = all;
  part.k = count;
  part.a += all.op_a == Op::none ? first : first * all.lda;
  part.b += all.op_b == Op::none ? first * all.ldb : first;
  if (first == 0) return part;
  part.beta = {1, 0};
  part.beta_at = nullptr;
  return part;
}

// These functions read memory of the device, so a kernel calls them.

KW_HOST_DEVICE inline Complex scalar_at(const Complex* at, bool hermitian) {
  return hermitian ? Complex{*reinterpret_cast<const float*>(at), 0} : *at;
}
KW_HOST_DEVICE inline Complex alpha_of(const Cgemm& p) {
  return p.alpha_at != nullptr ? scalar_at(p.alpha_at, p.hermitian) : p.alpha;
}
KW_HOST_DEVICE inline Complex beta_of(const Cgemm& p) {
  return p.beta_at != nullptr ? scalar_at(p.beta_at, p.hermitian) : p.beta;
}
KW_HOST_DEVICE constexpr bool is_wanted(const Cgemm& p, std::int64_t row, std::int64_t col) {
  return p.triangle == Triangle::none || (p.triangle == Triangle::lower ? col <= row : row <= col);
}
KW_HOST_DEVICE constexpr const Complex* a_of(const Cgemm& p, std::int64_t entry) {
  return p.a_array != nullptr ? p.a_array[entry] : p.a + entry * p.stride_a;
}
KW_HOST_DEVICE constexpr const Complex* b_of(const Cgemm& p, std::int64_t entry) {
  return p.b_array != nullptr ? p.b_array[entry] : p.b + entry * p.stride_b;
}
KW_HOST_DEVICE constexpr Complex* c_of(const Cgemm& p, std::int64_t entry) {
  return p.c_array != nullptr ? p.c_array[entry] : p.c + entry * p.stride_c;
}

}  // namespace kw
