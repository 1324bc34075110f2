// What softmax and the norms do with values that may be of any number, a pack of them at a time:
// row_steps.hpp has the rules.
#pragma once

#include "rowwise/packs.hpp"
#include "rowwise/row_steps.hpp"

namespace KW_TARGET::rowwise {

// What sums of a row's elements are carried in: of 16-bit types a tree in float errs less than
// their own rounding.
template <class T>
using RowSum = std::conditional_t<sizeof(T) == 4, double, float>;

// The sum of term(i): groups of eight in float, as trees, and of these in Total.
template <class Total, int values, class Term>
__device__ __forceinline__ Total sum_of_any(const Term& term) {
  Total sum = 0;
#pragma unroll
  for (int i = 0; i + 8 <= values; i += 8) {
    sum += static_cast<Total>(((term(i) + term(i + 1)) + (term(i + 2) + term(i + 3))) +
                              ((term(i + 4) + term(i + 5)) + (term(i + 6) + term(i + 7))));
  }
  if constexpr (values % 8 != 0) {
    float rest = term(values / 8 * 8);
#pragma unroll
    for (int i = values / 8 * 8 + 1; i < values; ++i) rest += term(i);
    sum += static_cast<Total>(rest);
  }
  return sum;
}

// The sum of term(0) to term(count - 1), four or eight, as a tree.
template <int count, class Term>
__device__ __forceinline__ float tree_of(const Term& term) {
  static_assert(count == 4 || count == 8);
  const float first = (term(0) + term(1)) + (term(2) + term(3));
  if constexpr (count == 8)
    return first + ((term(4) + term(5)) + (term(6) + term(7)));
  else
    return first;
}
__device__ __forceinline__ float sum_of_four(const float (&v)[4]) {
  return (v[0] + v[1]) + (v[2] + v[3]);
}

template <int values>
__device__ __forceinline__ float largest_of(const float (&v)[values]) {
  float largest = v[0];
#pragma unroll
  for (int i = 1; i < values; ++i) largest = fmaxf(largest, v[i]);
  return largest;
}

template <int values>
__device__ __forceinline__ float float_sum(const float (&v)[values]) {
  float sums[4] = {v[0], 0, 0, 0};
#pragma unroll
  for (int i = 1; i < values; ++i) sums[i % 4] += v[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The exponentials of a softmax's values, in units that a largest value gives. Of float32 those are
// exp(largest). Of 16-bit types, of which instructions bound the time, they are two to log2(e)
// largest, rounded: one instruction an element in place of two, and no error, since the unit is
// just that power. Where it would be beyond float's range it is exp(largest) too, and values are
// moved.
template <bool by_powers>
struct SoftmaxUnit {
  float largest;

  __device__ __forceinline__ bool is_moved() const {
    return by_powers && fabsf(largest) > 0x1p126f;
  }
  __device__ __forceinline__ float power() const { return largest * log2_e; }
  // In terms of a larger one.
  __device__ __forceinline__ float in(const SoftmaxUnit& all) const {
    if constexpr (!by_powers) return exp_of(largest - all.largest, false);
    return power_of_2(all.is_moved() ? (largest - all.largest) * log2_e : power() - all.power());
  }
  // The logarithm of this unit by exp(largest).
  __device__ __forceinline__ float log() const {
    if (!by_powers || is_moved()) return 0;
    return fmaf(-largest, log2_e, power()) * 0.693147180559945309f;
  }
  // Of a value that was not moved, or, from 0 on, of one that was; what is below the smallest
  // normal number is 0.
  static __device__ __forceinline__ float exponential(float v, float origin) {
    return power_of_2(fmaf(v, log2_e, -origin));
  }
};

// Exponentials in units of two's powers by one multiply-add. Of values beyond float's range by
// log2(e) those that differ do so by more than all of it.
struct SoftmaxOrigin {
  float steep, origin;

  explicit __device__ __forceinline__ SoftmaxOrigin(const SoftmaxUnit<true>& unit)
      : steep(unit.is_moved() ? 1.0f : log2_e), origin(unit.largest * steep) {}
  __device__ __forceinline__ float exponential(float v) const {
    return power_of_2(fmaf(v, steep, -origin));
  }
};

struct TotalSum {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};

// 1 / sqrt(x), to two units in the last place.
__device__ __forceinline__ float reciprocal_root(float x) {
#if defined(__CUDA_ARCH__)
  return rsqrtf(x);
#else
  return 1.0f / sqrtf(x);
#endif
}

}  // namespace KW_TARGET::rowwise
