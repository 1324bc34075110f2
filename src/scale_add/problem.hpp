// B[i][j] = a * A[i][j] + b, elementwise, both matrices row-major (see src/api for layouts).
#pragma once

#include <cstdint>

#include "kernel.hpp"

namespace kw {

// One rounding an element (fused multiply-add) on every backend, so all give the same bits.
// scale == 0: A is never read. A and B may be the same memory with the same ld.
struct ScaleAdd {
  std::int64_t rows = 0, cols = 0;
  float scale = 1;
  const float* a = nullptr;
  std::int64_t lda = 0;
  float shift = 0;
  float* b = nullptr;
  std::int64_t ldb = 0;

  double bytes() const {
    return (scale == 0 ? 4.0 : 8.0) * static_cast<double>(rows) * static_cast<double>(cols);
  }
};

}  // namespace kw
