// What is known of the products of an element of C, and the errors that follow from it.
#pragma once

#include <bit>

#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/control.hpp"
#include "sgemm/hopper/split_errors.hpp"
#include "sgemm/hopper/split_pass_tuning.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

// Of an element that is too light for a path whatever the others are (peaks.hpp).
constexpr float decisive_weight = -1;

// The sum over the warp's lanes, in each. All of them call it.
__device__ __forceinline__ float sum_of_warp(float value) {
#pragma unroll
  for (int delta = warp_lanes / 2; delta > 0; delta /= 2)
    value += __shfl_xor_sync(whole_warp(), value, delta, warp_lanes);
  return value;
}

// The same of whole numbers, in one instruction.
__device__ __forceinline__ std::uint32_t sum_of_warp(std::uint32_t value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_add_sync(whole_warp(), value);
#else
  for (int delta = warp_lanes / 2; delta > 0; delta /= 2)
    value += __shfl_xor_sync(whole_warp(), value, delta, warp_lanes);
  return value;
#endif
}

// So many lanes for which this holds. All of a warp call it.
__device__ __forceinline__ int lanes_where(bool own) {
  return std::popcount(static_cast<std::uint32_t>(__ballot_sync(whole_warp(), own ? 1 : 0)));
}

// What is known of the products of an element: how many count (least_term); how many equal ones
// would have the same sum of sizes and of squares; the square of the mean of their signs.
struct Terms {
  float count, equals, one_sign;

  // FP32's mean square error if they are added in any order, in units of one rounding of the sum.
  __device__ float fp32_error() const { return count * (1.0f / 3 + 1.0f / 6 / equals); }
  template <SplitErrors errors>
  __device__ float split_error() const {
    const float in_window = 64 * equals / count / few_in_window;
    const float lean = errors.lean + errors.lean_of_few / sqrtf(equals) +
                       errors.lean_of_peaks / (1 + in_window * sqrtf(in_window));
    return errors.least + one_sign * lean * lean;
  }
  __device__ ElementWeight weight() const {
    if (!(count > 0)) return {0, 0};
    const float fp32 = fp32_error();
    return {fp32 / split_error<fp16x3_errors>(), fp32 / split_error<bf16x6_errors>()};
  }
};

}  // namespace KW_TARGET::hopper
