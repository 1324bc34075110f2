// What the cub_*.cu files share: element types as CUB knows them, where they lie, and the neutral
// elements of min and max.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cub/version.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
#include <cuda/std/limits>

#include "cub_calls.hpp"

namespace kw::peers {

template <class T>
const T* data_of(const Reduce& p) {
  return static_cast<const T*>(p.data);
}
template <class T>
T* out_of(const Reduce& p) {
  return static_cast<T*>(p.out);
}

// DeviceReduce::Min begins with the largest finite number, which is wrong where all elements are
// infinite; the same kernel through DeviceReduce::Reduce takes what it is given.
template <ReduceOp op, class T>
T neutral() {
  using Limits = ::cuda::std::numeric_limits<T>;
  if constexpr (op == ReduceOp::sum) return T{};
  if constexpr (op == ReduceOp::min)
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  if constexpr (op == ReduceOp::max)
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
}

template <ReduceOp op>
auto combine() {
  if constexpr (op == ReduceOp::sum) return ::cuda::std::plus<>{};
  if constexpr (op == ReduceOp::min) return ::cuda::minimum<>{};
  if constexpr (op == ReduceOp::max) return ::cuda::maximum<>{};
}

}  // namespace kw::peers
