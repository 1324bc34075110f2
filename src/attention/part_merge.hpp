// Where a tile's keys are cut into parts, each block leaves its part in the workspace, and the one
// that comes last merges them: attention_tile, attention_pair and, with parts of its own form,
// attention_rows.
#pragma once

#include "attention/weights.hpp"

namespace KW_TARGET::attention {

// A part: of each row the largest product (weights.hpp), the sum of weights and that of weights
// times V, which lies by columns. Where outputs are divided, they are those that there would be
// without other keys.
template <int rows_, int dim_, bool is_divided_>
struct PartSums {
  static constexpr int rows = rows_, dim = dim_;
  static constexpr bool is_divided = is_divided_;
  alignas(16) float o[dim][rows];
  float largest[rows], sum[rows];
};

// By what a row's outputs of each part are multiplied, in `factors` of [parts][rows] in shared
// memory. Scores are products times `of_scores`. `thread` counts through the threads that do it.
template <int threads, class Part>
__device__ __forceinline__ void find_factors(const Part* all, int parts, float of_scores,
                                             float* factors, int thread) {
  for (int row = thread; row < Part::rows; row += threads) {
    float largest = minus_infinity(), sum = 0;
#pragma unroll 4
    for (int part = 0; part < parts; ++part)
      largest = fmaxf(largest, __ldcg(&all[part].largest[row]));
    const float reference = reference_of(largest);
#pragma unroll 4
    for (int part = 0; part < parts; ++part) {
      const float factor = rescale(__ldcg(&all[part].largest[row]), reference, of_scores),
                  weight = __ldcg(&all[part].sum[row]) * factor;
      factors[part * Part::rows + row] = Part::is_divided ? weight : factor;
      sum += weight;
    }
    for (int part = 0; part < parts; ++part) factors[part * Part::rows + row] *= divisor(sum);
  }
}

// The outputs of a tile of queries. A warp has 8 elements along the head of 16 rows: it reads and
// writes whole sectors. Loads of some such pieces are under way at a time.
template <int threads, class Part>
__device__ __forceinline__ void merge_outputs(const Part* all, int parts, const float* factors,
                                              const Attention& p, const AttentionHead& head,
                                              std::int64_t first_query, int thread) {
  constexpr int at_once = 4, quads = Part::rows / 4, pieces = quads * Part::dim / threads;
  static_assert(pieces % at_once == 0 && quads % 4 == 0);
#pragma unroll 1
  for (int first = 0; first < pieces; first += at_once) {
    float o[at_once][4] = {};
    int row[at_once], d[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int piece = (first + i) * threads + thread;
      row[i] = (piece / 32 % (quads / 4) * 4 + piece / 8 % 4) * 4;
      d[i] = piece / 32 / (quads / 4) * 8 + piece % 8;
    }
#pragma unroll 2
    for (int part = 0; part < parts; ++part)
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const float4 own = __ldcg(reinterpret_cast<const float4*>(&all[part].o[d[i]][row[i]]));
        const float* const by = factors + part * Part::rows + row[i];
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
