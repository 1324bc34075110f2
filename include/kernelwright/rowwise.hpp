// Row-wise operations: each row of a matrix to a row of another, and the look-up of rows by index.
//
// With   v[j] = x[j] + bias[j] + residual[j]        (what is null adds nothing)
//
//   softmax      y[j] = exp(v[j] - max v) / sum_i exp(v[i] - max v)
//   log_softmax  y[j] = v[j] - max v - log(sum_i exp(v[i] - max v))
//   layer_norm   y[j] = (v[j] - mean v) / sqrt(variance v + epsilon) * gamma[j] + beta[j]
//   rms_norm     y[j] = v[j] / sqrt(mean v^2 + epsilon) * gamma[j] + beta[j]
//   map          y[j] = activation(v[j])
//
// Shapes     Any number of rows of 0 to 2^31 - 1 elements, `ld` elements from one to the next,
// `step`
//            from an element to the next one; rows side by side in memory (step 1) are fast, others
//            are right. The variance is that of the population. x, bias, residual, gamma, beta, sum
//            and y are of one type: float32, float16 or bfloat16, in the memory of the context's
//            device.
// Gather     With `index` row i is x's row index[i]: an embedding is `map` with an index, its
//            positions are the residual. An index outside of x makes its row NaN, as only the
//            device can read it.
// In place   y, and sum, may be x or residual itself, element on element and without an index;
//            else what is written shares no element with anything that is read or written.
// Arithmetic Of every type in float32. v is rounded after each addition, in the order above. Sums
//            of exponentials and squares go on in double from eight elements on, of 16-bit types
//            within a team's registers in float32, some dozen in a chain; the mean is corrected by
//            the sum of the differences to it, squares are those of the differences, and E[v^2] -
//            E[v]^2 only of 16-bit types where E[v]^2 is at most a quarter of the variance.
//            Errors for the v that there is, in u = 2^-24 and before y is rounded to its type, with
//            d = max v - v[j] and z what gamma multiplies:
//              softmax      (8 + 2 d) u of y[j], and what is below 2^-126 may become zero
//              log_softmax  (8 + 2 d + 2 log(sum)) u
//              norms        8 u of |gamma[j]| (1 + |z[j]|) + |beta[j]|
//              map          8 u of |v[j]|
//            norms want |v| < 2^60: where squares exceed float32 the result is NaN or zero.
// NaN, Inf   As PyTorch has it: a NaN or +infinity in a row makes the whole row of a softmax NaN,
// as
//            does a row of nothing but -infinity; -infinity among numbers gives 0 (log: -infinity).
//            A norm of a row with a NaN is NaN throughout, layer_norm's of one with an infinity
//            too; rms_norm's is then NaN where the infinity is and 0 (beta) elsewhere.
// Same bits  The same call on the same device gives the same bits. Other devices, strides, numbers
//            of rows and alignments may round otherwise, within the errors above.
// Errors     kw::Error, as context.hpp has it. argument() is "op", "x", "x.ld", "x.type" ..., "y",
//            "y.rows" ..., or the field of the options ("options.gamma").
// Time       Asynchronous on the context's stream, capturable in a graph. One launch; the data is
//            read once where a row fits the registers of a block (9216 elements) or, on Hopper, the
//            registers or the shared memory of a cluster (1.6 MiB where nothing is added), else
//            twice, the second time from the cache where the device's holds some dozen MiB.
// Sources    Online normaliser: Milakov and Gimelshein 2018. Merged variances: Chan, Golub and
//            LeVeque 1983.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernelwright/context.hpp"
#include "kernelwright/export.h"
#include "kernelwright/matrix.hpp"
#include "kernelwright/reduce.hpp"

namespace kw {

/// The values are those of kwRowwiseOp_t in kernelwright.h and never change.
enum class RowwiseOp : int { softmax = 0, log_softmax = 1, layer_norm = 2, rms_norm = 3, map = 4 };

/// Of `map`. gelu_tanh and gelu_erf are epilogue.hpp's; silu is v / (1 + exp(-v)). The values are
/// those of kwRowActivation_t and never change.
enum class RowActivation : int { none = 0, relu = 1, gelu_tanh = 2, gelu_erf = 3, silu = 4 };

/// Element (i, j) is at data[i * ld + j * step].
struct RowsView {
  const void* data = nullptr;
  DataType type = DataType::float32;
  std::int64_t rows = 0, cols = 0;
  std::int64_t ld = 0, step = 1;
};

/// What is written; as RowsView.
struct RowsOutput {
  void* data = nullptr;
  DataType type = DataType::float32;
  std::int64_t rows = 0, cols = 0;
  std::int64_t ld = 0, step = 1;
};

/// The rows of a dense matrix.
template <class T>
RowsView rows_view(const T* data, std::int64_t rows, std::int64_t cols) {
  return {data, DataTypeOf<T>::value, rows, cols, cols, 1};
}
template <class T>
RowsOutput rows_output(T* data, std::int64_t rows, std::int64_t cols) {
  return {data, DataTypeOf<T>::value, rows, cols, cols, 1};
}

/// The rows of op(A).
template <class T>
RowsView rows_view(MatrixView<T> a) {
  const bool along = (a.layout == Layout::row_major) == (a.op == Op::none);
  return {a.data,           DataTypeOf<std::remove_const_t<T>>::value,
          a.op_rows(),      a.op_cols(),
          along ? a.ld : 1, along ? 1 : a.ld};
}

/// What is null or 0 is left out. Vectors have a row's number of elements, dense.
struct RowwiseOptions {
  const void* gamma = nullptr;                     ///< of norms
  const void* beta = nullptr;                      ///< of norms
  float epsilon = 1e-5f;                           ///< of norms, 0 or more
  RowActivation activation = RowActivation::none;  ///< of map
  const void* bias = nullptr;
  const void* residual = nullptr;
  std::int64_t ld_residual = 0;    ///< elements from row to row; 0: dense
  std::int64_t residual_rows = 0;  ///< row i adds residual row i mod this; 0: as many as y has
  const std::int64_t* residual_index = nullptr;  ///< row i adds residual row residual_index[i]
  void* sum = nullptr;                           ///< v itself is written there, as many rows as y
  std::int64_t ld_sum = 0;                       ///< 0: dense
  const std::int64_t* index = nullptr;           ///< row i is x's row index[i]; y.rows of them
};

/// y = op of each row of x, on the context's stream. y has x's columns and, without an index, x's
/// rows. Pointers are multiples of their elements' size. Where there is nothing to do, null is
/// fine.
KW_API void rowwise(Context& context, RowwiseOp op, const RowsView& x, const RowsOutput& y,
                    const RowwiseOptions& options = {});

/// Workspace that the same call takes. Looks at no pointer but for null and alignment.
KW_API std::size_t rowwise_workspace_bytes(const Context& context, RowwiseOp op, const RowsView& x,
                                           const RowsOutput& y, const RowwiseOptions& options = {});

inline void softmax(Context& context, const RowsView& x, const RowsOutput& y) {
  rowwise(context, RowwiseOp::softmax, x, y);
}
inline void log_softmax(Context& context, const RowsView& x, const RowsOutput& y) {
  rowwise(context, RowwiseOp::log_softmax, x, y);
}
/// gamma and beta have x's type; either may be null.
inline void layer_norm(Context& context, const RowsView& x, const void* gamma, const void* beta,
                       const RowsOutput& y, float epsilon = 1e-5f) {
  RowwiseOptions options;
  options.gamma = gamma;
  options.beta = beta;
  options.epsilon = epsilon;
  rowwise(context, RowwiseOp::layer_norm, x, y, options);
}
inline void rms_norm(Context& context, const RowsView& x, const void* gamma, const RowsOutput& y,
                     float epsilon = 1e-5f) {
  RowwiseOptions options;
  options.gamma = gamma;
  options.epsilon = epsilon;
  rowwise(context, RowwiseOp::rms_norm, x, y, options);
}
/// y[i] = table[tokens[i]] + positions[position_of[i]]; without `position_of` row i has position i
/// mod `period` (0: i). `tokens` and `position_of` have y.rows entries in device memory.
inline void embedding(Context& context, const RowsView& table, const std::int64_t* tokens,
                      const RowsOutput& y, const void* positions = nullptr,
                      std::int64_t position_rows = 0, const std::int64_t* position_of = nullptr) {
  RowwiseOptions options;
  options.index = tokens;
  options.residual = positions;
  options.residual_rows = position_rows;
  options.residual_index = position_of;
  rowwise(context, RowwiseOp::map, table, y, options);
}

}  // namespace kw
