// Copies of operands in the workspace, in the form that the product's kernels take: a triangle as a
// whole matrix, and a matrix that the call is about to overwrite. Bound by memory; rows of a copy
// are multiples of 16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "arithmetic.hpp"
#include "gpu/gpu.hpp"
#include "level3/problem.hpp"
#include "workspace_parts.hpp"

namespace KW_TARGET {

// What lies beside a triangle: its mirror image, or zeros.
enum class BesideTriangle { mirrored, zeros };

struct TriangleCopy {
  const float* from;
  std::int64_t ld_from;
  float* to;
  std::int64_t ld_to, size;
  Triangle triangle;
  bool unit_diagonal;
  BesideTriangle beside;
  // Zeros: only so far beside the diagonal, at least, since nobody reads the others.
  std::int64_t reach = std::numeric_limits<std::int64_t>::max();
  // In the device's memory: where it is 0, nothing is copied.
  const unsigned* only_if = nullptr;
};
// The copy of a triangle as a whole matrix, stored as the triangle is.
Status copy_triangle(const TriangleCopy& copy, Stream stream);
// Of the same the squares on the diagonal alone, diagonal_side lines each, one after the other:
// `to` has diagonal_side floats a line.
Status copy_diagonal(const TriangleCopy& copy, Stream stream);
constexpr std::size_t bytes_of_diagonal(std::int64_t size) {
  return static_cast<std::size_t>(ceil_div(size, std::int64_t{64}) * 64 * diagonal_side) *
         sizeof(float);
}

// to[i][j] = from[i][j].
Status copy_matrix(const float* from, std::int64_t ld_from, float* to, std::int64_t ld_to,
                   std::int64_t rows, std::int64_t cols, Stream stream);

// to[j][i] = from[i][j].
Status copy_turned(const float* from, std::int64_t ld_from, float* to, std::int64_t ld_to,
                   std::int64_t rows, std::int64_t cols, Stream stream);

// Two matrices of one size behind each other, and the other way round, along k: where `along_rows`
// side by side, else one below the other. `second`: from the first one's place to the second's.
struct JoinedCopy {
  const float *a, *b;
  std::int64_t lda, ldb;
  float *ab, *ba;
  std::int64_t ld, second;
  std::int64_t rows, cols;  // of one
};
Status copy_joined(const JoinedCopy& copy, Stream stream);

// Zeros where alpha is 0: where that lies in the device's memory, the kernel finds out.
Status clear_where_zero(const Level3& p, Stream stream);

constexpr std::int64_t ld_of_copy(std::int64_t cols) { return ceil_div(cols, 4) * std::int64_t{4}; }
constexpr std::size_t bytes_of_copy(std::int64_t rows, std::int64_t cols) {
  return whole_part(static_cast<std::size_t>(rows * ld_of_copy(cols)) * sizeof(float));
}

// The workspace behind so many bytes.
inline Workspace behind(Workspace workspace, std::size_t bytes) {
  return {static_cast<char*>(workspace.data) + bytes, workspace.bytes - bytes, workspace.tickets};
}

}  // namespace KW_TARGET
