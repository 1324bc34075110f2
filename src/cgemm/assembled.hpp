// Complex products that a pass behind one real product puts together: what the real product is,
// where its operands lie in the workspace, and how long the passes take. Made on the host.
//
//   four    An operand that lies across k is, as stored, a real matrix with twice as many rows or
//           columns: real and imaginary parts in turn. One that lies along k is taken apart into
//           two planes, all real rows and then all imaginary ones. Their real product has the four
//           products of parts of each element of C, which the last pass adds up.
//   turned  op(B) lies along k: the transpose of C is the product of B and A transposed, of which
//           B stays as it is stored (real_product.hpp). The last pass transposes.
//
// Where one operand is much larger than the other these leave it as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cgemm/real_product.hpp"

namespace kw {

// What an operand of `four` is: rows of op(A), columns of op(B).
struct PartedOperand {
  std::int64_t extent = 0, ld = 0;
  bool is_planes = false;  // a copy in the workspace

  // Where part 0 or 1 of an element is among the real matrix's rows or columns.
  KW_HOST_DEVICE constexpr std::int64_t at(std::int64_t i, int part) const {
    return is_planes ? part * extent + i : 2 * i + part;
  }
  std::size_t bytes() const {
    return is_planes ? static_cast<std::size_t>(2 * extent * ld) * sizeof(float) : 0;
  }
};

inline PartedOperand parted(std::int64_t extent, bool along_k, std::int64_t ld, std::int64_t k) {
  constexpr std::int64_t step = 4;
  return {extent, along_k ? ceil_div(k, step) * step : 2 * ld, along_k};
}

struct FourProducts {
  PartedOperand a, b;
  std::int64_t ld = 0;  // of the real product's result

  explicit FourProducts(const Cgemm& p)
      : a(parted(p.m, p.op_a == Op::none, p.lda, p.k)),
        b(parted(p.n, p.op_b != Op::none, p.ldb, p.k)),
        ld(ceil_div<std::int64_t>(2 * p.n, 4) * 4) {}
  std::size_t result_bytes(const Cgemm& p) const {
    return static_cast<std::size_t>(2 * p.m * ld) * sizeof(float);
  }
};

// Offsets into the workspace, in bytes. The product's own part begins at `end`.
struct FourLayout {
  std::size_t a = 0, b = 0, result = 0, end = 0;

  explicit FourLayout(const Cgemm& p) {
    const FourProducts four(p);
    const auto take = [&](std::size_t bytes) { return take_part(end, bytes); };
    a = take(four.a.bytes());
    b = take(four.b.bytes());
    result = take(four.result_bytes(p));
  }
};

inline Sgemm four_real_product(const Cgemm& p, char* base) {
  const FourProducts four(p);
  const FourLayout at(p);
  const auto data = [&](const PartedOperand& of, std::size_t offset, const Complex* stored) {
    return reinterpret_cast<const float*>(of.is_planes ? base + offset
                                                       : reinterpret_cast<const char*>(stored));
  };
  Sgemm real;
  real.m = 2 * p.m;
  real.n = 2 * p.n;
  real.k = p.k;
  real.op_a = four.a.is_planes ? Op::none : Op::transpose;
  real.op_b = four.b.is_planes ? Op::transpose : Op::none;
  real.a = data(four.a, at.a, p.a);
  real.lda = four.a.ld;
  real.b = data(four.b, at.b, p.b);
  real.ldb = four.b.ld;
  real.c = reinterpret_cast<float*>(base + at.result);
  real.ldc = four.ld;
  return real;
}

inline std::int64_t turned_ld(const Cgemm& p) { return ceil_div<std::int64_t>(p.m, 2) * 2; }
// The transposed product, into the workspace, and where its own part begins.
inline Cgemm turned_product(const Cgemm& p, char* base) {
  Cgemm turned = p;
  std::swap(turned.m, turned.n);
  std::swap(turned.a, turned.b);
  std::swap(turned.lda, turned.ldb);
  std::swap(turned.conj_a, turned.conj_b);
  turned.op_a = p.op_b == Op::none ? Op::transpose : Op::none;
  turned.op_b = p.op_a == Op::none ? Op::transpose : Op::none;
  turned.alpha = {1, 0};
  turned.beta = {0, 0};
  turned.alpha_at = turned.beta_at = nullptr;
  turned.c = reinterpret_cast<Complex*>(base);
  turned.ldc = turned_ld(p);
  return turned;
}
inline std::size_t turned_bytes(const Cgemm& p) {
  return whole_part(static_cast<std::size_t>(p.n * turned_ld(p)) * sizeof(Complex));
}

// One entry without a triangle, with something to add up.
inline bool can_be_assembled(const Cgemm& p) {
  return p.batch == 1 && !p.by_pointers() && p.triangle == Triangle::none && p.loop_k() > 0 &&
         p.m > 0 && p.n > 0;
}

inline double assembly_pass_us(double bytes, const Device& device) {
  return bytes == 0 ? 0 : moving_us(bytes, device);
}
// The last pass reads `read` bytes for each element of C.
inline double last_pass_us(const Cgemm& p, double read, const Device& device) {
  const double of_c = p.beta_at != nullptr || !is_zero(p.beta) ? 16 : 8;
  return assembly_pass_us((read + of_c) * static_cast<double>(p.m) * static_cast<double>(p.n),
                          device);
}
inline double four_passes_us(const Cgemm& p, const Device& device) {
  const FourProducts four(p);
  return assembly_pass_us(2.0 * static_cast<double>(four.a.bytes() + four.b.bytes()), device) +
         last_pass_us(p, 16, device);
}

}  // namespace kw
