// The one form in which every kernel sees a reduction. src/api checks the caller's arguments and
// turns both layouts into this: rows lie ld apart, a row's elements next to each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel.hpp"
#include "kernelwright/reduce.hpp"

namespace kw {

constexpr std::size_t size_of(DataType type) {
  switch (type) {
    case DataType::float64:
    case DataType::int64: return 8;
    case DataType::float32:
    case DataType::int32: return 4;
    case DataType::float16:
    case DataType::bfloat16: return 2;
    case DataType::int8: return 1;
  }
  return 0;
}

constexpr bool is_floating(DataType type) {
  return type == DataType::float32 || type == DataType::float64 || type == DataType::float16 ||
         type == DataType::bfloat16;
}

// include/kernelwright/reduce.hpp has the rule in words.
constexpr DataType result_type(ReduceOp op, DataType type) {
  const DataType narrow = type == DataType::float64 ? DataType::float64 : DataType::float32;
  switch (op) {
    case ReduceOp::argmin:
    case ReduceOp::argmax: return DataType::int64;
    case ReduceOp::min:
    case ReduceOp::max:
    case ReduceOp::min_max: return type;
    case ReduceOp::max_norm: return is_floating(type) ? type : DataType::int64;
    case ReduceOp::mean:
    case ReduceOp::l2_norm:
    case ReduceOp::variance: return is_floating(type) ? narrow : DataType::float64;
    case ReduceOp::sum:
    case ReduceOp::sum_of_squares:
    case ReduceOp::l1_norm: return is_floating(type) ? narrow : DataType::int64;
  }
  return type;
}

const char* to_string(ReduceOp op);  // "sum", "sum_of_squares", ... (src/reduce/names.cpp)
const char* to_string(DataType type);
const char* to_string(ReduceShape shape);

// whole     out[0] from data[0 .. cols);  rows is 1
// rows      out[i] from data[i * ld + 0 .. cols)           ld >= cols
// columns   out[j] from data[0 .. rows step 1 * ld + j]    ld >= cols
// segments  out[s] from data[offsets[s] .. offsets[s + 1]), offsets on the device, clamped to
//           [0, cols);  rows is 1
// min_max writes out[2 i] and out[2 i + 1].
struct Reduce {
  ReduceOp op = ReduceOp::sum;
  DataType type = DataType::float32;
  ReduceShape shape = ReduceShape::whole;
  const void* data = nullptr;
  std::int64_t rows = 1, cols = 0, ld = 0;
  const std::int64_t* offsets = nullptr;
  std::int64_t segments = 0;
  std::int64_t correction = 0;  // of variance
  Determinism determinism = Determinism::run_to_run;
  void* out = nullptr;

  // Sequences, and with them results (pairs of results for min_max).
  std::int64_t sequences() const {
    switch (shape) {
      case ReduceShape::whole: return 1;
      case ReduceShape::rows: return rows;
      case ReduceShape::columns: return cols;
      case ReduceShape::segments: return segments;
    }
    return 0;
  }
  std::int64_t results() const { return op == ReduceOp::min_max ? 2 * sequences() : sequences(); }
  std::int64_t elements() const { return rows * cols; }
  // What must be read: every element once; offsets and results, where there are many, count too.
  double bytes() const {
    const double offset_bytes =
        shape == ReduceShape::segments ? 8.0 * static_cast<double>(segments + 1) : 0.0;
    return static_cast<double>(elements()) * static_cast<double>(size_of(type)) + offset_bytes +
           static_cast<double>(results()) * static_cast<double>(size_of(result_type(op, type)));
  }
};

}  // namespace kw
