// cpu_level3_cblas: level 3 by the machine's CBLAS, with the guarantees that CBLAS implementations
// differ on: no look at C where beta is 0, none at A and B where alpha or k is 0.
#ifdef KW_HAVE_CBLAS
#include <cblas.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/kernels.hpp"
#include "level3/loop.hpp"

namespace kw::cpu {

namespace level3_by_cblas {
namespace {

int to_int(std::int64_t size) { return static_cast<int>(size); }
CBLAS_TRANSPOSE transposed(Op op) { return op == Op::none ? CblasNoTrans : CblasTrans; }
CBLAS_UPLO uplo_of(const Level3& p) {
  return p.triangle == Triangle::lower ? CblasLower : CblasUpper;
}
CBLAS_SIDE side(const Level3& p) { return p.on_left ? CblasLeft : CblasRight; }
CBLAS_DIAG diagonal(const Level3& p) { return p.unit_diagonal ? CblasUnit : CblasNonUnit; }

// The columns of a row of C that the call writes.
struct Columns {
  std::int64_t first, end;
};
Columns written(const Level3& p, std::int64_t row) {
  if (!p.updates_triangle()) return {0, p.n};
  return p.triangle == Triangle::lower ? Columns{0, row + 1} : Columns{row, p.n};
}

void scale_written(const Level3& p, float factor) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    const auto [first, end] = written(p, i);
    float* const row = p.c + i * p.ldc;
    for (std::int64_t j = first; j < end; ++j) row[j] = factor == 0 ? 0 : factor * row[j];
  }
}

// CBLAS has no product of two matrices of which one triangle is wanted: rows of blocks, and of the
// block on the diagonal a copy.
void syrkx(const Level3& p) {
  constexpr std::int64_t block = 256;
  std::vector<float> square(static_cast<std::size_t>(std::min(block, p.m) * std::min(block, p.m)));
  const auto rows_of = [](const float* x, Op op, std::int64_t ld, std::int64_t first) {
    return x + (op == Op::none ? first * ld : first);
  };
  const auto multiply = [&](std::int64_t i, std::int64_t rows, std::int64_t j, std::int64_t columns,
                            float beta, float* c, std::int64_t ldc) {
    cblas_sgemm(CblasRowMajor, transposed(p.op_a), p.op_b == Op::none ? CblasTrans : CblasNoTrans,
                to_int(rows), to_int(columns), to_int(p.k), p.alpha, rows_of(p.a, p.op_a, p.lda, i),
                to_int(p.lda), rows_of(p.b, p.op_b, p.ldb, j), to_int(p.ldb), beta, c, to_int(ldc));
  };
  for (std::int64_t i = 0; i < p.m; i += block) {
    const std::int64_t rows = std::min(block, p.m - i);
    const bool is_lower = p.triangle == Triangle::lower;
    const std::int64_t j = is_lower ? 0 : i + rows, beside = is_lower ? i : p.m - j;
    if (beside > 0) multiply(i, rows, j, beside, p.beta, p.c + i * p.ldc + j, p.ldc);
    multiply(i, rows, i, rows, 0, square.data(), rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto [first, end] = written(p, i + r);
      for (std::int64_t col = std::max(first, i); col < std::min(end, i + rows); ++col) {
        float& c = p.c[(i + r) * p.ldc + col];
        const float product = square[static_cast<std::size_t>(r * rows + col - i)];
        c = p.beta == 0 ? product : product + p.beta * c;
      }
    }
  }
}

void copy_b(const Level3& p) {
  for (std::int64_t i = 0; i < p.m; ++i) std::copy_n(p.b + i * p.ldb, p.n, p.c + i * p.ldc);
}

// Of ints, and with something to read.
void one_call(const Level3& p) {
  const int m = to_int(p.m), n = to_int(p.n), k = to_int(p.k), lda = to_int(p.lda),
            ldb = to_int(p.ldb), ldc = to_int(p.ldc);
  const CBLAS_UPLO uplo = uplo_of(p);
  switch (p.routine) {
    case Routine::syrk:
      return cblas_ssyrk(CblasRowMajor, uplo, transposed(p.op_a), m, k, p.alpha, p.a, lda, p.beta,
                         p.c, ldc);
    case Routine::syrkx: return syrkx(p);
    case Routine::syr2k:
      return cblas_ssyr2k(CblasRowMajor, uplo, transposed(p.op_a), m, k, p.alpha, p.a, lda, p.b,
                          ldb, p.beta, p.c, ldc);
    case Routine::symm:
      return cblas_ssymm(CblasRowMajor, side(p), uplo, m, n, p.alpha, p.a, lda, p.b, ldb, p.beta,
                         p.c, ldc);
    case Routine::trmm:
      if (p.b != p.c) copy_b(p);
      return cblas_strmm(CblasRowMajor, side(p), uplo, transposed(p.op_a), diagonal(p), m, n,
                         p.alpha, p.a, lda, p.c, ldc);
    case Routine::trsm:
      return cblas_strsm(CblasRowMajor, side(p), uplo, transposed(p.op_a), diagonal(p), m, n,
                         p.alpha, p.a, lda, p.c, ldc);
    case Routine::potrf: return;  // cpu_cholesky
  }
}

}  // namespace
}  // namespace level3_by_cblas

bool cpu_level3_cblas_supports(const Level3& p, const Device&) {
  if (p.factors()) return false;
  constexpr std::int64_t largest = std::numeric_limits<int>::max();
  const std::int64_t sizes[] = {p.m, p.n, p.k, p.lda, p.ldb, p.ldc};
  if (*std::max_element(std::begin(sizes), std::end(sizes)) > largest) return false;
  if (p.routine == Routine::syr2k) return p.op_a == p.op_b;
  return p.routine == Routine::syrkx || !p.reads_b() || p.op_b == Op::none;
}

Status cpu_level3_cblas(const Level3& call, const Device&, Workspace, Stream) {
  using namespace level3_by_cblas;
  const Level3 all = level3::with_scalars(call);
  for (std::int64_t entry = 0; entry < all.batch; ++entry) {
    const Level3 p = level3::entry_of(all, entry);
    if (p.m == 0 || p.n == 0) break;
    if (p.alpha == 0 || p.k == 0) {
      scale_written(p, p.has_triangular_a() ? 0 : p.beta);
      continue;
    }
    if (!p.has_triangular_a() && p.beta == 0) scale_written(p, 0);
    one_call(p);
  }
  return Status::success();
}

}  // namespace kw::cpu
#endif
