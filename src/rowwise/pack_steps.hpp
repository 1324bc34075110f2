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

// The sum of exp(v - origin). v becomes these where `keeps`. An exponential is the power of two of
// a rounded product: its error is that of the product, which the contract's 2 d u allows.
template <class Total, bool keeps, int values>
__device__ __forceinline__ Total exponentials_of(float (&v)[values], float origin) {
  return sum_of_any<Total, values>([&](int i) {
    const float e = exp_of(v[i] - origin, true);
    if (keeps) v[i] = e;
    return e;
  });
}

// y of a softmax: v are exponentials, of its logarithm what they were.
template <int values>
__device__ __forceinline__ void finish_values(float (&v)[values], const SoftmaxTotal& total,
                                              bool logs) {
  if (logs) {
    const float origin = origin_of(total.largest);
    const float by = log1pf(static_cast<float>(total.sum - 1.0));
#pragma unroll
    for (float& each : v) each = (each - origin) - by;
  } else {
    const float by = 1.0f / static_cast<float>(total.sum);
#pragma unroll
    for (float& each : v) each *= by;
  }
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

// The sum of the differences to a first mean, which is next to nothing, and of their squares.
struct Differences {
  float rest;
  std::uint32_t words[2];  // of a double

  Differences() = default;
  __device__ __forceinline__ Differences(float rest_, double squares) : rest(rest_) {
    memcpy(words, &squares, sizeof words);
  }
  __device__ __forceinline__ double squares() const {
    double both;
    memcpy(&both, words, sizeof both);
    return both;
  }
};
struct SumOfDifferences {
  __device__ __forceinline__ Differences operator()(const Differences& a,
                                                    const Differences& b) const {
    return {a.rest + b.rest, a.squares() + b.squares()};
  }
};

// Of `count` values whose differences to `mean` these are.
__device__ __forceinline__ NormTotal norm_total_of(const Differences& found, float mean,
                                                   double count) {
  const float correction = found.rest / static_cast<float>(count);
  const auto wide = static_cast<double>(correction);
  return {count, static_cast<double>(mean) + wide,
          found.squares() - static_cast<double>(found.rest) * wide};
}

struct FloatDifferences {
  float rest, squares;
};
struct SumOfFloatDifferences {
  __device__ __forceinline__ FloatDifferences operator()(const FloatDifferences& a,
                                                         const FloatDifferences& b) const {
    return {a.rest + b.rest, a.squares + b.squares};
  }
};
struct TotalSum {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};

// v becomes exponentials but where `logs`.
template <class Total, int values, class Team>
__device__ __forceinline__ SoftmaxTotal softmax_of_team(float (&v)[values], bool logs, Team& team) {
  const float largest = team.combined(largest_of(v), -INFINITY, Larger{});
  const float origin = origin_of(largest);
  const Total sum =
      logs ? exponentials_of<Total, false>(v, origin) : exponentials_of<Total, true>(v, origin);
  return {largest, static_cast<double>(team.combined(sum, Total{}, TotalSum{}))};
}

// 1 / sqrt(x), to two units in the last place.
__device__ __forceinline__ float reciprocal_root(float x) {
#if defined(__CUDA_ARCH__)
  return rsqrtf(x);
#else
  return 1.0f / sqrtf(x);
#endif
}

// v becomes what gamma multiplies; `count_inverse` is 1 / p.cols, and what is absent is 0 before.
// The first mean is any that is near the mean: the mean of the differences to it is its error.
template <class Total, int values, class Has, class Team>
__device__ __forceinline__ void normalise_by_team(float (&v)[values], const Has& has,
                                                  float count_inverse, bool centers, float epsilon,
                                                  Team& team) {
  const auto squares_of_v = [&](int i) { return v[i] * v[i]; };
  float variance, correction = 0;
  if (centers) {
    const float mean = team.combined(float_sum(v), 0.0f, TotalSum{}) * count_inverse;
#pragma unroll
    for (int i = 0; i < values; ++i) v[i] -= has(i) ? mean : 0.0f;
    const float rest = float_sum(v);
    const Total squares = sum_of_any<Total, values>(squares_of_v);
    FloatDifferences all;
    if constexpr (sizeof(Total) == sizeof(double)) {
      const Differences both =
          team.combined(Differences{rest, squares}, Differences{0, 0}, SumOfDifferences{});
      all = {both.rest, static_cast<float>(both.squares())};
    } else {
      all = team.combined(FloatDifferences{rest, squares}, FloatDifferences{0, 0},
                          SumOfFloatDifferences{});
    }
    correction = all.rest * count_inverse;
    variance = (all.squares - all.rest * correction) * count_inverse;
  } else {
    const Total squares = sum_of_any<Total, values>(squares_of_v);
    variance = static_cast<float>(team.combined(squares, Total{}, TotalSum{})) * count_inverse;
  }
  const float scale = reciprocal_root((variance < 0 ? 0.0f : variance) + epsilon);
  const float shift = -correction * scale;
#pragma unroll
  for (int i = 0; i < values; ++i) v[i] = fmaf(v[i], scale, shift);
}

// v * gamma + beta of a pack that begins at element `first`, and of one element.
template <class T>
__device__ __forceinline__ void scale_pack(const Rowwise& p, int first, float* v) {
  constexpr int a_pack = a_pack_of<T>;
  const auto cols = static_cast<int>(p.cols);
  float gamma[a_pack], beta[a_pack];
#pragma unroll
  for (int w = 0; w < a_pack; ++w) gamma[w] = 1, beta[w] = 0;
  if (p.gamma != nullptr) load_anywhere<T>(p.gamma, first, cols, gamma);
  if (p.beta != nullptr) load_anywhere<T>(p.beta, first, cols, beta);
#pragma unroll
  for (int w = 0; w < a_pack; ++w) v[w] = v[w] * gamma[w] + beta[w];
}
template <class T>
__device__ __forceinline__ void scale_one(const Rowwise& p, int at, float* v) {
  if (p.gamma != nullptr) *v *= to_value(static_cast<const T*>(p.gamma)[at]);
  if (p.beta != nullptr) *v += to_value(static_cast<const T*>(p.beta)[at]);
}

// Of a plane for so many packs of a row, which may begin anywhere.
KW_HOST_DEVICE constexpr int plane_pitch(int packs) { return packs + 2; }

// Gamma and beta of some columns, side by side in shared memory. Column c is in plane c mod a_pack,
// so that lanes with neighbouring packs, wherever a row begins, read neighbours.
template <class T>
struct Planes {
  static constexpr int a_pack = a_pack_of<T>;
  bool exist;  // else gamma and beta are read where they are
  int begin;   // within the block's dynamic shared memory, in pairs
  int pitch;   // of a plane
  int first;   // column, a multiple of a_pack

  // Where a column is. An index: by a pointer that might be null the compiler would not know that
  // it is shared memory.
  __device__ __forceinline__ int at(int column) const {
    const auto place = static_cast<unsigned>(column - first);
    return begin + static_cast<int>(place % a_pack) * pitch + static_cast<int>(place / a_pack);
  }
  __device__ __forceinline__ static float2& pair(int at) {
    return gpu::dynamic_shared<float2>()[at];
  }
  // Columns first to end, by so many threads.
  __device__ __forceinline__ void fill(const Rowwise& p, int end, int thread, int threads) const {
    for (int column = first + thread; column < end; column += threads) {
      float2 both = make_float2(1, 0);
      if (p.gamma != nullptr) both.x = to_value(static_cast<const T*>(p.gamma)[column]);
      if (p.beta != nullptr) both.y = to_value(static_cast<const T*>(p.beta)[column]);
      pair(at(column)) = both;
    }
  }
};
// Where a row's packs, which begin at column `head`, have their columns' gamma and beta.
template <class T>
struct RowPlanes {
  static constexpr int a_pack = a_pack_of<T>;
  int of[a_pack];

  __device__ __forceinline__ RowPlanes(const Planes<T>& planes, int head) {
#pragma unroll
    for (int w = 0; w < a_pack; ++w) of[w] = planes.at(head + w);
  }
  __device__ __forceinline__ void scale(int index, float* v) const {
#pragma unroll
    for (int w = 0; w < a_pack; ++w) {
      const float2 both = Planes<T>::pair(of[w] + index);
      v[w] = v[w] * both.x + both.y;
    }
  }
};

}  // namespace KW_TARGET::rowwise
