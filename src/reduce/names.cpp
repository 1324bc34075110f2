// Names of operations, element types and shapes, as the command line and messages have them.
#include "reduce/problem.hpp"

namespace kw {

const char* to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return "sum";
    case ReduceOp::mean: return "mean";
    case ReduceOp::min: return "min";
    case ReduceOp::max: return "max";
    case ReduceOp::argmin: return "argmin";
    case ReduceOp::argmax: return "argmax";
    case ReduceOp::sum_of_squares: return "sum_of_squares";
    case ReduceOp::l1_norm: return "l1_norm";
    case ReduceOp::l2_norm: return "l2_norm";
    case ReduceOp::max_norm: return "max_norm";
    case ReduceOp::variance: return "variance";
    case ReduceOp::min_max: return "min_max";
  }
  return "unknown";
}

const char* to_string(DataType type) {
  switch (type) {
    case DataType::float32: return "float32";
    case DataType::float64: return "float64";
    case DataType::float16: return "float16";
    case DataType::bfloat16: return "bfloat16";
    case DataType::int8: return "int8";
    case DataType::int32: return "int32";
    case DataType::int64: return "int64";
  }
  return "unknown";
}

const char* to_string(ReduceShape shape) {
  switch (shape) {
    case ReduceShape::whole: return "whole";
    case ReduceShape::rows: return "rows";
    case ReduceShape::columns: return "columns";
    case ReduceShape::segments: return "segments";
  }
  return "unknown";
}

}  // namespace kw
