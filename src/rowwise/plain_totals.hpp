// What the warps that have a plain row between them find of it, and how that becomes the row's.
//
// Softmax     The largest value that a warp has, and the sum of exponentials from there: each warp
//             has made these before it hears of the others, and scales them once.
// Norms       Sums of the differences to a value near the warp's own mean (the mean of its first
//             packs), and of their squares. Sums about one such value become those about another
//             exactly, but for rounding: nothing large is subtracted from anything large, whatever
//             the mean.
#pragma once

#include <cfloat>

#include "rowwise/pack_steps.hpp"
#include "rowwise/warp_teams.hpp"

namespace KW_TARGET::rowwise {

struct FoundSoftmax {
  float largest;
  double sum;
};

// near + rest / elements is the mean, squares - rest^2 / elements the sum of squares about it.
template <class Total>
struct FoundNorm {
  float near, rest;
  Total squares;
};

template <class Total>
struct RestAndSquares {
  float rest;
  std::uint32_t words[sizeof(Total) / 4];

  RestAndSquares() = default;
  __device__ __forceinline__ RestAndSquares(float rest_, Total squares) : rest(rest_) {
    memcpy(words, &squares, sizeof words);
  }
  __device__ __forceinline__ Total squares() const {
    Total all;
    memcpy(&all, words, sizeof all);
    return all;
  }
};
struct SumOfRestAndSquares {
  template <class Total>
  __device__ __forceinline__ RestAndSquares<Total> operator()(
      const RestAndSquares<Total>& a, const RestAndSquares<Total>& b) const {
    return {a.rest + b.rest, a.squares() + b.squares()};
  }
};

// 1 / x to a unit or two in the last place.
__device__ __forceinline__ float about_reciprocal(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0f / x;
#endif
}

// Of `warps` totals, at most `most`, in every lane of the warp that calls it, with the same bits: a
// lane takes one of them, or some.
template <int most>
struct Merging {
  static constexpr int lanes = most <= 16 ? 16 : warp_lanes, each = (most + lanes - 1) / lanes;

  // Calls body(total) for those of this lane.
  template <int at_once = each, class Body>
  static __device__ __forceinline__ void each_total(const WarpFound* found, int warps,
                                                    const Body& body) {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
#pragma unroll at_once
    for (int k = 0; k < each; ++k) {
      if (k > 0 && k * lanes >= warps) break;
      if (lane + k * lanes < warps) body(found[lane + k * lanes], k);
    }
  }
};
template <class Total, int most, bool by_powers>
__device__ __forceinline__ FoundSoftmax merge_softmax(const WarpFound* found, int warps) {
  using Of = Merging<most>;
  using Unit = SoftmaxUnit<by_powers>;
  Unit unit = {-FLT_MAX};
  float sum = 0;
  Of::each_total(found, warps, [&](const WarpFound& one, int) {
    const Unit both = {fmaxf(unit.largest, one.x)};
    sum = sum * unit.in(both) + one.y * Unit{one.x}.in(both);
    unit = both;
  });
  const Unit all = {combine_lanes(unit.largest, Of::lanes, Larger{})};
  const auto own = static_cast<Total>(sum * unit.in(all));
  return {all.largest, static_cast<double>(combine_lanes(own, Of::lanes, TotalSum{}))};
}
template <class Total, int most>
__device__ __forceinline__ FoundNorm<Total> merge_norm(const WarpFound* found, int warps,
                                                       bool centers, float count_inverse) {
  using Of = Merging<most>;
  WarpFound own[Of::each];
#pragma unroll
  for (WarpFound& each : own) each = {0, 0, 0, 0};
  Of::each_total(found, warps, [&](const WarpFound& one, int k) { own[k] = one; });
  float near = 0;
  if (centers) {
#pragma unroll
    for (const WarpFound& one : own) near += one.w * one.x;
    near = combine_lanes(near, Of::lanes, TotalSum{}) * count_inverse;
  }
  float rest = 0;
  Total squares = 0;
#pragma unroll
  for (int k = 0; k < Of::each; ++k) {
    if (k > 0 && k * Of::lanes >= warps) break;
    const WarpFound& one = own[k];
    const float apart = one.w == 0 ? 0.0f : one.x - near, moved = one.w * apart;
    rest += one.y + moved;
    squares += static_cast<Total>(one.z) + static_cast<Total>(apart * (2 * one.y + moved));
  }
  const RestAndSquares<Total> all =
      combine_lanes(RestAndSquares<Total>{rest, squares}, Of::lanes, SumOfRestAndSquares{});
  return {near, all.rest, all.squares()};
}

// The same of totals in shared memory, which are looked up twice and not kept: where registers are
// short.
template <class Total, int most>
__device__ __forceinline__ FoundNorm<Total> merge_norm_again(const WarpFound* found, int warps,
                                                             bool centers, float count_inverse) {
  using Of = Merging<most>;
  constexpr int at_once = sizeof(Total) == sizeof(double) ? Of::each : 2;
  float near = 0;
  if (centers) {
    Of::template each_total<at_once>(found, warps,
                                     [&](const WarpFound& one, int) { near += one.w * one.x; });
    near = combine_lanes(near, Of::lanes, TotalSum{}) * count_inverse;
  }
  float rest = 0;
  Total squares = 0;
  Of::template each_total<at_once>(found, warps, [&](const WarpFound& one, int) {
    const float apart = one.w == 0 ? 0.0f : one.x - near, moved = one.w * apart;
    rest += one.y + moved;
    squares += static_cast<Total>(one.z) + static_cast<Total>(apart * (2 * one.y + moved));
  });
  const RestAndSquares<Total> all =
      combine_lanes(RestAndSquares<Total>{rest, squares}, Of::lanes, SumOfRestAndSquares{});
  return {near, all.rest, all.squares()};
}

// What a difference to `near` is multiplied by, and what is added then.
struct NormScale {
  float by, shift;
};
template <class Total>
__device__ __forceinline__ NormScale norm_scale(const FoundNorm<Total>& found, float count_inverse,
                                                float epsilon) {
  const float correction = found.rest * count_inverse;
  const Total moved = static_cast<Total>(found.rest) * static_cast<Total>(correction);
  const float variance = static_cast<float>(found.squares - moved) * count_inverse;
  const float by = reciprocal_root((variance < 0 ? 0.0f : variance) + epsilon);
  return {by, -correction * by};
}

// How what warps found becomes what a block found, and that of all the row's total. By whole warps.
template <class Sum, bool by_powers, bool logs>
struct SoftmaxMeeting {
  template <int most>
  __device__ __forceinline__ WarpFound as_one(const WarpFound* found, int count) const {
    const FoundSoftmax all = merge_softmax<Sum, most, by_powers>(found, count);
    return {all.largest, static_cast<float>(all.sum), 0, 0};
  }
  template <int most>
  __device__ __forceinline__ RowTotal total(const WarpFound* found, int count) const {
    const FoundSoftmax all = merge_softmax<Sum, most, by_powers>(found, count);
    return {all.largest, softmax_by(logs, all.sum), 0, 0};
  }
};
template <class Sum, bool centers, bool again = false>
struct NormMeeting {
  float count_inverse, epsilon;

  template <int most>
  __device__ __forceinline__ WarpFound as_one(const WarpFound* found, int count) const {
    float elements = 0;
    Merging<most>::each_total(found, count, [&](const WarpFound& one, int) { elements += one.w; });
    elements = combine_lanes(elements, Merging<most>::lanes, TotalSum{});
    const FoundNorm<Sum> all = merge_norm<Sum, most>(
        found, count, centers, elements > 0 ? about_reciprocal(elements) : 0.0f);
    return {all.near, all.rest, static_cast<float>(all.squares), elements};
  }
  template <int most>
  __device__ __forceinline__ RowTotal total(const WarpFound* found, int count) const {
    if constexpr (again && most > warp_lanes)
      return of(merge_norm_again<Sum, most>(found, count, centers, count_inverse));
    else
      return of(merge_norm<Sum, most>(found, count, centers, count_inverse));
  }
  __device__ __forceinline__ RowTotal of(const FoundNorm<Sum>& all) const {
    const NormScale scale = norm_scale(all, count_inverse, epsilon);
    return {all.near, scale.by, scale.shift, 0};
  }
};

}  // namespace KW_TARGET::rowwise
