// attention_pair where a tile's keys are cut into parts: the block that comes last merges them. The
// two teams that multiply call this.
#pragma once

#include "attention/pair_teams.hpp"

namespace KW_TARGET::attention {

constexpr int pair_mergers = 2 * pair_team;

template <int index>
__device__ __forceinline__ void merge_pair_parts(typename PairParts<index>::Shared& shared,
                                                 const PairPartSums<index>* all, int parts,
                                                 const Attention& p, int thread) {
  using S = PairParts<index>;
  static_assert(S::BM * most_pair_parts <= S::pairs * S::D * S::a_pitch);
  float* const factors = shared.q[0];
  find_factors<pair_mergers>(all, parts, score_factor(p), factors, thread);
  sync_some_threads<1, pair_mergers>();
  merge_outputs<pair_mergers>(all, parts, factors, p, shared.task.head, shared.task.first_query,
                              thread);
}

}  // namespace KW_TARGET::attention
