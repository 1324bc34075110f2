// How one warp reduces a tile: sequences that lie in its stage, 32 at most.
//
//   unit       2^k packs next to each other of one sequence: k is such that the longest sequence
//              has eight units and the tile 128 or so. The lanes go over the units of all sequences
//              one after the other, 2^k lanes a unit, a pack each; neighbours merge by the lowest k
//              levels of the tree. So lengths that differ leave few lanes idle.
//   sequence   A lane merges the units of its sequence by the levels above.
//
// Every pack of a sequence that is no longer than the order's lanes has lanes of its own, so this
// is order.hpp's tree.
#pragma once

#include "device/warp.hpp"
#include "reduce/result.hpp"
#include "reduce/stage.hpp"
#include "reduce/tile_layout.hpp"
#include "reduce/walk.hpp"

namespace KW_TARGET {

// Where the elements of a lane's sequence lie in the stage, in elements from its beginning on, and
// how many they are; none of a lane that has no sequence.
struct TileEntry {
  int position, count;
};

// What a warp needs beside its stages.
template <class A>
struct TileMemory {
  using Partial = typename A::Partial;
  struct Entry {
    int position, count, first_unit, unused;
  };
  Entry entries[tile_sequences];
  std::uint8_t owners[most_units];  // whose unit it is
  Partial partials[1];              // of each unit, or of each place of a strip (strips.hpp)
};

template <class A, class T>
class TileOfWarp {
 public:
  using Partial = typename A::Partial;
  static constexpr int width = order_width<T>;

  __device__ __forceinline__ TileOfWarp(TileMemory<A>& memory, int lane)
      : memory_(memory), lane_(lane) {}

  // The result of each lane's sequence of unit_packs packs at most, in that lane.
  template <bool needs_first>
  __device__ __forceinline__ Partial reduce(const unsigned char* stage, const TileEntry& own) {
    const int packs = own.count > 0 ? (own.count + width - 1) / width : 0;
    const bool on_boundary =
        __all_sync(whole_warp(), own.count <= 0 || own.position % width == 0);
    const int longest = static_cast<int>(largest_of_warp(static_cast<std::uint32_t>(packs)));
    const int all = sum_of_warp(packs);
    int shift = 0;
    while ((most_units_each << shift) < longest || (most_full_units << shift) < all) ++shift;
    const int units = (packs + (1 << shift) - 1) >> shift;
    const int up_to = static_cast<int>(sum_up_to_lane(static_cast<unsigned>(units), lane_));
    const int first_unit = up_to - units;
    memory_.entries[lane_] = {own.position, own.count, first_unit, 0};
    for (int i = 0; i < units; ++i) {
      memory_.owners[first_unit + i] = static_cast<std::uint8_t>(lane_);
    }
    const int total_units = __shfl_sync(whole_warp(), up_to, warp_lanes - 1, warp_lanes);
    __syncwarp(whole_warp());
    const int at_once = warp_lanes >> shift;
#pragma unroll 1
    for (int unit = lane_ >> shift; unit - (lane_ >> shift) < total_units; unit += 2 * at_once) {
      Partial partials[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        partials[i] = of_unit<needs_first>(stage, unit + i * at_once, total_units, shift,
                                           on_boundary);
      }
      for (int step = 1; step < 1 << shift; step *= 2) {
#pragma unroll
        for (int i = 0; i < 2; ++i) A::merge(partials[i], from_lane_above(partials[i], step));
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int mine = unit + i * at_once;
        if (mine < total_units && (lane_ & ((1 << shift) - 1)) == 0)
          memory_.partials[mine] = partials[i];
      }
    }
    __syncwarp(whole_warp());
    Partial of_units[most_units_each];
#pragma unroll
    for (int i = 0; i < most_units_each; ++i) {
      of_units[i] = A::empty();
      if (i < units) of_units[i] = memory_.partials[first_unit + i];
    }
    __syncwarp(whole_warp());
    return tree_of_array<A>(of_units);
  }

 private:
  __device__ __forceinline__ static int sum_of_warp(int value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_add_sync(whole_warp(), value);
#else
    for (int step = warp_lanes / 2; step > 0; step /= 2) value += from_lane_above(value, step);
    return from_lane(value, 0);
#endif
  }

  // This lane's pack of a unit.
  template <bool needs_first>
  __device__ __forceinline__ Partial of_unit(const unsigned char* stage, int unit, int total_units,
                                             int shift, bool on_boundary) const {
    Lanes<A, T> lanes;
    lanes.clear();
    if (unit < total_units) {
      const auto entry = memory_.entries[memory_.owners[unit]];
      const int pack = ((unit - entry.first_unit) << shift) + (lane_ & ((1 << shift) - 1));
      const int at = pack * width;
      const unsigned char* sequence = stage + entry.position * static_cast<int>(sizeof(T));
      Value<T> first = {};
      if constexpr (needs_first) first = to_value(*reinterpret_cast<const T*>(sequence));
      if (at < entry.count) {
        const unsigned char* from = sequence + pack * 16;
        const Pack<T> loaded = on_boundary
                                   ? read_pack<T>(from)
                                   : load_staged_anywhere<T>(from, entry.position % width);
        lanes.add_part(loaded, at, entry.count, first);
      }
    }
    return tree_of_lanes(lanes);
  }

  TileMemory<A>& memory_;
  int lane_;
};

}  // namespace KW_TARGET
