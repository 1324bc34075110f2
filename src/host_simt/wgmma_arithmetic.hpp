// What one warp computes of one wgmma, bit by bit as Hopper does (docs: wgmma.hpp in src/device).
#pragma once

#include "host_simt/execution.hpp"

namespace kw::host_simt {

inline constexpr int wgmma_depth = 16;      // elements along k of one instruction
inline constexpr int wgmma_warp_rows = 16;  // of the product's 64, a warp's

// acc[16][n] (+)= rows first_row .. first_row + 15 of A * B[n][16]^T; n is a multiple of 16, 192 at
// most. Of finite numbers: products are exact; they and the accumulator are aligned to the largest
// exponent among them (a product's is the sum of its factors', and 2^-126 the least), cut to 25
// fraction bits below that, summed, and the sum is cut to FP32. What overflows becomes Inf, and
// every NaN is 0x7FFFFFFF.
void add_wgmma_rows(bool bf16, int n, const WgmmaOperand& a, int first_row, const WgmmaOperand& b,
                    bool add, float* acc);

}  // namespace kw::host_simt
