// The blocks on the diagonal of a triangular system, solved by substitution. A block of threads has
// some lines of the right-hand side in shared memory, and the triangle comes past them, 16 columns
// after 16 columns:
//
//   16 unknowns are prepared  by all threads: what the 16 before take from them, and what is left
//                             of the right-hand side after that and all sums
//   and solved                a line by one thread of the first warp, in registers, from the square
//                             on the diagonal; meanwhile the other warps add what the 16 before
//                             take from all that follow to their sums, and start the next copies
//
// Left and right sides, both triangles and transposes are steps in memory (SolveBlock): the system
// is a lower one, from the first unknown to the last, always.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arithmetic.hpp"
#include "gpu/gpu.hpp"
#include "level3/own_lines_plan.hpp"
#include "level3/problem.hpp"

namespace KW_TARGET {

constexpr int solve_at_once = 16;
// Lines of a block of threads at most. The fewer, the more blocks share the work and the less each
// does.
constexpr int solve_most_lines = 32;
// Unknowns of a block, from which a call chooses (triangle_solve.cu).
constexpr int solve_sizes[] = {256, 128};
// Panels of the triangle, and of the right-hand side, in shared memory: two are used, that of the
// unknowns which are solved and the one before, and two are on their way.
constexpr int solve_panels = 4;

// The first `size` unknowns from `a` and `x` on: a[i * a_row + j * a_col], x[i * x_step + line *
// line_step]; one step of each is 1 or -1. alpha multiplies the right-hand side.
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

constexpr int solve_rows(int size) { return ceil_div(size, solve_at_once) * solve_at_once; }
// With four floats more, neighbours along the other direction lie in other banks.
constexpr int solve_pitch(int floats) { return floats + 4; }
constexpr std::size_t solve_shared_bytes(int size, int lines) {
  const int rows = solve_rows(size);
  const int of_panel = solve_at_once * (solve_pitch(rows) + solve_pitch(lines));
  return sizeof(float) * static_cast<std::size_t>(rows * solve_pitch(lines) +
                                                  solve_panels * of_panel + 2 * solve_at_once);
}

Status launch_solve_block(const SolveBlock& block, const Device& device, Stream stream);

// Few unknowns, a line a thread: solve_lines.cu. Up to so many; as if there were a multiple of
// four, or the least, up to which nothing else is as quick.
constexpr int solve_lines_most = 32, solve_lines_least = 8;
constexpr int solve_lines_size(int size) {
  return size <= solve_lines_least ? solve_lines_least : ceil_div(size, 4) * 4;
}
Status launch_solve_lines(const SolveBlock& block, Stream stream);

// A warp its own lines: solve_warps.cu.
Status launch_solve_warps(const SolveBlock& block, const OwnLines<1>& with, const Device& device,
                          Stream stream);

// An unknown a lane, up to so many, and 2 or 4 lines a warp: solve_lanes.cu.
constexpr int solve_lanes_most = 128;
constexpr int solve_lanes_warps = 8;  // of a block
Status launch_solve_lanes(const SolveBlock& block, int lines_of_warp, Stream stream);

// Few lines, of up to so many unknowns: solve_chain.cu. Whether that is possible, and its time.
constexpr int solve_chain_size = 2048;
bool solves_by_chain(int size, std::int64_t lines, std::int64_t batch, const Device& device);
double solve_chain_us(int size, std::int64_t lines);
Status launch_solve_chain(const SolveBlock& block, Stream stream);

}  // namespace KW_TARGET
