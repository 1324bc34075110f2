// An update of a triangle as products: of syr2k a second one with A and B exchanged, which adds to
// the first.
#pragma once

#include <utility>

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

}  // namespace KW_TARGET
