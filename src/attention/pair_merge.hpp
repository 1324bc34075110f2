// attention_pair where a tile's keys are cut into parts: the block that comes last merges them. The
// two teams that multiply call these.
#pragma once

#include "attention/pair_teams.hpp"

namespace KW_TARGET::attention {

constexpr int pair_mergers = 2 * pair_team;

// By what a row's outputs of each part are multiplied, in `factors` of [parts][rows] in shared
// memory.
template <int index>
__device__ __forceinline__ void find_pair_factors(const PairPartSums<index>* all, int parts,
                                                  float* factors, int thread) {
  using S = PairParts<index>;
  for (int row = thread; row < S::BM; row += pair_mergers) {
    float largest = minus_infinity(), sum = 0;
#pragma unroll 4
    for (int part = 0; part < parts; ++part)
      largest = fmaxf(largest, __ldcg(&all[part].largest[row]));
    const float reference = reference_of(largest);
#pragma unroll 4
    for (int part = 0; part < parts; ++part) {
      const float weight =
          __ldcg(&all[part].sum[row]) * rescale(__ldcg(&all[part].largest[row]), reference);
      factors[part * S::BM + row] = weight;
      sum += weight;
    }
    for (int part = 0; part < parts; ++part) factors[part * S::BM + row] *= divisor(sum);
  }
}

// A warp has 8 elements along the head of 16 rows: it reads and writes whole sectors. Loads of some
// such pieces are under way at a time.
template <int index>
__device__ __forceinline__ void merge_pair_parts(typename PairParts<index>::Shared& shared,
                                                 const PairPartSums<index>* all, int parts,
                                                 const Attention& p, int thread) {
  using S = PairParts<index>;
  constexpr int at_once = 4, pieces = S::BM * S::D / 4 / pair_mergers, quads = S::BM / 4;
  static_assert(pieces % at_once == 0 && quads % 4 == 0);
  static_assert(S::BM * most_pair_parts <= S::pairs * S::D * S::a_pitch);
  const PairTask& task = shared.task;
  float* const factors = shared.q[0];
  find_pair_factors<index>(all, parts, factors, thread);
  sync_some_threads<1, pair_mergers>();
#pragma unroll 1
  for (int first = 0; first < pieces; first += at_once) {
    float o[at_once][4] = {};
    int row[at_once], d[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int piece = (first + i) * pair_mergers + thread;
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
        if (task.first_query + row[i] + e < task.head.queries && d[i] < p.dim)
          task.head.o[(task.first_query + row[i] + e) * p.o_strides.row + d[i]] = o[i][e];
  }
}

}  // namespace KW_TARGET::attention
