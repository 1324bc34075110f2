// What the threads that find totals do with a slice in the ring, piece by piece.
//
// Softmax     Each thread has its own largest value so far, and the sum of exponentials from there.
// Norms       A thread takes differences to the mean of its piece before, at first to that of a
//             pack; the sums of these become those about the first one, in double: so little that
//             is large beside the deviation is rounded in float, wherever the mean wanders.
#pragma once

#include "rowwise/ring_memory.hpp"

namespace KW_TARGET::rowwise {

template <class T>
__device__ __forceinline__ WarpFound softmax_of_slice(const RingRow<T, ring_finders>& row,
                                                      float edge, bool has_edge) {
  using Values = RingValues<T, ring_finders>;
  float largest = -FLT_MAX;
  double sum = 0;
  row.each_piece(-INFINITY, [&](Values& values, int, int) {
    const float of_piece = largest_of(values.v);
    if (of_piece > largest) {
      sum *= static_cast<double>(exp_of(largest - of_piece, false));
      largest = of_piece;
    }
    sum += sum_of_any<double, Values::count>(
        [&](int i) { return exp_of(values.v[i] - largest, true); });
  });
  // Last: it comes from memory by itself.
  if (has_edge) {
    const float both = fmaxf(edge, largest);
    sum = sum * static_cast<double>(exp_of(largest - both, false)) +
          static_cast<double>(exp_of(edge - both, true));
    largest = both;
  }
  const float of_warp = combine_lanes(largest, warp_lanes, Larger{});
  sum *= static_cast<double>(exp_of(largest - of_warp, false));
  return {of_warp, static_cast<float>(combine_lanes(sum, warp_lanes, TotalSum{})), 0, 0};
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

template <bool centers, class T>
__device__ __forceinline__ WarpFound norm_of_slice(const RingRow<T, ring_finders>& row, float edge,
                                                   bool has_edge) {
  using Values = RingValues<T, ring_finders>;
  constexpr int a_pack = Values::a_pack;
  SumsAbout all = {0, 0, 0, 0};
  float near = 0;
  row.each_piece(0.0f, [&](Values& values, int, int) {
    auto& v = values.v;
    int packs = 0;
#pragma unroll
    for (int k = 0; k < Values::each; ++k) packs += values.has(k * a_pack) ? 1 : 0;
    SumsAbout piece = {0, 0, 0, packs * a_pack};
    if constexpr (centers) {
      if (all.count == 0) {
        near = tree_of<a_pack>([&](int w) { return v[w]; }) * (1.0f / a_pack);
        all.near = near;
      }
#pragma unroll
      for (int k = 0; k < Values::each; ++k) {
        const float from = values.has(k * a_pack) ? near : 0.0f;
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
  if (has_edge) {
    if (centers && all.count == 0) all.near = edge;
    const double apart = static_cast<double>(edge) - static_cast<double>(all.near);
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

}  // namespace KW_TARGET::rowwise
