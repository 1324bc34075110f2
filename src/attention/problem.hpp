// O = softmax(scale * Q K^T + mask) V, as kernels see it.
#pragma once

#include <cstdint>

#include "host_device.hpp"
#include "kernel.hpp"
#include "kernelwright/attention.hpp"

namespace kw {

// Elements between neighbours of an operand.
struct HeadStrides {
  std::int64_t batch = 0, head = 0, row = 0;
};

// One head of one entry: where its rows begin, and how many there are.
struct AttentionHead {
  const float *q, *k, *v;
  float* o;
  const float* mask;  // null: none
  std::int64_t queries, keys;
};

constexpr std::int64_t most_attention_dim = 256;

struct Attention {
  std::int64_t batch = 0, heads = 0, kv_heads = 0;
  std::int64_t queries = 0, keys = 0;  // with offsets: the most that an entry has
  std::int64_t dim = 0;
  float scale = 1;
  Causal causal = Causal::none;
  const float *q = nullptr, *k = nullptr, *v = nullptr;
  float* o = nullptr;
  HeadStrides q_strides, k_strides, v_strides, o_strides;
  const float* mask = nullptr;
  HeadStrides mask_strides;
  const std::int64_t *query_offsets = nullptr, *key_offsets = nullptr;  // null: all as long
  // Of a launch that takes over where others could not: it works only if this is not 0.
  const unsigned* only_if = nullptr;

  // Query heads that share K and V.
  KW_HOST_DEVICE std::int64_t group() const { return heads / kv_heads; }
  bool empty() const { return batch == 0 || heads == 0 || queries == 0; }
  // Query, key pairs of a head that count, all entries as long as the longest.
  double pairs() const {
    const auto t = static_cast<double>(queries), s = static_cast<double>(keys);
    switch (causal) {
      case Causal::none: break;
      case Causal::from_start: return t <= s ? t * (t + 1) / 2 : s * (s + 1) / 2 + (t - s) * s;
      case Causal::from_end: return t <= s ? t * (s - t) + t * (t + 1) / 2 : s * (s + 1) / 2;
    }
    return t * s;
  }
  double flops() const {
    return 4.0 * static_cast<double>(batch * heads) * pairs() * static_cast<double>(dim);
  }
  // Each operand once; of the mask what is not shared.
  double bytes() const {
    const auto number = [](std::int64_t x) { return static_cast<double>(x); };
    const double of_mask = mask == nullptr
                               ? 0
                               : (mask_strides.batch != 0 ? number(batch) : 1) *
                                     (mask_strides.head != 0 ? number(heads) : 1) *
                                     (mask_strides.row != 0 ? number(queries) : 1) * number(keys);
    return 4.0 * (2.0 * number(batch) * number(dim) *
                      (number(heads) * number(queries) + number(kv_heads) * number(keys)) +
                  of_mask);
  }
};

// In which order the blocks of a launch take tiles of queries (weights.hpp).
struct TileOrder {
  unsigned heads_at_once = 1;
  bool has_late_tiles = false;
};

struct EntryRows {
  std::int64_t first, count;
};
KW_HOST_DEVICE inline EntryRows entry_rows(const std::int64_t* offsets, std::int64_t entry,
                                           std::int64_t most) {
  if (offsets == nullptr) return {0, most};
  const std::int64_t first = offsets[entry], count = offsets[entry + 1] - first;
  return {first, count < 0 ? 0 : count > most ? most : count};
}

KW_HOST_DEVICE inline AttentionHead head_of(const Attention& p, std::int64_t entry,
                                            std::int64_t head, std::int64_t kv_head) {
  const EntryRows queries = entry_rows(p.query_offsets, entry, p.queries);
  const EntryRows keys = entry_rows(p.key_offsets, entry, p.keys);
  const auto start = [&](const HeadStrides& strides, std::int64_t of_head, std::int64_t row) {
    return entry * strides.batch + of_head * strides.head + row * strides.row;
  };
  return {p.q + start(p.q_strides, head, queries.first),
          p.k + start(p.k_strides, kv_head, keys.first),
          p.v + start(p.v_strides, kv_head, keys.first),
          p.o + start(p.o_strides, head, queries.first),
          p.mask == nullptr ? nullptr : p.mask + start(p.mask_strides, head, 0),
          queries.count,
          keys.count};
}
KW_HOST_DEVICE inline AttentionHead head_of(const Attention& p, std::int64_t entry,
                                            std::int64_t head) {
  return head_of(p, entry, head, head / p.group());
}

// How many keys, from the first on, a query sees.
KW_HOST_DEVICE inline std::int64_t visible_keys(Causal causal, std::int64_t query,
                                                std::int64_t queries, std::int64_t keys) {
  if (causal == Causal::none) return keys;
  const std::int64_t seen = query + 1 + (causal == Causal::from_end ? keys - queries : 0);
  return seen < 0 ? 0 : seen > keys ? keys : seen;
}

}  // namespace kw
