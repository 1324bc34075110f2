// The blocks on the diagonal of a triangular system, solved by substitution: a block of threads has
// 128 lines of the right-hand side in shared memory, a thread a line each, and the triangle beside
// them, column after column.
//
//   16 unknowns of a line at a time   first the products with all that are known (a dot product
//   each,
//                                     16 sums in registers), then those among themselves
//
// Left and right sides, both triangles and transposes are steps in memory (SolveBlock): the system
// is a lower one, from the first unknown to the last, always.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/gpu.hpp"
#include "level3/problem.hpp"

namespace KW_TARGET {

constexpr int solve_size = 128;   // unknowns of a block
constexpr int solve_lines = 128;  // of a block of threads
constexpr int solve_at_once = 16;

// The first `size` unknowns from `a` and `x` on: a[i * a_row + j * a_col], x[i * x_step + line *
// line_step]. alpha multiplies the right-hand side.
struct SolveBlock {
  const float* a;
  std::int64_t a_row, a_col;
  float* x;
  std::int64_t x_step, line_step;
  int size;
  std::int64_t lines;
  bool unit_diagonal;
  float alpha;
  const float* alpha_at;
  std::int64_t batch, stride_a, stride_x;
};

// With the padding, copies along a row of A go to 8 banks and not to one.
constexpr int solve_pitch = solve_size + 4;
struct SolveShared {
  float a[solve_size][solve_pitch];  // [column][row], below the diagonal; on it the reciprocals
  float x[solve_size][solve_lines];  // [unknown][line]
};

Status launch_solve_block(const SolveBlock& block, Stream stream);

}  // namespace KW_TARGET
