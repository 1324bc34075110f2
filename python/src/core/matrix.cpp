// Strides become an op and a leading dimension.
#include "core/matrix.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace kw::python {

bool express(std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t col_stride,
             Matrix* matrix) {
  // A single row or column has one stride that counts.
  const bool one_row = rows <= 1, one_col = cols <= 1;
  if ((col_stride == 1 || one_col) && (one_row || row_stride >= std::max<std::int64_t>(cols, 1))) {
    *matrix = {KW_OP_NONE, one_row ? std::max<std::int64_t>(cols, 1) : row_stride};
    return true;
  }
  if ((row_stride == 1 || one_row) && (one_col || col_stride >= std::max<std::int64_t>(rows, 1))) {
    *matrix = {KW_OP_TRANSPOSE, one_col ? std::max<std::int64_t>(rows, 1) : col_stride};
    return true;
  }
  return rows == 0 || cols == 0;  // which nobody reads
}

bool is_expressible(const Strided& array) {
  const int row = array.dimensions - 2, col = row + 1;
  Matrix matrix;
  return express(array.size[row], array.size[col], array.stride[row], array.stride[col], &matrix);
}

Matrix expressed(const Strided& array, const char* name) {
  const int row = array.dimensions - 2, col = row + 1;
  Matrix matrix;
  if (!express(array.size[row], array.size[col], array.stride[row], array.stride[col], &matrix)) {
    refuse(name, " has strides of ", array.stride[row], " and ", array.stride[col],
           " elements in its last two dimensions: one must be 1 and the other at least as long as "
           "a row or column");
  }
  return matrix;
}

}  // namespace kw::python
