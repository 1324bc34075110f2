// A loop over constants.
#pragma once

#include <type_traits>
#include <utility>

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// body(0), ..., body(count - 1), each argument a std::integral_constant: a template argument, or
// part of an instruction.
template <int count, class Body>
__device__ __forceinline__ void repeat(const Body& body) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (body(std::integral_constant<int, i>()), ...); }
  (std::make_integer_sequence<int, count>());
}

}  // namespace KW_TARGET
