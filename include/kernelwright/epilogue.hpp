// What a matrix product does with an element before it stores it, at no cost of a pass over C:
//
//   C[i][j] = activation(alpha * (op(A) op(B))[i][j] + beta * S[i][j] + bias[i or j])
//
// where S is C as it was, or another matrix, `source`.
//
// Bias       One float for each row or each column of C, dense, in the device's memory; of a batch
//            one vector for all entries, or one for each.
// Activation relu is max(x, 0), and NaN where x is. gelu_tanh is x / (1 + exp(-2 y)) with
//            y = sqrt(2 / pi) (x + 0.044715 x^3), which is x / 2 (1 + tanh(y)); gelu_erf is
//            x / 2 (1 + erf(x / sqrt(2))). Source: Hendrycks and Gimpel 2016. Both err by no more
//            than 2^-21 |x| beyond x's own error.
// Source     In C's layout and C's size, not transposed; C itself or apart from it. Where beta is 0
//            it is not read.
// Errors     kw::Error; argument() is "options.epilogue.bias", ".bias_of", ".stride_bias",
//            ".activation", ".source" or ".stride_source".
#pragma once

#include <cstdint>

#include "kernelwright/matrix.hpp"

namespace kw {

/// What a bias has one element for. The values are those of kwBiasOf_t and never change.
enum class BiasOf : int {
  rows = 0,     ///< bias[i]: as many elements as C has rows
  columns = 1,  ///< bias[j]: as many elements as C has columns
};

/// The values are those of kwActivation_t and never change.
enum class Activation : int { none = 0, relu = 1, gelu_tanh = 2, gelu_erf = 3 };

struct Epilogue {
  const float* bias = nullptr;  ///< null: none is added
  BiasOf bias_of = BiasOf::columns;
  std::int64_t stride_bias = 0;  ///< floats from an entry's vector to the next one's; 0: all share
  Activation activation = Activation::none;
  MatrixView<const float> source = {};  ///< what beta multiplies; null data: C itself
  std::int64_t stride_source = 0;       ///< of a batch by strides; by pointers there is no source
};

}  // namespace kw
