// From an operation and an element type, both known when the program runs, to the one template
// instance that computes them: visitor.template operator()<kind, T>(). Host code, in .cpp and .cu
// files alike.
#pragma once

#include <cstdint>
#include <type_traits>

#include "reduce/accumulate.hpp"

namespace kw {

namespace reduce_detail {

// norm_square and wide_sum are for the types whose squares or sums leave what others are held in;
// no other is compiled.
template <class T, class Visitor>
decltype(auto) dispatch_kind(ReduceKind kind, const Visitor& visitor) {
  switch (kind) {
    case ReduceKind::sum: break;
    case ReduceKind::sum_abs: return visitor.template operator()<ReduceKind::sum_abs, T>();
    case ReduceKind::sum_square: return visitor.template operator()<ReduceKind::sum_square, T>();
    case ReduceKind::norm_square:
      if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::int32_t> ||
                    std::is_same_v<T, std::int64_t>) {
        return visitor.template operator()<ReduceKind::norm_square, T>();
      }
      break;
    case ReduceKind::wide_sum:
      if constexpr (std::is_same_v<T, std::int64_t>) {
        return visitor.template operator()<ReduceKind::wide_sum, T>();
      }
      break;
    case ReduceKind::min: return visitor.template operator()<ReduceKind::min, T>();
    case ReduceKind::max: return visitor.template operator()<ReduceKind::max, T>();
    case ReduceKind::min_max: return visitor.template operator()<ReduceKind::min_max, T>();
    case ReduceKind::arg_min: return visitor.template operator()<ReduceKind::arg_min, T>();
    case ReduceKind::arg_max: return visitor.template operator()<ReduceKind::arg_max, T>();
    case ReduceKind::moments: return visitor.template operator()<ReduceKind::moments, T>();
  }
  return visitor.template operator()<ReduceKind::sum, T>();
}

}  // namespace reduce_detail

// `op` and `type` are enumerators: src/api refuses other numbers.
template <class Visitor>
decltype(auto) dispatch(ReduceOp op, DataType type, const Visitor& visitor) {
  using reduce_detail::dispatch_kind;
  const ReduceKind kind = kind_of(op, type);
  switch (type) {
    case DataType::float32: break;
    case DataType::float64: return dispatch_kind<double>(kind, visitor);
    case DataType::float16: return dispatch_kind<float16>(kind, visitor);
    case DataType::bfloat16: return dispatch_kind<bfloat16>(kind, visitor);
    case DataType::int8: return dispatch_kind<std::int8_t>(kind, visitor);
    case DataType::int32: return dispatch_kind<std::int32_t>(kind, visitor);
    case DataType::int64: return dispatch_kind<std::int64_t>(kind, visitor);
  }
  return dispatch_kind<float>(kind, visitor);
}

}  // namespace kw
