// How a warp of attention_split's warpgroups comes by its queries as they are.
#pragma once

#include "attention/split_parts.hpp"

namespace KW_TARGET::attention_split {

// Of the warpgroup's 64 queries of a tile a warp has 16, from `first_row` on.
template <int dim>
struct WarpQueries {
  using Shared = SplitShared<dim>;
  int group, first_row, lane;

  // Two neighbours of each 8 elements of this thread's query r, as an operand has them.
  __device__ __forceinline__ void load(const Attention& p, const SplitTile& tile, int r,
                                       float (&x)[dim / 4]) const {
    const AttentionHead& head = tile.head;
    const std::int64_t query = tile.own_queries[group] + own_row() + 8 * r;
    const float* const from = head.q + query * p.q_strides.row;
    const bool there = query < head.queries,
               aligned = reinterpret_cast<std::uintptr_t>(from) % 8 == 0;
#pragma unroll
    for (int i = 0; i < dim / 8; ++i) {
      const int d = 8 * i + lane % 4 * 2;
      float2 pair = make_float2(0, 0);
      if (there && aligned && d + 1 < p.dim) {
        pair = *reinterpret_cast<const float2*>(from + d);
      } else if (there) {
        if (d < p.dim) pair.x = from[d];
        if (d + 1 < p.dim) pair.y = from[d + 1];
      }
      x[2 * i] = pair.x, x[2 * i + 1] = pair.y;
    }
  }

  // They are on their way to shared memory, in copies of so many elements; zeros where there is
  // nothing.
  template <int width>
  __device__ __forceinline__ void fetch(Shared& shared, const Attention& p,
                                        const SplitTile& tile) const {
    constexpr int vectors = dim / width, across = vectors < warp_lanes ? vectors : warp_lanes,
                  at_once = warp_lanes / across;
    const int first = first_row + lane / across, columns = static_cast<int>(p.dim);
    const std::int64_t stride = p.q_strides.row, query = tile.own_queries[group] + first,
                       left = tile.head.queries - query;
#pragma unroll 1
    for (int part = 0; part < dim; part += across * width) {
      const int d = part + lane % across * width;
      const float* from = tile.head.q + query * stride + d;
#pragma unroll unrolled
      for (int i = 0; i < 16; i += at_once) {
        const bool there = d < columns && i < left;
        async_copy<4 * width>(shared.next_query(group, first + i, d), there ? from : tile.head.q,
                              there ? 4 * width : 0);
        from += at_once * stride;
      }
    }
  }
  // What they brought, as `load` has it.
  __device__ __forceinline__ void read(Shared& shared, int r, float (&x)[dim / 4]) const {
#pragma unroll
    for (int first = 0; first < 32; first += 8) {
      const float* const from = shared.next_query(group, own_row() + 8 * r, first + lane % 4 * 2);
#pragma unroll
      for (int i = first / 8; i < dim / 8; i += 4) {
        const float2 pair = *reinterpret_cast<const float2*>(from + 8 * i - first);
        x[2 * i] = pair.x, x[2 * i + 1] = pair.y;
      }
    }
  }

 private:
  // Without more registers than the products leave.
  static constexpr int unrolled = Shared::keeps_queries ? 4 : 1;
  __device__ __forceinline__ int own_row() const { return first_row + lane / 4; }
};

}  // namespace KW_TARGET::attention_split
