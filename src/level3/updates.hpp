// An update of a triangle as products: of syr2k a second one with A and B exchanged, which adds to
// the first; or one with twice the k, of copies of A and B behind each other and of B and A.
#pragma once

#include <utility>

#include "level3/copies.hpp"
#include "level3/products.hpp"

namespace KW_TARGET {

struct Updates {
  Sgemm product[2];
  int count;

  explicit Updates(const Level3& p) : count(p.routine == Routine::syr2k ? 2 : 1) {
    Sgemm& first = product[0];
    first.m = p.m;
    first.n = p.m;
    first.k = p.k;
    first.op_a = p.op_a;
    first.alpha = p.alpha;
    first.alpha_at = p.alpha_at;
    first.a = p.a;
    first.lda = p.lda;
    const bool has_b = p.reads_b();
    first.op_b = flipped(has_b ? p.op_b : p.op_a);
    first.b = has_b ? p.b : p.a;
    first.ldb = has_b ? p.ldb : p.lda;
    first.beta = p.beta;
    first.beta_at = p.beta_at;
    first.c = p.c;
    first.ldc = p.ldc;
    first.triangle = p.triangle;
    if (count == 1) return;
    Sgemm& second = product[1] = first;
    std::swap(second.a, second.b);
    std::swap(second.lda, second.ldb);
    second.op_a = flipped(first.op_b);
    second.op_b = flipped(first.op_a);
    second.beta = 1;
    second.beta_at = nullptr;
  }
};

// Of syr2k whose A and B are stored alike.
struct JoinedUpdate {
  Sgemm product;
  std::size_t bytes_of_one;  // of the two copies, behind each other in the workspace
  JoinedCopy copy;

  static bool has(const Level3& p) { return p.routine == Routine::syr2k && p.op_a == p.op_b; }

  // Nowhere yet; `data` is the copies'.
  explicit JoinedUpdate(const Level3& p, void* data = nullptr) : product(Updates(p).product[0]) {
    const bool by_rows = p.op_a == Op::none;  // a row has all of k
    const std::int64_t rows = by_rows ? p.m : 2 * p.k, cols = by_rows ? 2 * p.k : p.m;
    const std::int64_t ld = ld_of_copy(cols);
    bytes_of_one = bytes_of_copy(rows, cols);
    auto* const ab = static_cast<float*>(data);
    float* const ba = ab == nullptr ? nullptr : ab + bytes_of_one / sizeof(float);
    copy = {.a = p.a,
            .b = p.b,
            .lda = p.lda,
            .ldb = p.ldb,
            .ab = ab,
            .ba = ba,
            .ld = ld,
            .second = by_rows ? p.k : p.k * ld,
            .rows = by_rows ? p.m : p.k,
            .cols = by_rows ? p.k : p.m};
    product.k = 2 * p.k;
    product.a = ab;
    product.b = ba;
    product.lda = product.ldb = ld;
  }
};

// Of a long k that A and B lie along: of copies that lie across it, whose stages nobody turns. Of
// syrk one copy is both.
struct TurnedUpdate {
  Sgemm product;
  std::size_t bytes_of_one;  // of the copies, behind each other in the workspace
  int copies;

  static bool has(const Level3& p) {
    return p.routine != Routine::syr2k && p.op_a == Op::none &&
           (!p.reads_b() || p.op_b == Op::none);
  }

  // Nowhere yet; `data` is the copies'.
  explicit TurnedUpdate(const Level3& p, void* data = nullptr)
      : product(Updates(p).product[0]),
        bytes_of_one(bytes_of_copy(p.k, p.m)),
        copies(p.reads_b() ? 2 : 1) {
    auto* const first = static_cast<float*>(data);
    product.op_a = Op::transpose, product.op_b = Op::none;
    product.lda = product.ldb = ld_of_copy(p.m);
    product.a = first;
    product.b = first == nullptr || copies == 1 ? first : first + bytes_of_one / sizeof(float);
  }
  std::size_t bytes() const { return static_cast<std::size_t>(copies) * bytes_of_one; }
  double copy_us() const {
    constexpr double launch_us = 4, bytes_per_us = 3e6;
    return copies * (launch_us + 2 * static_cast<double>(bytes_of_one) / bytes_per_us);
  }
  Status copy(const Level3& p, float* data, Stream stream) const {
    const Status copied = copy_turned(p.a, p.lda, data, product.lda, p.m, p.k, stream);
    if (!copied.ok() || copies == 1) return copied;
    return copy_turned(p.b, p.ldb, data + bytes_of_one / sizeof(float), product.ldb, p.m, p.k,
                       stream);
  }
};

}  // namespace KW_TARGET
