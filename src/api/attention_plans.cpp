// The key of an attention plan.
#include "api/attention_plans.hpp"

namespace kw::detail {

namespace {

// What is left of an address: it is a multiple of no more than its last bits say.
constexpr std::uintptr_t attention_plan_alignment = 16;
template <class T>
T* kept(T* address) {
  return reinterpret_cast<T*>(attention_plan_alignment +
                              reinterpret_cast<std::uintptr_t>(address) % attention_plan_alignment);
}
template <class T>
std::int64_t bits_of(T* address) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) %
                                   attention_plan_alignment);
}

}  // namespace

AttentionKey::AttentionKey(const Attention& p, Math math, std::size_t workspace_limit)
    : problem_(p) {
  Attention& key = problem_;
  key.scale = 1;
  key.q = kept(p.q);
  key.k = kept(p.k);
  key.v = kept(p.v);
  key.o = kept(p.o);
  if (p.mask != nullptr) key.mask = kept(p.mask);
  const auto* const some = reinterpret_cast<const std::int64_t*>(attention_plan_alignment);
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
       {bits_of(p.q), bits_of(p.k), bits_of(p.v), bits_of(p.o), bits_of(p.mask)})
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
