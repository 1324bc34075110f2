// The blocks on the diagonal of a complex triangular system, solved by substitution, as
// level3/solve_block.hpp has real ones: a block of threads has some lines of the right-hand side in
// shared memory, and the triangle comes past them, 8 columns after 8 columns. One warp solves 8
// unknowns while the others add what the 8 before take to the sums of all that follow.
#pragma once

#include <cstdint>

#include "ctrsm/problem.hpp"
#include "gpu/gpu.hpp"
#include "level3/own_lines_plan.hpp"

namespace KW_TARGET {

// Unknowns of a block, from which a call chooses (blocks.cu).
constexpr int complex_sizes[] = {256, 128};

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

// A line a thread: lines.cu. Whether that is quicker, and its time.
bool complex_solves_by_lines(const ComplexBlock& block, const Device& device);
double complex_lines_us(const ComplexBlock& block, const Device& device);
Status launch_complex_lines(const ComplexBlock& block, const Device& device, Stream stream);

// A warp its own lines: warps.cu.
Status launch_complex_warps(const ComplexBlock& block, const OwnLines<2>& with,
                            const Device& device, Stream stream);

// Few lines, one or two a cluster: chain.cu.
Status launch_complex_chain(const ComplexBlock& block, int lines_of_cluster, Stream stream);

// The time of a launch, predicted.
double complex_block_us(const ComplexBlock& block, const Device& device);
Status launch_complex_block(const ComplexBlock& block, const Device& device, Stream stream);

// Zeros where alpha is 0: where that lies in the device's memory, the kernel finds out.
Status clear_complex_where_zero(const Ctrsm& p, Stream stream);

}  // namespace KW_TARGET
