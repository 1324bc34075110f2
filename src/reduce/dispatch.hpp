// From an operation and an element type, both known when the program runs, to the one template
// instance that computes them: visitor.template operator()<kind, T>(). Host code, in .cpp and .cu
// files alike.
#pragma once

#include <cstdint>
#include <type_traits>

#include "reduce/numbers/accumulate.hpp"
#include "reduce/problem.hpp"

namespace kw {

namespace reduce_detail {

// norm_square and wide_sum are for the types whose squares or sums leave what others are held in,
// max_abs is for the one whose minima take long; no other is compiled.
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
    case ReduceKind::max_abs:
      if constexpr (std::is_same_v<T, double>) {
        return visitor.template operator()<ReduceKind::max_abs, T>();
      }
      break;
    case ReduceKind::arg_min: return visitor.template operator()<ReduceKind::arg_min, T>();
    case ReduceKind::arg_max: return visitor.template operator()<ReduceKind::arg_max, T>();
    case ReduceKind::moments: return visitor.template operator()<ReduceKind::moments, T>();
  }
  return visitor.template operator()<ReduceKind::sum, T>();
}

}  // namespace reduce_detail

// `op` and `type` are enumerators: src/api refuses other numbers. A visitor of floating types
// alone:
template <class Visitor>
decltype(auto) dispatch_floating(ReduceOp op, DataType type, const Visitor& visitor) {
  using reduce_detail::dispatch_kind;
  const ReduceKind kind = kind_of(op, type);
  if (type == DataType::float64) return dispatch_kind<double>(kind, visitor);
  if (type == DataType::float16) return dispatch_kind<float16>(kind, visitor);
  if (type == DataType::bfloat16) return dispatch_kind<bfloat16>(kind, visitor);
  return dispatch_kind<float>(kind, visitor);
}
// One of integers alone.
template <class Visitor>
decltype(auto) dispatch_integral(ReduceOp op, DataType type, const Visitor& visitor) {
  using reduce_detail::dispatch_kind;
  const ReduceKind kind = kind_of(op, type);
  if (type == DataType::int8) return dispatch_kind<std::int8_t>(kind, visitor);
  if (type == DataType::int32) return dispatch_kind<std::int32_t>(kind, visitor);
  return dispatch_kind<std::int64_t>(kind, visitor);
}
template <class Visitor>
decltype(auto) dispatch(ReduceOp op, DataType type, const Visitor& visitor) {
  if (is_floating(type)) return dispatch_floating(op, type, visitor);
  return dispatch_integral(op, type, visitor);
}

}  // namespace kw
