// A matrix as BLAS can express it.
#pragma once

#include <cstdint>

#include "core/strided.hpp"
#include "kernelwright/kernelwright.h"

namespace kw::python {

// In row-major layout, stored transposed where `op` says so.
struct Matrix {
  kwOp_t op = KW_OP_NONE;
  std::int64_t ld = 1;
};

// rows x cols elements at these strides; false where BLAS cannot.
bool express(std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride,
             Matrix* matrix);

// The last two dimensions of an array; refuses those that BLAS cannot express.
Matrix expressed(const Strided& array, const char* name);

// Whether BLAS can express the matrices of this array.
bool is_expressible(const Strided& array);

}  // namespace kw::python
