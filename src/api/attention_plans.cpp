// The key of an attention plan.
#include "api/attention_plans.hpp"

namespace kw::detail {

AttentionKey::AttentionKey(const Attention& p, Math math, std::size_t workspace_limit)
    : problem_(p) {
  Attention& key = problem_;
  key.scale = 1;
  key.q = address_like(p.q);
  key.k = address_like(p.k);
  key.v = address_like(p.v);
  key.o = address_like(p.o);
  if (p.mask != nullptr) key.mask = address_like(p.mask);
  const auto* const some = address_with<const std::int64_t>(0);
  if (p.query_offsets != nullptr) key.query_offsets = some;
  if (p.key_offsets != nullptr) key.key_offsets = some;
  std::int64_t small = 0;
  const auto put = [&](std::int64_t value, int bits) { small = small << bits | value; };
  put(static_cast<std::int64_t>(math), 1);
  put(static_cast<std::int64_t>(p.causal), 2);
  put(p.mask != nullptr, 1);
  put(p.query_offsets != nullptr, 1);
  put(p.key_offsets != nullptr, 1);
  for (const std::int64_t bits :
       {last_bits(p.q), last_bits(p.k), last_bits(p.v), last_bits(p.o), last_bits(p.mask)})
    put(bits, 4);
  std::size_t at = 0;
  for (const std::int64_t word : {p.batch, p.heads, p.kv_heads, p.queries, p.keys, p.dim, small,
                                  static_cast<std::int64_t>(workspace_limit)})
    words_[at++] = word;
  for (const HeadStrides& strides :
       {p.q_strides, p.k_strides, p.v_strides, p.o_strides, p.mask_strides})
    for (const std::int64_t word : {strides.batch, strides.head, strides.row}) words_[at++] = word;
}

std::size_t AttentionKey::hash() const { return hash_of(words_); }

}  // namespace kw::detail
