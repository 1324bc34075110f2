// Row-wise operations along one dimension of strided arrays, by calls of the C interface.
#pragma once

#include <cstdint>

#include "core/pool.hpp"
#include "core/strided.hpp"

namespace kw::python {

struct RowwiseOf {
  kwRowwiseOp_t op = KW_ROWWISE_SOFTMAX;
  kwDataType_t type = KW_FLOAT32;
  int axis = 0;                 // of x
  Strided x, y, residual;       // of the same sizes; residual's data may be null
  const void* gamma = nullptr;  // dense vectors of the axis' length, or null
  const void* beta = nullptr;
  const void* bias = nullptr;
  float epsilon = 0;
};

// Whether calls can walk these arrays as they lie in memory.
bool is_walkable(const RowwiseOf& call);

// Computes what is walkable.
void rowwise(Context& context, const RowwiseOf& call);

}  // namespace kw::python
