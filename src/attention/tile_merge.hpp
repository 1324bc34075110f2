// attention_tile where a tile's keys are cut into parts: a block's sums on their way through the
// workspace, and the block that comes last and merges them.
#pragma once

#include "attention/part_merge.hpp"
#include "attention/tile_parts.hpp"

namespace KW_TARGET::attention {

template <int index>
using TilePartSums = PartSums<TileParts<index>::BM, TileParts<index>::D, false>;

template <int index>
__device__ __forceinline__ void store_part(TilePartSums<index>& to,
                                           const float (&o)[8][TileParts<index>::TD],
                                           const TileSoftmax<index>& softmax,
                                           const TilePlace<index>& own) {
  using S = TileParts<index>;
#pragma unroll
  for (int j = 0; j < S::TD; ++j)
#pragma unroll
    for (int i = 0; i < 8; i += 4)
      *reinterpret_cast<float4*>(&to.o[own.dim(j)][own.row(i)]) =
          make_float4(o[i][j], o[i + 1][j], o[i + 2][j], o[i + 3][j]);
  if (own.lane_n != 0) return;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    to.largest[own.row(i)] = softmax.largest[i];
    to.sum[own.row(i)] = softmax.sum[i];
  }
}

template <int index>
__device__ __forceinline__ void merge_parts(typename TileParts<index>::Shared& shared,
                                            const TilePartSums<index>* all, int parts,
                                            const Attention& p, const AttentionHead& head,
                                            std::int64_t first_query) {
  using S = TileParts<index>;
  const int thread = static_cast<int>(threadIdx.x);
  float* const factors = shared.stages[0];
  find_factors<S::threads>(all, parts, score_factor(p), factors, thread);
  __syncthreads();
  merge_outputs<S::threads>(all, parts, factors, p, head, first_query, thread);
}

}  // namespace KW_TARGET::attention
