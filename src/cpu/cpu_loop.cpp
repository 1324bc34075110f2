// cpu_loop: the product as plain loops, for machines without a CBLAS and as the simplest reference.
//
// A few rows of C are built at a time, a stretch of columns wide, from pieces of B copied into a
// small buffer (where a transposed B becomes plain): the sums and the piece stay in the first-level
// caches, the innermost loop runs along a row and is one that the compiler turns into vectors. Each
// element is summed in ascending k, and after each `chain` of k its sum goes to a total, so that
// rounding errors stay those of short sums. Threads share the entries of a batch.
#include <algorithm>

#include "cpu/each_entry.hpp"
#include "cpu/kernels.hpp"

namespace kw::cpu {

namespace {

constexpr std::int64_t rows_at_once = 16, stretch = 256, depth = 32, chain = 256;
static_assert(chain % depth == 0);
using Row = float[stretch];

// The part of a product at hand: rows i.., columns j.. of C, and k...
struct Piece {
  std::int64_t i, j, k;
  std::int64_t rows, cols, depth;
};

void copy_b(const Sgemm& p, const Piece& piece, Row* b) {
  for (std::int64_t l = 0; l < piece.depth; ++l) {
    for (std::int64_t j = 0; j < piece.cols; ++j) {
      const std::int64_t row = piece.k + l, column = piece.j + j;
      b[l][j] = p.b[p.op_b == Op::none ? row * p.ldb + column : column * p.ldb + row];
    }
  }
}

void add_products(const Sgemm& p, const Piece& piece, const Row* b, Row* sums) {
  for (std::int64_t i = 0; i < piece.rows; ++i) {
    for (std::int64_t l = 0; l < piece.depth; ++l) {
      const std::int64_t row = piece.i + i, column = piece.k + l;
      const float a = p.a[p.op_a == Op::none ? row * p.lda + column : column * p.lda + row];
      for (std::int64_t j = 0; j < piece.cols; ++j) sums[i][j] += a * b[l][j];
    }
  }
}

void add_to_totals(const Piece& piece, Row* sums, Row* totals) {
  for (std::int64_t i = 0; i < piece.rows; ++i) {
    for (std::int64_t j = 0; j < piece.cols; ++j) {
      totals[i][j] += sums[i][j];
      sums[i][j] = 0;
    }
  }
}

void store(const Sgemm& p, const Piece& piece, const Row* sums) {
  for (std::int64_t i = 0; i < piece.rows; ++i) {
    float* c = p.c + (piece.i + i) * p.ldc + piece.j;
    for (std::int64_t j = 0; j < piece.cols; ++j) {
      c[j] = p.beta == 0 ? p.alpha * sums[i][j] : p.alpha * sums[i][j] + p.beta * c[j];
    }
  }
}

void compute(const Sgemm& p, Piece piece) {
  Row b[depth], sums[rows_at_once] = {}, totals[rows_at_once] = {};
  for (piece.k = 0; piece.k < p.k; piece.k += depth) {
    piece.depth = std::min(depth, p.k - piece.k);
    copy_b(p, piece, b);
    add_products(p, piece, b, sums);
    const std::int64_t done = piece.k + piece.depth;
    if (done % chain == 0 || done == p.k) add_to_totals(piece, sums, totals);
  }
  store(p, piece, totals);
}

void one_product(const Sgemm& p) {
  if (p.loop_k() == 0) return scale_matrix(p.beta, p.c, p.m, p.n, p.ldc);
  for (std::int64_t i = 0; i < p.m; i += rows_at_once) {
    for (std::int64_t j = 0; j < p.n; j += stretch) {
      compute(p, {i, j, 0, std::min(rows_at_once, p.m - i), std::min(stretch, p.n - j), 0});
    }
  }
}

}  // namespace

void scale_matrix(float beta, float* c, std::int64_t rows, std::int64_t cols, std::int64_t ldc) {
  if (beta == 1) return;
  for (std::int64_t i = 0; i < rows; ++i) {
    float* row = c + i * ldc;
    if (beta == 0) {
      std::fill_n(row, cols, 0.0f);
    } else {
      for (std::int64_t j = 0; j < cols; ++j) row[j] *= beta;
    }
  }
}

Status cpu_loop(const Sgemm& problem, const Device&, Workspace, Stream) {
  each_entry(problem, true, one_product);
  return Status::success();
}

}  // namespace kw::cpu
