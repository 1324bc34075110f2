// Reductions: many numbers to one, or to one a row, a column or a segment.
//
// Results    One a reduced sequence, in order, dense, in the device's memory; min_max writes two
//            (smallest, largest) next to each other. Their type follows from operation and input:
//              sum, mean, sum_of_squares, l1_norm, l2_norm, variance of float16, bfloat16, float32:
//              float32; of float64: float64
//              mean, l2_norm, variance of integers: float64
//              sum, sum_of_squares, l1_norm, max_norm of integers: int64, modulo 2^64
//              min, max, min_max; max_norm of floating-point types: the input's type
//              argmin, argmax: int64, counted from the sequence's first element
// Arithmetic Sums of float32 are carried in double and rounded once at the end; sums of float16 and
//            bfloat16 in float along a lane (n / 10^6 additions, at least 4; of a column at most
//            8), then in double; integers exactly. variance is computed from differences to one
//            of the elements and merged after Chan, Golub and LeVeque (1983), never as
//            E[x^2] - E[x]^2. l2_norm neither overflows nor underflows on the way (float64: after
//            Blue, 1978).
// NaN        A NaN among the elements makes every result NaN (the canonical quiet one), except
//            argmin and argmax: they give the index of the first NaN.
// Zeros      min and max order -0 below +0. argmin and argmax take them for equal. A sum or a norm
//            that is zero is +0.
// Ties       argmin and argmax give the lowest index.
// Empty      Sums and norms 0; mean and variance NaN; min and max of nothing are the type's
//            largest and smallest value (infinities where it has them); argmin and argmax -1. A
//            variance of no more elements than `correction` is NaN.
// Same bits  Every result depends on the elements and their order alone: not on alignment, device,
//            stream or number of threads. See Determinism.
// Errors     kw::Error, as context.hpp has it. argument() is the field of the view or the options
//            ("ld", "offsets", "correction"; "count" for the number of elements of an array), "op",
//            "out", "out.type", "out.count" or "workspace".
// Time       Asynchronous on the context's stream, capturable in a graph; one launch for a whole
//            array and for columns, at most two for rows and three for segments.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernelwright/context.hpp"
#include "kernelwright/export.h"
#include "kernelwright/matrix.hpp"

namespace kw {

/// The values are those of kwReduceOp_t in kernelwright.h and never change.
enum class ReduceOp : int {
  sum = 0,
  mean = 1,
  min = 2,
  max = 3,
  argmin = 4,
  argmax = 5,
  sum_of_squares = 6,
  l1_norm = 7,   ///< sum of absolute values
  l2_norm = 8,   ///< square root of the sum of squares
  max_norm = 9,  ///< largest absolute value
  variance = 10,
  min_max = 11,
};

/// What an array holds. The values are those of kwDataType_t and never change.
enum class DataType : int {
  float32 = 0,
  float64 = 1,
  float16 = 2,   ///< IEEE 754 binary16
  bfloat16 = 3,  ///< the upper half of a binary32
  int8 = 4,
  int32 = 5,
  int64 = 6,
};

/// The bits of a half-precision number: __half and _Float16 lie in memory like this.
struct float16 {
  std::uint16_t bits;
};
/// The bits of a bfloat16: __nv_bfloat16 lies in memory like this.
struct bfloat16 {
  std::uint16_t bits;
};

template <class T>
struct DataTypeOf;  // no such element type
template <>
struct DataTypeOf<float> {
  static constexpr DataType value = DataType::float32;
};
template <>
struct DataTypeOf<double> {
  static constexpr DataType value = DataType::float64;
};
template <>
struct DataTypeOf<float16> {
  static constexpr DataType value = DataType::float16;
};
template <>
struct DataTypeOf<bfloat16> {
  static constexpr DataType value = DataType::bfloat16;
};
template <>
struct DataTypeOf<std::int8_t> {
  static constexpr DataType value = DataType::int8;
};
template <>
struct DataTypeOf<std::int32_t> {
  static constexpr DataType value = DataType::int32;
};
template <>
struct DataTypeOf<std::int64_t> {
  static constexpr DataType value = DataType::int64;
};

enum class ReduceShape : int { whole = 0, rows = 1, columns = 2, segments = 3 };

/// What is reduced, in the memory of the context's device. Made by the functions below.
struct ReduceView {
  const void* data = nullptr;
  DataType type = DataType::float32;
  ReduceShape shape = ReduceShape::whole;
  std::int64_t rows = 1;  ///< whole and segments: 1
  std::int64_t cols = 0;  ///< whole and segments: all elements
  std::int64_t ld = 0;
  Layout layout = Layout::row_major;
  const std::int64_t* offsets = nullptr;  ///< segments: device memory, segments + 1 entries
  std::int64_t segments = 0;
};

/// `count` elements, one after the other, to one result.
template <class T>
ReduceView array_view(const T* data, std::int64_t count) {
  return {
      data, DataTypeOf<T>::value, ReduceShape::whole, 1, count, count, Layout::row_major, nullptr,
      0};
}

/// Each row of op(A) to one result.
template <class T>
ReduceView rows_of(MatrixView<T> a) {
  using Element = std::remove_const_t<T>;
  const ReduceShape shape = a.op == Op::none ? ReduceShape::rows : ReduceShape::columns;
  return {a.data, DataTypeOf<Element>::value, shape, a.rows, a.cols, a.ld, a.layout, nullptr, 0};
}

/// Each column of op(A) to one result.
template <class T>
ReduceView columns_of(MatrixView<T> a) {
  return rows_of(transposed(a));
}

/// Segment i is elements offsets[i] .. offsets[i + 1] - 1 of `count` elements: one result each.
/// `offsets` lies in device memory, has `segments` + 1 entries that do not descend and stay within
/// 0 .. count. As only the device can read them, what breaks this is not reported: elements outside
/// of the array are left out, never read. Long and short segments may be mixed.
template <class T>
ReduceView segments_of(const T* data, std::int64_t count, const std::int64_t* offsets,
                       std::int64_t segments) {
  return {data,
          DataTypeOf<T>::value,
          ReduceShape::segments,
          1,
          count,
          count,
          Layout::row_major,
          offsets,
          segments};
}

/// Where results go: `count` of them, dense, on the context's device.
struct ReduceOutput {
  void* data = nullptr;
  DataType type = DataType::float32;
  std::int64_t count = 0;
};

template <class T>
ReduceOutput output_view(T* data, std::int64_t count = 1) {
  return {data, DataTypeOf<T>::value, count};
}

/// What a program relies on. This version's kernels keep the stronger promise at no cost in speed,
/// whichever is asked for; a later one may choose its order of additions by device where
/// `run_to_run` is enough.
enum class Determinism : int {
  run_to_run = 0,  ///< same elements, device and library version: same bits
  any_device = 1,  ///< the same bits also on every GPU and on the CPU
};

struct ReduceOptions {
  Determinism determinism = Determinism::run_to_run;
  /// variance divides by the number of elements less this: 0 (population) or 1 (sample), 0 or more.
  std::int64_t correction = 0;
};

/// out = op over each sequence of `view`, on the context's stream. `out` has the type
/// reduce_result_type(op, view.type) and the count reduce_result_count(op, view), and shares no
/// byte with an element or an offset that is read; a matrix's padding may hold it. Pointers are
/// multiples of their elements' size. Where there is nothing to reduce, null is fine.
KW_API void reduce(Context& context, ReduceOp op, const ReduceView& view, const ReduceOutput& out,
                   const ReduceOptions& options = {});

/// Workspace that the same call of `reduce` takes. Looks at no pointer: the arrays need not exist
/// yet.
KW_API std::size_t reduce_workspace_bytes(const Context& context, ReduceOp op,
                                          const ReduceView& view,
                                          const ReduceOptions& options = {});

/// The type of `op`'s results over elements of `type` (the table above).
KW_API DataType reduce_result_type(ReduceOp op, DataType type);

/// How many results `op` over `view` writes: one a sequence, two for min_max.
KW_API std::int64_t reduce_result_count(ReduceOp op, const ReduceView& view);

}  // namespace kw
