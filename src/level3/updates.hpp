// An update of a triangle as products: of syr2k a second one with A and B exchanged, which adds to
// the first; or one with twice the k, of copies of A and B behind each other and of B and A. Of
// syrk one of A turned over.
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

// Of syrk whose A lies along k: of a copy of A that lies across it, whose stages nobody turns.
struct TurnedUpdate {
  Sgemm product;
  std::size_t bytes;  // of the copy

  static bool has(const Level3& p) { return p.routine == Routine::syrk && p.op_a == Op::none; }

  // Nowhere yet; `data` is the copy's.
  explicit TurnedUpdate(const Level3& p, void* data = nullptr)
      : product(Updates(p).product[0]), bytes(bytes_of_copy(p.k, p.m)) {
    product.op_a = Op::transpose, product.op_b = Op::none;
    product.lda = product.ldb = ld_of_copy(p.m);
    product.a = product.b = static_cast<float*>(data);
  }
  double copy_us() const {
    constexpr double launch_us = 4, bytes_per_us = 3e6;
    return launch_us + 2 * static_cast<double>(bytes) / bytes_per_us;
  }
  Status copy(const Level3& p, void* data, Stream stream) const {
    return copy_turned(p.a, p.lda, static_cast<float*>(data), product.lda, p.m, p.k, stream);
  }
};

}  // namespace KW_TARGET
