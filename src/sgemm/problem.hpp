// The one form in which every kernel sees a matrix product. src/api checks the caller's arguments
// and turns both layouts into this: all matrices row-major.
#pragma once

#include <cstdint>

#include "host_device.hpp"
#include "kernel.hpp"
#include "kernelwright/epilogue.hpp"
#include "kernelwright/matrix.hpp"

namespace kw {

// C[m][n] = alpha * op_a(A)[m][k] * op_b(B)[k][n] + beta * C[m][n]
//   op_a none: A is stored [m][k] with lda >= k;  transpose: stored [k][m] with lda >= m
//   op_b none: B is stored [k][n] with ldb >= n;  transpose: stored [n][k] with ldb >= k
// alpha == 0 or k == 0: A and B are never read.  beta == 0: C is never read.
//
// PlainSgemm is one product whose scalars are known on the host. Kernels that need no more take it
// as their parameter: from 128 bytes of parameters on, nvcc 13.0 compiles the tiles of ladder/sgemm
// to slower loops (r10 takes 3.55 ms at 4096 instead of 2.9).
struct PlainSgemm {
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
  KW_HOST_DEVICE constexpr std::int64_t loop_k() const { return alpha == 0 ? 0 : k; }
};

// What becomes of alpha * sum + beta * C before it is stored (kernelwright/epilogue.hpp).
struct SgemmEpilogue {
  const float* bias = nullptr;  // dense
  std::int64_t stride_bias = 0;
  bool bias_of_rows = false;  // of row-major C
  Activation activation = Activation::none;
  const float* source = nullptr;  // in C's place where beta multiplies another matrix
  std::int64_t ld_source = 0, stride_source = 0;

  KW_HOST_DEVICE constexpr bool any() const {
    return bias != nullptr || source != nullptr || activation != Activation::none;
  }
  // That of C from row `row` and column `column` on.
  KW_HOST_DEVICE constexpr void move(std::int64_t row, std::int64_t column) {
    if (bias != nullptr) bias += bias_of_rows ? row : column;
    if (source != nullptr) source += row * ld_source + column;
  }
  KW_HOST_DEVICE constexpr void move_to_entry(std::int64_t entry) {
    if (bias != nullptr) bias += entry * stride_bias;
    if (source != nullptr) source += entry * stride_source;
  }
};

// Which elements of C a product has: all, or those of a triangle with its diagonal; then C is
// square, or has more rows below a lower one, or more columns right of an upper one. The others are
// neither read nor written.
enum class Triangle : std::uint8_t { none, lower, upper };

// Which k count for an element in row i and column j: all; or those up to i or j, or from there on,
// where op(A) or op(B) is a triangle. The others are zeros, whoever multiplies by them.
enum class KRange : std::uint8_t { all, to_row, from_row, to_column, from_column };

// Lines of the squares on the diagonal of a triangle (Sgemm::diagonal).
constexpr int diagonal_side = 128;

// A call: a batch of products.
struct Sgemm : PlainSgemm {
  // Products of one shape. The matrices of entry i start at a + i * stride_a and so on (0 for an
  // input that all share), or, where `a_array` is not null, at a_array[i], b_array[i], c_array[i]:
  // arrays of `batch` pointers in the device's memory.
  std::int64_t batch = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;  // floats
  const float* const* a_array = nullptr;
  const float* const* b_array = nullptr;
  float* const* c_array = nullptr;

  // Scalars in the device's memory, read when the kernel runs; where null, alpha and beta hold.
  const float* alpha_at = nullptr;
  const float* beta_at = nullptr;

  SgemmEpilogue epilogue = {};

  // In the device's memory, read when the kernel runs: where it is 0, the kernel exits early and
  // does not touch C.
  const unsigned* only_if = nullptr;
  // Launches of one call that write different parts of C do not wait for each other on the stream:
  // this one does not wait for the previous one, or the next one does not wait for this one
  // (device/overlap.hpp). Such launches share no workspace and no tickets. A kernel that ignores
  // the two waits, and its result is right too.
  bool overlaps_previous = false;
  bool next_overlaps = false;

  // Of C's columns 2^column_shift are one of the triangle: 1 where they are the parts of complex
  // elements (src/cgemm), and n is twice m.
  int column_shift = 0;
  // Of level 3 (src/level3). Kernels that do not know them refuse such a problem.
  Triangle triangle = Triangle::none;
  KRange k_range = KRange::all;
  // Where k has a range: whether the zeros of op(A) or op(B) are not stored. Nothing beside the
  // triangle is read then, and of the squares on its diagonal, diagonal_side lines each, a copy
  // with zeros: `diagonal`, diagonal_side floats a line, its lines and elements as the operand's.
  bool diagonal_apart = false;
  const float* diagonal = nullptr;

  // Whether this is one product whose scalars are known on the host, and nothing else: the form
  // that rungs and most peers take.
  bool plain() const {
    return batch == 1 && a_array == nullptr && alpha_at == nullptr && beta_at == nullptr &&
           only_if == nullptr && !epilogue.any() && is_full();
  }
  // Whether all of C is wanted, over all of k.
  bool is_full() const { return triangle == Triangle::none && k_range == KRange::all; }
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
           static_cast<double>(batch);
  }
};

// Whether rows of a matrix, which start ld floats apart, are read and written by 4 bytes instead of
// 16, as far as its shape tells, not its address. A plan is then the right one for every address,
// also one that was made without.
inline bool rows_by_4(const Sgemm& p, std::int64_t ld, std::int64_t stride) {
  return ld % 4 != 0 || (p.batch > 1 && stride % 4 != 0);
}
// Whether C is stored by single elements, likewise.
inline bool is_c_by_4(const Sgemm& p) { return p.n % 4 != 0 || rows_by_4(p, p.ldc, p.stride_c); }

// `count` entries of the batch from entry `first` on.
inline Sgemm some_entries(const Sgemm& all, std::int64_t first, std::int64_t count) {
  Sgemm part = all;
  part.batch = count;
  if (all.a_array != nullptr) {
    part.a_array += first;
    part.b_array += first;
    part.c_array += first;
  } else {
    part.a += first * all.stride_a;
    part.b += first * all.stride_b;
    part.c += first * all.stride_c;
  }
  part.epilogue.move_to_entry(first);
  return part;
}

// `count` rows or columns of C from `first` on, of a problem without arrays of pointers.
inline Sgemm some_rows(const Sgemm& all, std::int64_t first, std::int64_t count) {
  Sgemm part = all;
  part.m = count;
  part.a += all.op_a == Op::none ? first * all.lda : first;
  part.c += first * all.ldc;
  part.epilogue.move(first, 0);
  return part;
}
inline Sgemm some_columns(const Sgemm& all, std::int64_t first, std::int64_t count) {
  Sgemm part = all;
  part.n = count;
  part.b += all.op_b == Op::none ? first : first * all.ldb;
  part.c += first;
  part.epilogue.move(0, first);
  return part;
}

// These functions read memory of the device, so a kernel calls them.

KW_HOST_DEVICE constexpr bool exits_early(const Sgemm& p) {
  return p.only_if != nullptr && *p.only_if == 0;
}
KW_HOST_DEVICE constexpr bool reads_operands(const Sgemm& p) {
  return p.k > 0 && (p.alpha_at != nullptr ? *p.alpha_at : p.alpha) != 0;
}
KW_HOST_DEVICE constexpr const float* a_of(const Sgemm& p, std::int64_t entry) {
  return p.a_array != nullptr ? p.a_array[entry] : p.a + entry * p.stride_a;
}
KW_HOST_DEVICE constexpr const float* b_of(const Sgemm& p, std::int64_t entry) {
  return p.b_array != nullptr ? p.b_array[entry] : p.b + entry * p.stride_b;
}
KW_HOST_DEVICE constexpr float* c_of(const Sgemm& p, std::int64_t entry) {
  return p.c_array != nullptr ? p.c_array[entry] : p.c + entry * p.stride_c;
}

// Entry `index` of the batch as a plain product, with its scalars read and with k = loop_k(). Its
// epilogue stays that of entry 0: moved here, it would be in registers through all of a kernel.
KW_HOST_DEVICE constexpr Sgemm entry_of(const Sgemm& all, std::int64_t index) {
  Sgemm one = all;
  if (all.alpha_at != nullptr) one.alpha = *all.alpha_at;
  if (all.beta_at != nullptr) one.beta = *all.beta_at;
  one.k = one.loop_k();
  if (one.k > 0) {
    one.a = a_of(all, index);
    one.b = b_of(all, index);
  }
  one.c = c_of(all, index);
  one.batch = 1;
  one.a_array = one.b_array = nullptr;
  one.c_array = nullptr;
  one.alpha_at = one.beta_at = nullptr;
  return one;
}

}  // namespace kw
