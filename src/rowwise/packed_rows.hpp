// Rows of 16-bit types: in registers as they are in memory, a pack of them made float where it is
// used, once for the sums and once for y.
//
// Idea        Instructions bound these rows, not memory. What a row costs each of its threads is
//             spread over as many elements as the thread has, and as they were loaded it has twice
//             as many as in float.
#pragma once

#include "rowwise/plain_totals.hpp"
#include "rowwise/plain_values.hpp"
#include "rowwise/tensor_sums.hpp"

namespace KW_TARGET::rowwise {

// The larger ones of two pairs; a number, where the other one is none.
template <class T>
__device__ __forceinline__ std::uint32_t larger_pair(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint32_t larger;
  if constexpr (std::is_same_v<T, float16>)
    asm("max.f16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
  else
    asm("max.bf16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
  return larger;
#else
  float of_a[2], of_b[2];
  unpack_pair(a, T{}, of_a);
  unpack_pair(b, T{}, of_b);
  return two_of(fmaxf(of_a[0], of_b[0]), fmaxf(of_a[1], of_b[1]), T{});
#endif
}

template <class T, int packs>
__device__ __forceinline__ float largest_of_packs(const uint4 (&raw)[packs],
                                                  std::uint32_t nothing) {
  std::uint32_t pairs[2] = {nothing, nothing};
#pragma unroll
  for (const uint4& one : raw) {
    pairs[0] = larger_pair<T>(pairs[0], larger_pair<T>(one.x, one.y));
    pairs[1] = larger_pair<T>(pairs[1], larger_pair<T>(one.z, one.w));
  }
  float both[2];
  unpack_pair(larger_pair<T>(pairs[0], pairs[1]), T{}, both);
  return fmaxf(both[0], both[1]);
}

template <bool softmax, class T, int lanes, int packs>
struct PackedValues : PlainPlaces<lanes> {
  using Loads = PlainLoads<softmax, T, lanes, packs>;
  using Places = PlainPlaces<lanes>;
  using Places::edge_count, Places::has, Places::has_edge, Places::left, Places::part,
      Places::place;
  static constexpr int a_pack = a_pack_of<T>, edges = Loads::edges;
  uint4 raw[packs];
  std::uint32_t edge[edges];

  __device__ __forceinline__ PackedValues(const Loads& loads, const PlainPart& own)
      : Places(loads, own) {
#pragma unroll
    for (int k = 0; k < packs; ++k) raw[k] = loads.raw[k];
#pragma unroll
    for (int k = 0; k < edges; ++k) edge[k] = loads.edge[k];
  }

  // Of the row's packs.
  __device__ __forceinline__ int pack_of(int k) const {
    return part.warp_first + place + k * lanes;
  }
  // body(k, values) of each pack that this thread has.
  template <class Body>
  __device__ __forceinline__ void each_pack(const Body& body, float = 0) const {
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      if (!has(k)) {
        if (k > 0 || !part.shifts) break;
        continue;
      }
      float v[a_pack];
      unpack(raw[k], T{}, v);
      body(k, v);
    }
  }
  template <class Body>
  __device__ __forceinline__ void each_edge(const Body& body) const {
#pragma unroll
    for (int k = 0; k < edges; ++k)
      if (has_edge(k)) body(k, to_value(T{static_cast<std::uint16_t>(edge[k])}));
  }

  template <class Planes>
  __device__ __forceinline__ void scale_edge(const Planes& planes, int k, float* v) const {
    planes.scale_edge(this->cut, part.lane + k * lanes, v);
  }

  // Of a softmax's values, at least the smallest number.
  __device__ __forceinline__ float largest() const {
    float largest = -FLT_MAX;
    each_edge([&](int, float v) { largest = fmaxf(largest, v); });
    return fmaxf(largest, largest_of_packs<T>(raw, Loads::nothing));
  }
  // Of a norm's, over the lanes: absent ones are 0.
  template <bool with_rest>
  __device__ __forceinline__ RestAndSquares<float> sums() const {
    TensorSums<T> sums;
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      sums.template add<with_rest>(raw[k].x, raw[k].y);
      sums.template add<with_rest>(raw[k].z, raw[k].w);
    }
#pragma unroll
    for (int k = 0; k < edges; k += 4) {
      const auto pair = [&](int i) {
        return (i < edges ? edge[i] : 0u) | (i + 1 < edges ? edge[i + 1] << 16 : 0u);
      };
      sums.template add<with_rest>(pair(k), pair(k + 2));
    }
    return sums.template total<lanes>();
  }
  // Elements that the warp, or its lanes of the row, have.
  __device__ __forceinline__ int count() const { return max(left, 0) * a_pack + edge_count(); }
};

// y of a softmax.
template <bool logs, int lanes, class Row, class Output, class Team>
__device__ __forceinline__ void softmax_packed(Row& row, const Output& y, Team& team) {
  using Unit = SoftmaxUnit<true>;
  const Unit unit = {combine_lanes(row.largest(), lanes, Larger{})};
  const SoftmaxOrigin origin(unit);
  const auto exponential = [&](float v) { return origin.exponential(v); };
  float sum = 0;
  row.each_pack([&](int, const float(&v)[Row::a_pack]) {
    sum += tree_of<Row::a_pack>([&](int w) { return exponential(v[w]); });
  });
  row.each_edge([&](int, float v) { sum += exponential(v); });
  sum = combine_lanes(sum, lanes, TotalSum{});

  RowTotal total;
  if constexpr (Team::is_alone)
    total = {unit.largest, softmax_by(logs, static_cast<double>(sum)), 0, 0};
  else
    total = team.meet(WarpFound{unit.largest, sum, 0, 0}, SoftmaxMeeting<float, true, logs>{});
  const auto finish = [&](const auto& each) {
    row.each_pack([&](int k, float(&v)[Row::a_pack]) {
#pragma unroll
      for (float& one : v) one = each(one);
      y.store(row, k, v);
    });
    row.each_edge([&](int k, float v) { y.store_edge(row, k, each(v)); });
  };
  if constexpr (logs) {
    const float by = total.y + Unit{total.x}.log();
    finish([&](float v) { return (v - total.x) - by; });
  } else {
    float by = total.y;
    if constexpr (!Team::is_alone) by *= unit.in(Unit{total.x});
    finish([&](float v) { return exponential(v) * by; });
  }
}

// Of a part of a layer norm's row. Sums about zero lose what the mean's square is beyond the
// variance, so they do where it is no more than a quarter of that; else there are those about the
// part's own mean.
template <int lanes, class Row>
__device__ __forceinline__ FoundNorm<float> centred_sums(const Row& row) {
  const RestAndSquares<float> about_zero = row.template sums<true>();
  const auto count = static_cast<float>(row.count());
  const bool is_good =
      !(count > 0) || 5 * about_zero.rest * about_zero.rest <= count * about_zero.squares();
  if (!any_of_warp(!is_good)) return {0, about_zero.rest, about_zero.squares()};
  const float near = count > 0 ? about_zero.rest * about_reciprocal(count) : 0.0f;
  float rests[4] = {}, squares[4] = {};
  const auto add = [&](int place, float v) {
    v -= near;
    rests[place % 4] += v;
    squares[place % 4] = fmaf(v, v, squares[place % 4]);
  };
  row.each_pack(
      [&](int, const float(&v)[Row::a_pack]) {
#pragma unroll
        for (int w = 0; w < Row::a_pack; ++w) add(w, v[w]);
      },
      near);
  row.each_edge([&](int k, float v) { add(k, v); });
  const auto sums = combine_lanes(RestAndSquares<float>{sum_of_four(rests), sum_of_four(squares)},
                                  lanes, SumOfRestAndSquares{});
  return {near, sums.rest, sums.squares()};
}

// each(v), by gamma and beta, is y.
template <int lanes, class Row, class Output, class Planes, class Each>
__device__ __forceinline__ void finish_packed(const Row& row, const Output& y, const Planes& planes,
                                              bool scales, const Each& each) {
  const int first = planes.first / Row::a_pack;
  const auto places = planes.places(row.cut.head, row.pack_of(0) - first);
  row.each_pack([&](int k, float(&v)[Row::a_pack]) {
#pragma unroll
    for (float& one : v) one = each(one);
    if (scales) planes.scale_pack(places, row.pack_of(k) - row.pack_of(0), v);
    y.store(row, k, v);
  });
  row.each_edge([&](int k, float v) {
    v = each(v);
    if (scales) row.scale_edge(planes, k, &v);
    y.store_edge(row, k, v);
  });
}

// y of a norm; `count_inverse` is 1 / p.cols.
template <bool centers, int lanes, class Row, class Output, class Planes, class Team>
__device__ __forceinline__ void normalise_packed(const Row& row, const Output& y,
                                                 const Planes& planes, bool scales,
                                                 float count_inverse, float epsilon, Team& team) {
  FoundNorm<float> all;
  if constexpr (centers)
    all = centred_sums<lanes>(row);
  else
    all = {0, 0, row.template sums<false>().squares()};
  const NormMeeting<float, centers, Team::looks_again> meeting = {count_inverse, epsilon};
  RowTotal total;
  if constexpr (Team::is_alone)
    total = meeting.of(all);
  else
    total = team.meet(WarpFound{all.near, all.rest, all.squares, static_cast<float>(row.count())},
                      meeting);
  if constexpr (centers) {
    if (any_of_warp(total.x != 0))
      finish_packed<lanes>(row, y, planes, scales,
                           [&](float v) { return fmaf(v - total.x, total.y, total.z); });
    else
      finish_packed<lanes>(row, y, planes, scales,
                           [&](float v) { return fmaf(v, total.y, total.z); });
  } else {
    finish_packed<lanes>(row, y, planes, scales, [&](float v) { return v * total.y; });
  }
}

// y of a row, of which `values` are.
template <bool softmax, int lanes, class Row, class Output, class Planes, class Team>
__device__ __forceinline__ void compute_packed(const Rowwise& p, const Output& y, Row& values,
                                               const Planes& planes, bool scales,
                                               float count_inverse, Team& team) {
  if constexpr (softmax) {
    if (p.op == RowwiseOp::log_softmax)
      softmax_packed<true, lanes>(values, y, team);
    else
      softmax_packed<false, lanes>(values, y, team);
  } else {
    if (p.op == RowwiseOp::layer_norm)
      normalise_packed<true, lanes>(values, y, planes, scales, count_inverse, p.epsilon, team);
    else
      normalise_packed<false, lanes>(values, y, planes, scales, count_inverse, p.epsilon, team);
  }
}

}  // namespace KW_TARGET::rowwise
