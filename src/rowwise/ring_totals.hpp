// What the threads that find totals do with a slice in the ring, piece by piece.
//
// Softmax     Each thread has its own largest value so far, and the sum of exponentials from there,
//             of 16-bit types in units of two's powers (pack_steps.hpp).
// Norms       A thread takes differences to the mean of its piece before, at first to that of a
//             pack; the sums of these become those about the first one, in double: so little that
//             is large beside the deviation is rounded in float, wherever the mean wanders.
#pragma once

#include "rowwise/packed_rows.hpp"
#include "rowwise/ring_memory.hpp"

namespace KW_TARGET::rowwise {

// Their sum, from the largest value on.
template <class T, int values>
__device__ __forceinline__ RowSum<T> exponentials(const float (&v)[values],
                                                  const SoftmaxUnit<sizeof(T) == 2>& unit) {
  if constexpr (sizeof(T) == 2) {
    const SoftmaxOrigin origin(unit);
    return sum_of_any<float, values>([&](int i) { return origin.exponential(v[i]); });
  } else {
    return sum_of_any<double, values>([&](int i) { return exp_of(v[i] - unit.largest, true); });
  }
}

template <class Row, class T>
__device__ __forceinline__ WarpFound softmax_of_slice(const Row& row, const RingEdge<T>& edge) {
  using Values = typename Row::Values;
  using Unit = SoftmaxUnit<sizeof(T) == 2>;
  Unit unit = {-FLT_MAX};
  RowSum<T> sum = 0;
  const auto raise = [&](float largest) {
    if (!(largest > unit.largest)) return;
    sum *= static_cast<RowSum<T>>(unit.in(Unit{largest}));
    unit.largest = largest;
  };
  constexpr std::uint32_t absent = nothing_to_softmax<T>;
  row.each_piece(absent, [&](const Values& values, int) {
    float v[Values::count];
    values.unpack_to(v);
    if constexpr (sizeof(T) == 2)
      raise(largest_of_packs<T>(values.raw, absent));
    else
      raise(largest_of(v));
    sum += exponentials<T>(v, unit);
  });
  // Last: it comes from memory by itself.
  if (edge.exists) {
    raise(edge.value());
    const float one[1] = {edge.value()};
    sum += exponentials<T>(one, unit);
  }
  const Unit of_warp = {combine_lanes(unit.largest, warp_lanes, Larger{})};
  sum *= static_cast<RowSum<T>>(unit.in(of_warp));
  return {of_warp.largest, static_cast<float>(combine_lanes(sum, warp_lanes, TotalSum{})), 0, 0};
}

// Of 16-bit types in float, in chains of a few.
template <class Total, int values>
__device__ __forceinline__ Total squares_of(const float (&v)[values]) {
  if constexpr (sizeof(Total) == sizeof(double)) {
    return sum_of_any<Total, values>([&](int i) { return v[i] * v[i]; });
  } else {
    float sums[4] = {v[0] * v[0], v[1] * v[1], v[2] * v[2], v[3] * v[3]};
#pragma unroll
    for (int i = 4; i < values; ++i) sums[i % 4] = fmaf(v[i], v[i], sums[i % 4]);
    return sum_of_four(sums);
  }
}

// Sums about `near`, which may be moved.
struct SumsAbout {
  float near;
  double rest, squares;
  int count;

  __device__ __forceinline__ void move_to(float other) {
    const double apart = count == 0 ? 0 : static_cast<double>(near) - static_cast<double>(other);
    const double moved = count * apart;
    squares += apart * (2 * rest + moved);
    rest += moved;
    near = other;
  }
};

template <bool centers, class Row, class T>
__device__ __forceinline__ WarpFound norm_about_means(const Row& row, const RingEdge<T>& edge) {
  using Values = typename Row::Values;
  constexpr int a_pack = Values::a_pack;
  SumsAbout all = {0, 0, 0, 0};
  float near = 0;
  row.each_piece(0, [&](const Values& values, int) {
    float v[Values::count];
    values.unpack_to(v);
    int packs = 0;
#pragma unroll
    for (int k = 0; k < Values::each; ++k) packs += values.has(k) ? 1 : 0;
    SumsAbout piece = {0, 0, 0, packs * a_pack};
    if constexpr (centers) {
      if (all.count == 0) {
        near = tree_of<a_pack>([&](int w) { return v[w]; }) * (1.0f / a_pack);
        all.near = near;
      }
#pragma unroll
      for (int k = 0; k < Values::each; ++k) {
        const float from = values.has(k) ? near : 0.0f;
#pragma unroll
        for (int w = 0; w < a_pack; ++w) v[k * a_pack + w] -= from;
      }
      const float rest = float_sum(v);
      piece.near = near;
      piece.rest = static_cast<double>(rest);
      near += rest * (packs == Values::each
                          ? 1.0f / Values::count
                          : about_reciprocal(static_cast<float>(packs > 0 ? piece.count : 1)));
    }
    piece.squares = static_cast<double>(squares_of<RowSum<T>>(v));
    if constexpr (centers) piece.move_to(all.near);
    all = {all.near, all.rest + piece.rest, all.squares + piece.squares, all.count + piece.count};
  });
  if (edge.exists) {
    if (centers && all.count == 0) all.near = edge.value();
    const double apart = static_cast<double>(edge.value()) - static_cast<double>(all.near);
    if (centers) all.rest += apart;
    all.squares += apart * apart;
    ++all.count;
  }
  const int count = combine_lanes(all.count, warp_lanes, TotalSum{});
  if constexpr (!centers) {
    return {0, 0, static_cast<float>(combine_lanes(all.squares, warp_lanes, TotalSum{})),
            static_cast<float>(count)};
  }
  all.move_to(from_lane(all.near, 0));
  const Sums sums = combine_lanes(Sums{all.rest, all.squares}, warp_lanes, SumOfEach{});
  SumsAbout warp = {all.near, sums.first, sums.second, count};
  if (count > 0) warp.move_to(all.near + static_cast<float>(quotient(sums.first, count)));
  return {warp.near, static_cast<float>(warp.rest), static_cast<float>(warp.squares),
          static_cast<float>(count)};
}

// Of 16-bit types by the tensor cores, as packed_rows.hpp has it: sums about zero, where the mean's
// square is no more than a quarter of the variance. Else the slice, which is in the ring until its
// row is written, is looked at once more.
template <bool centers, class Row, class T>
__device__ __forceinline__ WarpFound norm_of_slice(const Row& row, const RingEdge<T>& edge) {
  if constexpr (sizeof(T) == 2) {
    using Values = typename Row::Values;
    const RingPlace begin = row.place;
    RestAndSquares<float> of_lane = {0.0f, 0.0f};
    int packs = 0;
    const auto add = [&](const TensorSums<T>& sums) {
      of_lane = SumOfRestAndSquares{}(of_lane, sums.of_lane());
    };
    row.each_piece(0, [&](const Values& values, int) {
      TensorSums<T> sums;
#pragma unroll
      for (const uint4& one : values.raw) {
        sums.template add<centers>(one.x, one.y);
        sums.template add<centers>(one.z, one.w);
      }
      add(sums);
      packs += values.warp_packs();
    });
    TensorSums<T> of_edge;
    of_edge.template add<centers>(edge.bits, 0);
    add(of_edge);
    const auto all = TensorSums<T>::template total_of<warp_lanes>(of_lane);
    const auto count = static_cast<float>(packs * Values::a_pack + edge.of_warp);
    if (!centers) return {0, 0, all.squares(), count};
    const bool is_good =
        all.squares() <= FLT_MAX && 5 * all.rest * all.rest <= count * all.squares();
    if (is_good) return {0, all.rest, all.squares(), count};
    row.place = begin;
  }
  return norm_about_means<centers>(row, edge);
}

}  // namespace KW_TARGET::rowwise
