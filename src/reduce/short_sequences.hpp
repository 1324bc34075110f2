// Short sequences, rows or segments.
//
// Idea        Sequences that fit a few lanes are reduced side by side, several a warp; longer ones
//             by a whole warp each. A group of lanes does the lowest levels of the tree, which are
//             all that a sequence of no more elements than the order has lanes needs.
#pragma once

#include "device/overlap.hpp"
#include "reduce/work_lists.hpp"

namespace KW_TARGET {

constexpr int packs_a_lane = 4;

// What a group of so many lanes takes at a time.
template <class T>
__host__ __device__ constexpr std::int64_t group_elements(int group) {
  return std::int64_t{group} * packs_a_lane * order_width<T>;
}
// The most elements that it takes: a whole warp takes two parts, which have all of the order's
// lanes with an element each.
template <class T>
__host__ __device__ constexpr std::int64_t most_of_group(int group) {
  return group < warp_lanes ? group_elements<T>(group) : 2 * group_elements<T>(warp_lanes);
}

// The lanes of a group over the elements of `packs`, which begin `part` elements into a sequence of
// `count`; each lane has four packs next to each other, so that most of the tree needs no other
// lane. The group's first lane has the result.
template <ReduceKind kind, class T>
__device__ __forceinline__ typename Accumulator<kind, T>::Partial reduce_part(
    const Packs<T>& packs, int member, int part, int count, Value<T> first, int group) {
  using A = Accumulator<kind, T>;
  constexpr int width = order_width<T>;
  Pack<T> loaded[packs_a_lane + 1] = {};
  const bool inside = sizeof(T) > 1 && packs.inside();  // of int8 there is no register for it
#pragma unroll
  for (int j = 0; j <= packs_a_lane; ++j) {
    const int pack = member * packs_a_lane + j;
    const bool needed = j < packs_a_lane || packs.skip > 0;
    if (needed && pack * width < packs.end) {
      loaded[j] = inside ? packs.load(pack) : packs.load_part(pack);
    }
  }
  if (packs.skip > 0) {
#pragma unroll
    for (int j = 0; j < packs_a_lane; ++j) {
      loaded[j] = straddling(loaded[j], loaded[j + 1], packs.skip);
    }
  }
  typename A::Partial partials[packs_a_lane];
#pragma unroll
  for (int j = 0; j < packs_a_lane; ++j) {
    Lanes<A, T> lanes;
    lanes.clear();
    lanes.add_part(loaded[j], part + (member * packs_a_lane + j) * width, count, first);
    partials[j] = tree_of_lanes(lanes);
  }
  typename A::Partial partial = tree_of_array<A>(partials);
#pragma unroll 1
  for (int step = 1; step < group; step *= 2) {
    A::merge(partial, from_lane_above(partial, step, group));
  }
  return partial;
}

// Sequences of `fewest` to most_of_group elements, 32 / group of them at a time, while the next
// ones are on their way to L2. `own` is this lane's one of the warp's sequences, of which there are
// `each`.
template <ReduceKind kind, class T>
__device__ __forceinline__ void reduce_by_groups(const T* data, const Extent& array, Span own,
                                                 std::int64_t fewest, int group, int each,
                                                 std::int64_t first_sequence,
                                                 const ResultSink& sink, int lane) {
  using A = Accumulator<kind, T>;
  const int member = lane % group;
  const auto part_elements = static_cast<int>(group_elements<T>(group));
#pragma unroll 1
  for (int i = lane / group; i - lane / group < each; i += warp_lanes / group) {
    const Span span = from_lane(own, i);
    const Span next = from_lane(own, (i + warp_lanes / group) % warp_lanes);
    const std::int64_t ahead = std::int64_t{member} * packs_a_lane * order_width<T>;
    if (i + warp_lanes / group < each && ahead < next.count)
      prefetch_line_to_l2(data + next.begin + ahead);
    const bool mine = span.count >= fewest && span.count <= most_of_group<T>(group);
    if (!__any_sync(whole_warp(), mine)) continue;
    Chunk<T> chunk;
    chunk.count = mine ? span.count : 0;
    const T* begin = data + span.begin;
    if (chunk.count > 0) chunk.first = to_value(*begin);
    typename A::Partial whole = A::empty();
    int part = 0;
#pragma unroll 1
    do {
      const auto left = static_cast<int>(chunk.count) - part;
      const Packs<T> packs(begin + part, min(left, part_elements), array);
      const typename A::Partial partial = reduce_part<kind, T>(
          packs, member, part, static_cast<int>(chunk.count), chunk.first, group);
      A::merge(whole, partial);  // into nothing at first
      part += part_elements;
    } while (part < chunk.count && group == warp_lanes);
    if (mine && member == 0) {
      write_result<T, kind>(sink, first_sequence + i, A::total(whole, chunk), chunk.count);
    }
  }
}

// Sequences that fit a warp's lanes, `each` a warp, 32 at most; longer ones go on the lists. Groups
// of `group` lanes take those that fit them, all 32 lanes what is left.
template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, kind == ReduceKind::moments ? 2 : 3)
    reduce_short_kernel(const T* data, Sequences sequences, int group, int each, WorkLists lists,
                        ResultSink sink) {
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const std::int64_t first = this_warp() * each;
  wait_for_previous_kernel();
  if (first >= sequences.count) return;
  const Extent array = extent_of(data, sequences.elements);
  const bool has_one = lane < each && first + lane < sequences.count;
  const Span own = has_one ? sequences.at(first + lane) : Span{0, -1};

  std::int64_t fewest = 0;
#pragma unroll 1
  for (; group <= warp_lanes; group = group < warp_lanes ? warp_lanes : 2 * warp_lanes) {
    const std::int64_t most = most_of_group<T>(group);
    if (__any_sync(whole_warp(), own.count >= fewest && own.count <= most)) {
      reduce_by_groups<kind, T>(data, array, own, fewest, group, each, first, sink, lane);
    }
    fewest = most + 1;
  }
  if (__any_sync(whole_warp(), own.count >= fewest)) {
    put_on_lists<T>(lists, first + lane, own, fewest, lane);
  }
}

}  // namespace KW_TARGET
