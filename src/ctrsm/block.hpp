// The blocks on the diagonal of a complex triangular system, solved by substitution, as
// level3/solve_block.hpp has real ones: a block of threads has some lines of the right-hand side in
// shared memory, and the triangle comes past them, 8 columns after 8 columns. One warp solves 8
// unknowns while the others add what the 8 before take to the sums of all that follow.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arithmetic.hpp"
#include "ctrsm/problem.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET {

constexpr int complex_at_once = 8;
// Lines of a block of threads: the fewer, the more blocks share the work and the less each does.
constexpr int complex_lines[] = {32, 16, 8};
constexpr int complex_size = 128;  // unknowns of a block
// Panels of the triangle, and of the right-hand side, in shared memory: two are used, that of the
// unknowns which are solved and the one before, and two are on their way.
constexpr int complex_panels = 4;

// The first `size` unknowns from `a` and `x` on: a[i * a_row + j * a_col], x[i * x_step + line *
// line_step]; one step of each is 1 or -1. alpha multiplies the right-hand side. `conj`: the
// triangle is the conjugate of what is stored.
struct ComplexBlock {
  const Complex* a;
  std::int64_t a_row, a_col;
  Complex* x;
  std::int64_t x_step, line_step;
  int size;
  std::int64_t lines;
  bool unit_diagonal, conj;
  Complex alpha;
  const Complex* alpha_at;
  std::int64_t batch, stride_a, stride_x;
};

constexpr int complex_rows(int size) { return ceil_div(size, complex_at_once) * complex_at_once; }
// With two elements more, neighbours along the other direction lie in other banks.
constexpr int complex_pitch(int elements) { return elements + 2; }
constexpr std::size_t complex_shared_bytes(int size, int lines) {
  const int rows = complex_rows(size);
  const int of_panel = complex_at_once * (complex_pitch(rows) + complex_pitch(lines));
  return sizeof(Complex) * static_cast<std::size_t>(rows * complex_pitch(lines) +
                                                    complex_panels * of_panel + 2 * rows);
}

// How many lines a block of threads takes of a call.
int complex_lines_for(std::int64_t lines_of_all, const Device& device);
// The time of a launch, predicted.
double complex_block_us(int size, std::int64_t lines_of_all, const Device& device);

Status launch_complex_block(const ComplexBlock& block, const Device& device, Stream stream);

// Up to so many unknowns, a line a thread: lines.cu.
constexpr int complex_lines_size = 8;
Status launch_complex_lines(const ComplexBlock& block, Stream stream);

// Zeros where alpha is 0: where that lies in the device's memory, the kernel finds out.
Status clear_complex_where_zero(const Ctrsm& p, Stream stream);

}  // namespace KW_TARGET
