// How lanes walk over a sequence in a stage (stage.hpp) where the order of its elements cannot
// show: by packs at memory's own boundaries, wherever the sequence begins. What packs have before
// its first element and after its last one is replaced by elements that change nothing
// (neutral.hpp).
#pragma once

#include "reduce/numbers/neutral.hpp"
#include "reduce/walk/stage.hpp"
#include "reduce/walk/walk.hpp"

namespace KW_TARGET {

// A sequence in a stage: `skip` of its elements would lie between the boundary before and the first
// one.
template <class T>
struct StagedRun {
  const unsigned char* boundary;
  int skip, count;

  __device__ __forceinline__ const unsigned char* begin() const {
    return boundary + skip * static_cast<int>(sizeof(T));
  }
  // Of a sequence that has one.
  __device__ __forceinline__ T first() const { return *reinterpret_cast<const T*>(begin()); }
};

// What changes nothing beside elements of a sequence that begins with `first`: nothing, what a
// place is never found of, or the first element once more.
template <class A, class T>
__device__ __forceinline__ T neutral_element([[maybe_unused]] T first) {
  if constexpr (!needs_first_element<A>) {
    return T{};
  } else if constexpr (compares_places<A>) {
    return from_value<T>(A::last());
  } else {
    return first;
  }
}

// One lane's walk: every group-th pack from pack `member` on.
template <class A, class T>
__device__ __forceinline__ typename A::Partial walk_packs(const StagedRun<T>& run, int member,
                                                          int group, T first) {
  static_assert(A::any_order);
  constexpr int width = order_width<T>, at_once = 4;
  const int end = run.count > 0 ? run.skip + run.count : 0, step = group * width;
  const Value<T> first_value = to_value(first);
  std::uint32_t high = 0;
  const std::uint32_t low = fill_words(neutral_element<A>(first), &high);
  Lanes<A, T> lanes;
  lanes.clear();
  const unsigned char* from = run.boundary + member * 16;
  int position = member * width;
  const auto add = [&](const Pack<T>& pack, int number) {
    lanes.add_pack(pack, position + number * step - run.skip, first_value);
  };
  const auto advance = [&](int packs) { from += packs * group * 16, position += packs * step; };
  if (position < end) {
    Pack<T> pack = read_pack<T>(from);
    fill_beyond(pack, end - position, low, high);
    Pack<T> filled = {{low, high, low, high}};
    fill_beyond(filled, member == 0 ? run.skip : 0, pack.words);
    add(filled, 0);
    advance(1);
  }
#pragma unroll 1
  while (position + (at_once - 1) * step + width <= end) {
    Pack<T> packs[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) packs[i] = read_pack<T>(from + i * group * 16);
#pragma unroll
    for (int i = 0; i < at_once; ++i) add(packs[i], i);
    advance(at_once);
  }
#pragma unroll 1
  while (position < end) {
    Pack<T> pack = read_pack<T>(from);
    fill_beyond(pack, end - position, low, high);
    add(pack, 0);
    advance(1);
  }
  return tree_of_lanes(lanes);
}

}  // namespace KW_TARGET
