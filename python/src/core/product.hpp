// Matrix products of strided arrays with batch dimensions, as numpy.matmul has them, by calls of
// the C interface.
//
// The last two dimensions are the matrix, those before are a batch, in which a length of 1 and
// missing dimensions repeat. A matrix is usable where BLAS can express it: one of its two strides
// is 1 and the other one at least as long as what it steps over. Batches whose entries lie at equal
// distances are one call; where B is one matrix for all of them and the rows of A and C follow each
// other, the whole is one product.
#pragma once

#include <cstdint>
#include <optional>

#include "core/matrix.hpp"
#include "core/pool.hpp"
#include "core/strided.hpp"

namespace kw::python {

struct Product {
  Strided a, b, c;  // [..., m, k], [..., k, n], [..., m, n]; c's batch is the full one
  std::optional<Strided> source;  // what beta multiplies, of c's size; none: c itself
  bool is_complex = false;        // complex64 throughout, without source, bias and activation
  float alpha = 1, beta = 0;
  float alpha_im = 0, beta_im = 0;
  const float* bias = nullptr;  // one element a column of c, or a row
  kwBiasOf_t bias_of = KW_BIAS_OF_COLUMNS;
  kwActivation_t activation = KW_ACTIVATION_NONE;
  kwMath_t math = KW_MATH_FP32;
};

// The size of the product of a and b; throws Failure where they don't fit. A vector a is a row, a
// vector b a column; the result lacks that dimension.
struct ProductSize {
  Strided result;  // sizes alone
  std::int64_t m, n, k;
};
ProductSize product_size(const Strided& a, const Strided& b);

// Brings a and b to at least two dimensions, as product_size has it.
Strided as_rows(const Strided& a);
Strided as_columns(const Strided& b);

// Computes; all operands are expressible.
void multiply(Context& context, const Product& product);

}  // namespace kw::python
