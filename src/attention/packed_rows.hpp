// The queries of the heads that share K and V, as one list of rows: what reads K and V once for all
// of them sees.
#pragma once

#include "attention/weights.hpp"

namespace KW_TARGET::attention {

// Where a row is, and how many keys its query sees; null pointers where there is no such query.
struct PackedRow {
  const float* q;
  float* o;
  const float* mask;
  std::int64_t keys;
};
__device__ __forceinline__ PackedRow packed_row(const Attention& p, std::int64_t entry,
                                                std::int64_t kv_head, std::int64_t row) {
  const std::int64_t group = p.group();
  if (row >= group * p.queries) return {nullptr, nullptr, nullptr, 0};
  const std::int64_t query = row % p.queries;
  const AttentionHead head = head_of(p, entry, kv_head * group + row / p.queries, kv_head);
  if (query >= head.queries) return {nullptr, nullptr, nullptr, 0};
  return {head.q + query * p.q_strides.row, head.o + query * p.o_strides.row,
          head.mask == nullptr ? nullptr : head.mask + query * p.mask_strides.row,
          visible_keys(p.causal, query, head.queries, head.keys)};
}

}  // namespace KW_TARGET::attention
