// The blocks on the diagonal of a Cholesky factorisation: one block of threads has the triangle in
// shared memory, column after column, and factors 16 columns at a time:
//
//   16 x 16 on the diagonal   a warp, a lane a row in registers
//   the rows below            a thread a row, by substitution
//   what is right of them     all threads, squares of 4 x 4 sums
#pragma once

#include <cstddef>

#include "gpu/gpu.hpp"
#include "level3/cholesky_steps.hpp"

namespace KW_TARGET {

constexpr int cholesky_at_once = 16;
constexpr int cholesky_size = 128;  // of a block

// With the padding, a row of the triangle is copied to 8 banks and not to one.
constexpr int cholesky_pitch = cholesky_size + 4;
struct CholeskyShared {
  float a[cholesky_size][cholesky_pitch];  // [column][row]
  float reciprocals[cholesky_at_once];     // of the diagonal
  int failed;                              // the first pivot that is not positive; or -1
};

// The time of a launch, predicted.
constexpr double cholesky_block_us = 15;

// Writes info: 0 where the block is the matrix's first, the number of a pivot where that is not
// positive. Where info says so already, the block is left as it is.
Status launch_cholesky_block(const level3::DiagonalBlock& block, Stream stream);

}  // namespace KW_TARGET
