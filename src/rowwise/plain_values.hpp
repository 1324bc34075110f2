// A thread's part of a plain row: its packs and edges as they were loaded, and as values.
#pragma once

#include <algorithm>
#include <cfloat>
#include <utility>

#include "rowwise/pack_steps.hpp"
#include "rowwise/warp_teams.hpp"

namespace KW_TARGET::rowwise {

// Packs of a thread.
template <class T>
constexpr int plain_packs = sizeof(T) == 4 ? plain_packs_of_4 : plain_packs_of_2;
template <class T>
constexpr int plain_some_packs = sizeof(T) == 4 ? plain_packs_of_4 : plain_some_packs_of_2;
template <class T>
constexpr int plain_most_packs = sizeof(T) == 4 ? plain_packs_of_4 : plain_most_packs_of_2;
// Where a warp is alone with a row, at most.
template <bool softmax, class T>
constexpr int plain_alone_packs = sizeof(T) == 2 ? plain_alone_packs_of_2
                                  : softmax      ? plain_lone_rows_of_4.back().packs
                                                 : plain_norm_alone_packs_of_4;
// Where lanes of a warp have a row: whether they have no other one on its way.
template <bool softmax, class T, int lanes, int packs>
constexpr bool is_lone_row = plain_is_lone(softmax, sizeof(T), lanes, packs);
// The packs that lanes of a warp may have.
template <bool softmax, class T>
using PlainPackCounts = std::conditional_t<
    sizeof(T) == 4,
    std::conditional_t<
        softmax,
        std::integer_sequence<int, plain_lone_rows_of_4[0].packs, plain_lone_rows_of_4[1].packs,
                              plain_packs<T>, plain_lone_rows_of_4[2].packs,
                              plain_alone_packs<softmax, T>>,
        std::integer_sequence<int, plain_packs<T>, plain_alone_packs<softmax, T>>>,
    std::conditional_t<
        softmax,
        std::integer_sequence<int, 2, 3, 4, 5, plain_most_packs<T>, plain_alone_packs<softmax, T>>,
        std::integer_sequence<int, 3, plain_packs<T>, plain_some_packs<T>, plain_most_packs<T>,
                              plain_alone_packs<softmax, T>>>>;
// Whether so many lanes of a warp may have so many.
template <bool softmax, class T>
constexpr bool plain_has_lanes(int lanes, int packs) {
  const auto is_one = [&](const LoneTeam& team) {
    return team.lanes == lanes && team.packs == packs;
  };
  if (sizeof(T) == 2 && softmax) return std::ranges::any_of(plain_lone_softmax_of_2, is_one);
  if (sizeof(T) == 2 && packs < plain_packs_of_2)
    return std::ranges::any_of(plain_lone_norm_of_2, is_one);
  if (sizeof(T) == 4 && packs < plain_packs_of_4) return plain_has_lone_row_of_4(lanes, packs);
  return packs <= plain_some_packs<T> || lanes == warp_lanes;
}
template <class T>
constexpr int plain_block_packs = sizeof(T) == 4 ? plain_packs_of_4 : plain_block_packs_of_2;
// Blocks of a multiprocessor whose rows are lanes': norms of few packs want fewer registers.
template <bool softmax, class T>
constexpr int plain_lane_blocks(int lanes, int packs) {
  if (plain_is_lone(softmax, sizeof(T), lanes, packs))
    return sizeof(T) == 4 ? plain_lone_blocks_of_4(packs) : plain_lone_blocks_of_2(packs);
  if (sizeof(T) == 2 && !softmax && packs == plain_packs<T>) return 7;
  return plain_sm_threads(packs) / plain_lane_threads;
}
// Lanes that have so many packs on Hopper alone; elsewhere registers would spill.
template <bool softmax, class T, int packs>
constexpr bool is_lanes_on_hopper = sizeof(T) == 4 ? softmax&& packs != plain_packs<T>
                                                   : packs > plain_most_packs<T> ||
                                                         (!softmax && packs != plain_packs<T> &&
                                                          packs != plain_most_packs<T>);
// Whether lanes' packs are whole sectors of memory.
template <bool softmax, class T, int lanes, int packs>
constexpr bool shifts_lanes = sizeof(T) == 4 || !is_lone_row<softmax, T, lanes, packs>;
template <class T>
constexpr int plain_threads = sizeof(T) == 4 ? plain_threads_of_4 : plain_threads_of_2;
// Threads of a cluster's block, at most.
template <bool softmax, class T, bool several, bool large>
constexpr int plain_cluster_threads = several          ? plain_teams_threads(large, sizeof(T))
                                      : large          ? plain_large_threads(softmax, sizeof(T))
                                      : sizeof(T) == 2 ? plain_cluster_threads_of_2
                                      : softmax        ? plain_sm_threads(plain_packs_of_4)
                                                       : plain_cluster_threads_of_4;
// Edges of a thread, where so many lanes have a row or the first part of one.
template <class T>
constexpr int plain_edges(int lanes) {
  return (most_edges_of<T> + lanes - 1) / lanes;
}

// Which part of each row a thread has. Its packs are `lanes` apart, so those of a warp lie
// together.
struct PlainPart {
  int warp_first;  // pack of a row, of this thread's warp or of its part of one
  int most;        // packs of that part
  int lane;
  bool has_edges;
  bool shifts = false;  // so that lanes' packs are whole sectors of memory
};

__device__ __forceinline__ bool is_within(int place, int count) {
  return static_cast<unsigned>(place) < static_cast<unsigned>(max(count, 0));
}

// -infinity in each element of a word.
template <class T>
constexpr std::uint32_t nothing_to_softmax = sizeof(T) == 4               ? 0xFF800000u
                                             : std::is_same_v<T, float16> ? 0xFC00FC00u
                                                                          : 0xFF80FF80u;

// What is loaded of one row, long before it is used.
template <bool softmax, class T, int lanes, int packs>
struct PlainLoads {
  static constexpr int edges = plain_edges<T>(lanes);
  // What is absent: -infinity to a softmax, else 0.
  static constexpr std::uint32_t nothing = softmax ? nothing_to_softmax<T> : 0u;
  bool exists;  // a row that is not past the last one
  RowCut cut;
  int place;  // of the thread's first pack, from the warp's first one on; may be below
  uint4 raw[packs];
  std::uint32_t edge[edges];

  // cut_of(row's address) is its cut.
  template <class CutOf>
  __device__ __forceinline__ void load(const Rowwise& p, const PlainLaunch& launch,
                                       const PlainPart& part, int row, int end,
                                       const CutOf& cut_of) {
    const auto* const x = reinterpret_cast<const T*>(
        static_cast<const char*>(p.x) + std::uint64_t{static_cast<unsigned>(row)} * launch.ldx);
    exists = row < end;
    cut = cut_of(x);
    const int left = packs_of(part);
    place = part.lane;
    if (part.shifts) place -= second_of_sector(p, launch, row);
    const auto* const from =
        reinterpret_cast<const uint4*>(x + cut.head) + (part.warp_first + place);
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      raw[k] = make_uint4(nothing, nothing, nothing, nothing);
      if (is_within(place + k * lanes, left)) raw[k] = from[k * lanes];
    }
#pragma unroll
    for (int k = 0; k < edges; ++k) {
      edge[k] = nothing;
      const int i = part.lane + k * lanes;
      if (exists && part.has_edges && i < cut.edges)
        edge[k] = bits_of_element(x + cut.template edge<T>(i));
    }
  }

  // Of the warp.
  __device__ __forceinline__ int packs_of(const PlainPart& part) const {
    return exists ? min(cut.packs - part.warp_first, part.most) : 0;
  }

 private:
  // 1 where the first pack of y's row is a sector's second half.
  __device__ __forceinline__ int second_of_sector(const Rowwise& p, const PlainLaunch& launch,
                                                  int row) const {
    const unsigned y = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p.y)) +
                       static_cast<unsigned>(row) * launch.ldy;
    return static_cast<int>((y + static_cast<unsigned>(cut.head) * sizeof(T)) / pack_bytes % 2);
  }
};

// Which packs and edges of a row a thread has, whatever form they are in.
template <int lanes>
struct PlainPlaces {
  bool exists;
  RowCut cut;
  PlainPart part;
  int place;
  int left;  // packs of the warp

  template <class Loads>
  __device__ __forceinline__ PlainPlaces(const Loads& loads, const PlainPart& part_)
      : exists(loads.exists),
        cut(loads.cut),
        part(part_),
        place(loads.place),
        left(loads.packs_of(part)) {}

  __device__ __forceinline__ bool has(int k) const { return is_within(place + k * lanes, left); }
  __device__ __forceinline__ bool has_edge(int k) const {
    return exists && part.has_edges && part.lane + k * lanes < cut.edges;
  }
  __device__ __forceinline__ int edge_count() const { return part.has_edges ? cut.edges : 0; }
};

// Where a thread's part of y is.
template <class T, int lanes>
struct PlainOutput {
  T* y;
  uint4* to;

  template <class Row>
  __device__ __forceinline__ PlainOutput(const Rowwise& p, const PlainLaunch& launch,
                                         const Row& row, int index)
      : y(reinterpret_cast<T*>(static_cast<char*>(p.y) +
                               std::uint64_t{static_cast<unsigned>(index)} * launch.ldy)),
        to(reinterpret_cast<uint4*>(y + row.cut.head) + row.part.warp_first + row.place) {}

  template <class Row>
  __device__ __forceinline__ void store(const Row&, int k, const float* v) const {
    to[k * lanes] = packed_as<T>(v);
  }
  template <class Row>
  __device__ __forceinline__ void store_edge(const Row& row, int k, float v) const {
    store_one(y + row.cut.template edge<T>(row.part.lane + k * lanes), v);
  }
};

// A thread's part as values.
template <bool softmax, class T, int lanes, int packs_>
struct PlainValues : PlainPlaces<lanes> {
  static constexpr int packs = packs_;
  using Loads = PlainLoads<softmax, T, lanes, packs>;
  using Places = PlainPlaces<lanes>;
  using Places::cut, Places::edge_count, Places::has, Places::has_edge, Places::left, Places::part,
      Places::place;
  static constexpr int a_pack = a_pack_of<T>, edges = Loads::edges;
  float v[packs * a_pack];
  float edge[edges];

  __device__ __forceinline__ PlainValues(const Loads& loads, const PlainPart& own)
      : Places(loads, own) {
#pragma unroll
    for (int k = 0; k < packs; ++k) unpack(loads.raw[k], T{}, v + k * a_pack);
#pragma unroll
    for (int k = 0; k < edges; ++k) {
      if constexpr (sizeof(T) == 4)
        edge[k] = std::bit_cast<float>(loads.edge[k]);
      else
        edge[k] = to_value(T{static_cast<std::uint16_t>(loads.edge[k])});
    }
  }

  template <class Body>
  __device__ __forceinline__ void each(const Body& body) {
#pragma unroll
    for (float& value : v) body(value);
#pragma unroll
    for (float& value : edge) body(value);
  }
  // Whether any lane has it: what no lane has is passed over.
  __device__ __forceinline__ bool any_has(int k) const {
    return k == 0 || k * lanes < left + shift();
  }
  // Of a softmax's values, at least the smallest number.
  __device__ __forceinline__ float largest() const {
    float largest = -FLT_MAX;
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      if (!any_has(k)) continue;
#pragma unroll
      for (int w = 0; w < a_pack; ++w) largest = fmaxf(largest, v[k * a_pack + w]);
    }
#pragma unroll
    for (float each : edge) largest = fmaxf(largest, each);
    return largest;
  }
  // Elements that the warp, or its lanes of the row, have.
  __device__ __forceinline__ int count() const {
    return count_of(lanes * packs) * a_pack + edge_count();
  }
  // Those of which mean_of_first is.
  __device__ __forceinline__ int count_of_first() const {
    return count_of(lanes - shift()) * 4 + edge_count();
  }
  __device__ __forceinline__ float sum_of_first() const {
    float sum = (v[0] + v[1]) + (v[2] + v[3]);
#pragma unroll
    for (float each : edge) sum += each;
    return sum;
  }

  // y.
  __device__ __forceinline__ void store(const Rowwise& p, const PlainLaunch& launch,
                                        int row) const {
    const PlainOutput<T, lanes> y(p, launch, *this, row);
#pragma unroll
    for (int k = 0; k < packs; ++k)
      if (has(k)) y.store(*this, k, v + k * a_pack);
    if (!part.has_edges) return;
#pragma unroll
    for (int k = 0; k < edges; ++k)
      if (has_edge(k)) y.store_edge(*this, k, edge[k]);
  }

 private:
  __device__ __forceinline__ int shift() const { return part.lane - place; }
  __device__ __forceinline__ int count_of(int most) const { return max(min(left, most), 0); }
};

}  // namespace KW_TARGET::rowwise
