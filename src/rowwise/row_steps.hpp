// What softmax and the norms do with a thread's values of a row, and with what a team finds of
// them.
//
// Sums        Four values are added in float, as a tree; from there on sums are double.
// Mean        The differences d to a first mean m, which is rounded, are exact or next to it. Their
// own mean
//             c is the first one's error: mean = m + c, and M2 = sum d^2 - n c^2.
#pragma once

#include <cmath>

#include "device/power_of_2.hpp"
#include "rowwise/row_memory.hpp"
#include "rowwise/row_team.hpp"

namespace KW_TARGET::rowwise {

// Of a softmax: the largest value, and the sum of exp(v - largest).
struct SoftmaxTotal {
  float largest;
  double sum;
};
// Of a norm: the values' number, mean (0 of rms_norm), and sum of squares of the differences to it.
struct NormTotal {
  double count, mean, squares;
};

// From what the exponent is subtracted: of values that are all -infinity nothing is.
__device__ __forceinline__ float origin_of(float largest) {
  return largest == -INFINITY ? 0.0f : largest;
}

// exp(d), to a rounding of 16-bit types where `coarse`: what is below the smallest normal number is
// then 0.
__device__ __forceinline__ float exp_of(float d, bool coarse) {
  return coarse ? power_of_2(d * log2_e) : expf(d);
}

// a / n for a count: a division in double takes as long as some dozen values.
__device__ __forceinline__ double quotient(double a, double n) {
  const auto inverse = static_cast<double>(1.0f / static_cast<float>(n));
  const double first = a * inverse;
  return first + (a - first * n) * inverse;
}

template <int values, class Term>
__device__ __forceinline__ double sum_of(const Term& term) {
  double sum = 0;
#pragma unroll
  for (int i = 0; i < values; i += pack)
    sum += static_cast<double>((term(i) + term(i + 1)) + (term(i + 2) + term(i + 3)));
  return sum;
}

// The sum of exp(v - origin). v becomes these, or where `logs` the differences.
template <bool coarse, int values>
__device__ __forceinline__ double exponentials(float (&v)[values], float origin, bool logs) {
  double sum = 0;
#pragma unroll
  for (int i = 0; i < values; i += pack) {
    float e[pack];
#pragma unroll
    for (int w = 0; w < pack; ++w) {
      const float d = v[i + w] - origin;
      e[w] = exp_of(d, coarse);
      v[i + w] = logs ? d : e[w];
    }
    sum += static_cast<double>((e[0] + e[1]) + (e[2] + e[3]));
  }
  return sum;
}

// What is absent is -infinity before; afterwards v is as above.
template <int values, class Team>
__device__ __forceinline__ SoftmaxTotal softmax_total(float (&v)[values], bool coarse, bool logs,
                                                      Team& team) {
  float largest = v[0];
#pragma unroll
  for (int i = 1; i < values; ++i) largest = fmaxf(largest, v[i]);
  largest = team.combined(largest, -INFINITY, Larger{});
  const float origin = origin_of(largest);
  const double sum =
      coarse ? exponentials<true>(v, origin, logs) : exponentials<false>(v, origin, logs);
  return {largest, team.combined(sum, 0.0, Sum{})};
}

__device__ __forceinline__ SoftmaxTotal merged(const SoftmaxTotal& a, const SoftmaxTotal& b) {
  const float largest = fmaxf(a.largest, b.largest), origin = origin_of(largest);
  const auto scaled = [&](const SoftmaxTotal& t) {
    // Of nothing but -infinity the sum is 0, or NaN.
    return t.largest == -INFINITY ? t.sum
                                  : t.sum * static_cast<double>(exp_of(t.largest - origin, false));
  };
  return {largest, scaled(a) + scaled(b)};
}

// v becomes its difference to `first_mean`, which is the result's mean rounded; what is absent is 0
// before and afterwards.
template <int values, class Team>
__device__ __forceinline__ NormTotal norm_total(float (&v)[values], const Places& places,
                                                bool centers, Team& team, float* first_mean) {
  const auto count = static_cast<double>(places.count);
  *first_mean = 0;
  if (centers) {
    const double sum = sum_of<values>([&](int i) { return v[i]; });
    const float mean = static_cast<float>(quotient(team.combined(sum, 0.0, Sum{}), count));
    *first_mean = mean;
#pragma unroll
    for (int i = 0; i < values; ++i) v[i] = places.has(i) ? v[i] - mean : 0.0f;
  }
  const double squares = sum_of<values>([&](int i) { return v[i] * v[i]; });
  if (!centers) return {count, 0, team.combined(squares, 0.0, Sum{})};
  const double rest = sum_of<values>([&](int i) { return v[i]; });
  const Sums sums = team.combined(Sums{rest, squares}, Sums{0, 0}, SumOfEach{});
  const double correction = quotient(sums.first, count);
  return {count, static_cast<double>(*first_mean) + correction,
          sums.second - sums.first * correction};
}

// Of values of rms_norm both means are 0, and it comes to the sum.
__device__ __forceinline__ NormTotal merged(const NormTotal& a, const NormTotal& b) {
  const double count = a.count + b.count;
  if (b.count == 0) return a;
  const double apart = b.mean - a.mean,
               share = static_cast<float>(b.count) / static_cast<float>(count);
  return {count, a.mean + apart * share, a.squares + b.squares + apart * apart * a.count * share};
}

// What multiplies the terms of a softmax, or is taken from its logarithms, but for its unit.
__device__ __forceinline__ float softmax_by(bool logs, double sum) {
  return logs ? log1pf(static_cast<float>(sum - 1.0)) : 1.0f / static_cast<float>(sum);
}

// v of a softmax, as softmax_total left them, to y.
template <int values>
__device__ __forceinline__ void finish_softmax(float (&v)[values], double sum, bool logs) {
  const float by = softmax_by(logs, sum);
#pragma unroll
  for (int i = 0; i < values; ++i) v[i] = logs ? v[i] - by : v[i] * by;
}

// 1 / sqrt(variance + epsilon).
__device__ __forceinline__ float reciprocal_deviation(const NormTotal& total, float epsilon) {
  const double squares = total.squares < 0 ? 0 : total.squares;  // of NaN itself
  const float variance = static_cast<float>(squares) / static_cast<float>(total.count);
  return 1.0f / sqrtf(variance + epsilon);
}

// v are differences to first_mean.
template <int values>
__device__ __forceinline__ void normalise(float (&v)[values], const NormTotal& total,
                                          float first_mean, float epsilon) {
  const float scale = reciprocal_deviation(total, epsilon);
  const float correction = static_cast<float>(total.mean - static_cast<double>(first_mean));
  const float shift = -correction * scale;
#pragma unroll
  for (int i = 0; i < values; ++i) v[i] = fmaf(v[i], scale, shift);
}

}  // namespace KW_TARGET::rowwise
