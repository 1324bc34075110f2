// Which outputs of a tile the consumers of stream_tile compute, and how those that share a tile
// along k add up theirs.
#pragma once

#include "device/quad.hpp"
#include "sgemm/stream/stage.hpp"

namespace KW_TARGET::stream_tile {

// Neighbours first, then pairs of them. Its rounding error is smaller than a chain's.
template <int count>
__device__ __forceinline__ float4 sum_as_tree(float4 (&x)[count]) {
#pragma unroll
  for (int apart = 1; apart < count; apart *= 2)
#pragma unroll
    for (int i = 0; i + apart < count; i += 2 * apart) {
      float4& to = x[i];
      const float4 more = x[i + apart];
      to.x += more.x, to.y += more.y, to.z += more.z, to.w += more.w;
    }
  return x[0];
}

// Which outputs of a tile a consumer computes.
template <StreamTileConfig config>
struct OwnOutputs {
  using S = Shape<config>;

  int tid;       // among the consumers
  int row, col;  // of its first output in the tile
  int group;     // of the warps that share a tile along k, each a part of every stage

  __device__ __forceinline__ OwnOutputs() : OwnOutputs(reread_thread_index() - S::producers) {}
  // Those of consumer `number`.
  __device__ __forceinline__ explicit OwnOutputs(int number) : tid(number) {
    const int warp = tid / 32, lane = tid % 32;
    row = warp / S::warps_n % S::warps_m * S::WM + S::Lanes::row(lane) * 4;
    col = warp % S::warps_n * S::WN + S::Lanes::col(lane) * 4;
    group = S::warps_k == 1 ? 0 : warp / (S::warps_n * S::warps_m);
  }

  // Where outputs 4 v ... 4 v + 3 of this thread lie in the tile: next to each other in a row.
  __device__ __forceinline__ int row_of(int v) const {
    if constexpr (S::warps_k > 1) return (v * S::consumers + tid) * 4 / S::BN;
    const int i = v * 4 / S::TN;
    return row + i / 4 * (4 * S::lanes_m) + i % 4;
  }
  __device__ __forceinline__ int col_of(int v) const {
    if constexpr (S::warps_k > 1) return (v * S::consumers + tid) * 4 % S::BN;
    return col + v * 4 % S::TN * S::lanes_n;
  }
};

// All consumers of the block meet.
template <StreamTileConfig config>
__device__ __forceinline__ void sync_consumers() {
  sync_some_threads<1, Shape<config>::consumers>();
}

// Where vector `at` of a tile lies among the sums of a warp. Eight lanes store 16 bytes each at a
// time; where they are of several rows, four apart, those rows are shifted into other banks.
template <StreamTileConfig config>
__device__ __forceinline__ int place_of_sums(int at) {
  using S = Shape<config>;
  constexpr int side_by_side = S::Lanes::side_by_side;
  if constexpr (side_by_side == 8 || S::BN % 8 != 0) return at;
  return at ^ at / S::BN % (8 / side_by_side) * side_by_side;  // a row has BN / 4 vectors
}

// The outputs of columns that lie apart from their place by the bits of `by`.
__device__ __forceinline__ float4 swapped_quad(const float4& x, int by) {
  switch (by) {
    case 1: return make_float4(x.y, x.x, x.w, x.z);
    case 2: return make_float4(x.z, x.w, x.x, x.y);
    case 3: return make_float4(x.w, x.z, x.y, x.x);
    default: return x;
  }
}

template <StreamTileConfig config>
__device__ __forceinline__ float4 sum_of_warps(const Shared<config>& shared, int at) {
  using S = Shape<config>;
  float4 sum[S::sum_places];
#pragma unroll
  for (int w = 0; w < S::sum_places; ++w)
    sum[w] = swapped_quad(shared.sums[w][place_of_sums<config>(at)], S::Turned::swapped(w));
  return sum_as_tree(sum);
}

// Warps that share a tile store their sums of a work's first piece, and add those of further ones:
// each thread at places of its own, or, where sums are folded, at those of a thread that adds its
// own after it.
template <StreamTileConfig config>
__device__ __forceinline__ void gather_warps(
    Shared<config>& shared, bool is_first,
    const float (&acc)[Shape<config>::TM][Shape<config>::TN]) {
  using S = Shape<config>;
  const OwnOutputs<config> own;
  float4* const mine = shared.sums[own.group % S::sum_places];
  // Two warps have their sums in one place only where both are swapped, or neither is.
  static_assert(!S::swaps || !config.sums_folded || S::sum_places % (S::Turned::along / 8) == 0);
  const int swapped = S::Turned::swapped(own.group);
  const auto each = [&](const auto& take) {
#pragma unroll
    for (int i = 0; i < S::TM; ++i)
#pragma unroll
      for (int j = 0; j < S::TN; j += 4) {
        const int row = (own.row + i / 4 * (4 * S::lanes_m) + i % 4) ^ swapped;
        const int col = own.col + j * S::lanes_n;
        take(mine[place_of_sums<config>((row * S::BN + col) / 4)], quad_of(&acc[i][j]));
      }
  };
  const auto put = [&] { each([](float4& at, const float4& sums) { at = sums; }); };
  const auto add = [&] {
    each([](float4& at, const float4& sums) {
      const float4 before = at;
      at = make_float4(before.x + sums.x, before.y + sums.y, before.z + sums.z, before.w + sums.w);
    });
  };
  // Nobody reads the last tile's sums any more, and, folded, nobody adds the last piece's.
  if (is_first || config.sums_folded) sync_consumers<config>();
  const bool goes_first = !config.sums_folded || own.group >= S::sum_places;
  if (goes_first && is_first) put();
  if (goes_first && !is_first) add();
  if constexpr (config.sums_folded) {
    sync_consumers<config>();
    if (!goes_first) add();
  }
}

// Each thread adds up its share of the outputs, of which the warps have gathered their sums.
template <StreamTileConfig config>
__device__ __forceinline__ void add_warps(const Shared<config>& shared,
                                          float (&out)[Shape<config>::outputs]) {
  using S = Shape<config>;
  const int tid = OwnOutputs<config>().tid;
  sync_consumers<config>();
#pragma unroll
  for (int v = 0; v < S::outputs / 4; ++v) {
    take_quad(sum_of_warps(shared, v * S::consumers + tid), &out[4 * v]);
  }
}

}  // namespace KW_TARGET::stream_tile
