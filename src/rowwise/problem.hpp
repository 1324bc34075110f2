// The one form in which every kernel sees a row-wise operation. src/api checks the caller's
// arguments and turns them into this.
#pragma once

#include <cstdint>

#include "kernel.hpp"
#include "kernelwright/rowwise.hpp"
#include "reduce/problem.hpp"

namespace kw {

const char* to_string(RowwiseOp op);  // src/rowwise/names.cpp
const char* to_string(RowActivation activation);

constexpr bool is_softmax(RowwiseOp op) {
  return op == RowwiseOp::softmax || op == RowwiseOp::log_softmax;
}
constexpr bool is_norm(RowwiseOp op) {
  return op == RowwiseOp::layer_norm || op == RowwiseOp::rms_norm;
}

// Element (i, j) of x is x[i * ldx + j * step_x], i replaced by index[i] where there is an index;
// of y likewise; residual and sum have rows ld apart with elements side by side. Row i adds
// residual row residual_index[i], or i mod residual_rows.
struct Rowwise {
  RowwiseOp op = RowwiseOp::softmax;
  DataType type = DataType::float32;  // of all arrays
  RowActivation activation = RowActivation::none;
  float epsilon = 0;
  std::int64_t rows = 0, cols = 0;
  const void* x = nullptr;
  std::int64_t ldx = 0, step_x = 1;
  const std::int64_t* index = nullptr;
  std::int64_t x_rows = 0;  // within which an index lies
  const void* gamma = nullptr;
  const void* beta = nullptr;
  const void* bias = nullptr;
  const void* residual = nullptr;
  std::int64_t ld_residual = 0, residual_rows = 1;
  const std::int64_t* residual_index = nullptr;
  void* sum = nullptr;
  std::int64_t ld_sum = 0;
  void* y = nullptr;
  std::int64_t ldy = 0, step_y = 1;

  // A norm with gamma or beta.
  bool scales() const { return is_norm(op) && (gamma != nullptr || beta != nullptr); }
  double elements() const { return static_cast<double>(rows) * static_cast<double>(cols); }
  // Of a row's elements, wherever they lie.
  std::int64_t row_bytes() const { return cols * static_cast<std::int64_t>(size_of(type)); }
  // One read of x and of the residual, one write of y and of the sum.
  double bytes() const {
    const double arrays = 2.0 + (residual != nullptr ? 1 : 0) + (sum != nullptr ? 1 : 0);
    return arrays * elements() * static_cast<double>(size_of(type));
  }
};

}  // namespace kw
