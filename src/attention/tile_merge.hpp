// attention_tile where a tile's keys are cut into parts: a block's sums on their way through the
// workspace, and the block that comes last and merges them.
#pragma once

#include "attention/tile_parts.hpp"

namespace KW_TARGET::attention {

// Sums of a part: of each row the largest score, the sum of weights and that of weights times V,
// which lies by columns (TileFragment).
template <int index>
struct TilePartSums {
  using S = TileParts<index>;
  alignas(16) float o[S::D][S::BM];
  float largest[S::BM], sum[S::BM];
};

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

// By what a row's sums of each part are multiplied, in `factors` of [parts][rows] in shared memory.
template <int index>
__device__ __forceinline__ void find_factors(const TilePartSums<index>* all, int parts,
                                             float* factors) {
  using S = TileParts<index>;
  for (int row = static_cast<int>(threadIdx.x); row < S::BM; row += S::threads) {
    float largest = minus_infinity(), sum = 0;
#pragma unroll 4
    for (int part = 0; part < parts; ++part)
      largest = fmaxf(largest, __ldcg(&all[part].largest[row]));
    const float reference = reference_of(largest);
#pragma unroll 4
    for (int part = 0; part < parts; ++part) {
      const float factor = rescale(__ldcg(&all[part].largest[row]), reference);
      factors[part * S::BM + row] = factor;
      sum = fmaf(__ldcg(&all[part].sum[row]), factor, sum);
    }
    for (int part = 0; part < parts; ++part) factors[part * S::BM + row] *= divisor(sum);
  }
}

// A warp has 8 elements along the head of 16 rows: it reads and writes whole sectors. Loads of some
// such pieces are under way at a time.
template <int index>
__device__ __forceinline__ void merge_parts(typename TileParts<index>::Shared& shared,
                                            const TilePartSums<index>* all, int parts,
                                            const Attention& p, const AttentionHead& head,
                                            std::int64_t first_query) {
  using S = TileParts<index>;
  constexpr int at_once = 4, pieces = S::BM * S::D / 4 / S::threads, quads = S::BM / 4;
  static_assert(pieces % at_once == 0 && quads % 4 == 0);
  float* const factors = shared.stages[0];
  find_factors<index>(all, parts, factors);
  __syncthreads();
  for (int first = 0; first < pieces; first += at_once) {
    float o[at_once][4] = {};
    int row[at_once], d[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int piece = (first + i) * S::threads + static_cast<int>(threadIdx.x);
      row[i] = (piece / 32 % (quads / 4) * 4 + piece / 8 % 4) * 4;
      d[i] = piece / 32 / (quads / 4) * 8 + piece % 8;
    }
#pragma unroll 2
    for (int part = 0; part < parts; ++part)
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const float4 own = __ldcg(reinterpret_cast<const float4*>(&all[part].o[d[i]][row[i]]));
        const float* const by = factors + part * S::BM + row[i];
        o[i][0] = fmaf(own.x, by[0], o[i][0]), o[i][1] = fmaf(own.y, by[1], o[i][1]);
        o[i][2] = fmaf(own.z, by[2], o[i][2]), o[i][3] = fmaf(own.w, by[3], o[i][3]);
      }
#pragma unroll
    for (int i = 0; i < at_once; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (first_query + row[i] + e < head.queries && d[i] < p.dim)
          head.o[(first_query + row[i] + e) * p.o_strides.row + d[i]] = o[i][e];
  }
}

}  // namespace KW_TARGET::attention
