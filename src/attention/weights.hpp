// The weights of softmax as kernels compute them: powers of two, of scores that were multiplied by
// log2(e).
#pragma once

#include "attention/problem.hpp"
#include "device/power_of_2.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET::attention {

__device__ __forceinline__ float minus_infinity() { return __int_as_float(0xFF800000); }

// What scores are compared with: their largest, or 0 where all are -Inf, so that their weights are
// 0 and not NaN.
__device__ __forceinline__ float reference_of(float largest) {
  return largest == minus_infinity() ? 0.0f : largest;
}

// Whether kernels make scores of products before they look for the largest: where a mask is added,
// or the largest product is not the largest score. Elsewhere scores are products times a factor,
// and differences of products are taken first: the largest has a weight of exactly 1.
__device__ __forceinline__ bool scales_products(const Attention& p) {
  return p.mask != nullptr || !(p.scale > 0);
}
__device__ __forceinline__ float score_factor(const Attention& p) {
  return scales_products(p) ? 1.0f : p.scale * log2_e;
}

// Sums that belong to `old_largest`, times the factor, by this are those of `reference`.
__device__ __forceinline__ float rescale(float old_largest, float reference, float factor = 1) {
  return old_largest == minus_infinity() ? 0.0f : power_of_2((old_largest - reference) * factor);
}

// Whether a score is so large that, rounded, it is off by more than weights are.
__device__ __forceinline__ bool is_far_score(float score) { return fabsf(score) > 32; }

// The factor of a query's sums of weights times V. A sum of 0: the query sees no key.
__device__ __forceinline__ float divisor(float sum) { return sum == 0 ? 0.0f : 1.0f / sum; }

// Which keys of a tile of so many a query sees, and what is added to their scores.
struct SeenKeys {
  int count;          // the first ones
  const float* mask;  // of the tile's first key; null: nothing
};
template <int keys>
__device__ __forceinline__ SeenKeys seen_keys(const Attention& p, const AttentionHead& head,
                                              std::int64_t query, std::int64_t first_key) {
  std::int64_t seen =
      query < head.queries ? visible_keys(p.causal, query, head.queries, head.keys) - first_key : 0;
  if (seen > keys) seen = keys;
  const int count = static_cast<int>(seen);
  return {count, head.mask == nullptr || count <= 0
                     ? nullptr
                     : head.mask + query * p.mask_strides.row + first_key};
}
// The score of a key whose product is scaled.
__device__ __forceinline__ float seen_score(const SeenKeys& seen, int key, float x) {
  if (key >= seen.count) return minus_infinity();
  return seen.mask == nullptr ? x : fmaf(seen.mask[key], log2_e, x);
}

// The tile of queries that a block has, of so many a head. Where tiles of a head have more work the
// later they are, those with most come first, of `heads_at_once` heads, whose keys the cache holds
// together. The first tiles of each head, up to the middle one, wait until all others are taken,
// and then come those with most first, of all heads: without that the long tiles of the last heads
// would run on alone.
struct TilePosition {
  std::int64_t of_head;  // entry * heads + head
  std::int64_t tile;
};
__device__ __forceinline__ TilePosition tile_position(unsigned index, unsigned tiles,
                                                      unsigned heads, TileOrder order) {
  const unsigned late = order.has_late_tiles ? tiles / 2 : 0, early = tiles - late;
  if (index >= early * heads) {
    const unsigned beyond = index - early * heads;
    return {beyond % heads, late - 1 - beyond / heads};
  }
  const unsigned of_group = early * order.heads_at_once,
                 first = index / of_group * order.heads_at_once, within = index % of_group,
                 count = heads - first < order.heads_at_once ? heads - first : order.heads_at_once;
  return {first + within % count, tiles - 1 - within / count};
}
// K and V of a head take so many bytes.
inline TileOrder tile_order(const Attention& p, std::int64_t bytes_of_head) {
  constexpr std::int64_t cached = std::int64_t{20} << 20;
  if (p.causal == Causal::none) return {};
  const std::int64_t heads = p.batch * p.heads,
                     most = cached * p.group() / (bytes_of_head > 0 ? bytes_of_head : 1);
  return {static_cast<unsigned>(most < 1 ? 1 : most > heads ? heads : most), true};
}

// Whether all rows of an operand start on 16-byte boundaries and hold whole groups of 4.
inline bool rows_aligned_16(const float* data, const HeadStrides& strides, std::int64_t dim) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && dim % 4 == 0 &&
         strides.batch % 4 == 0 && strides.head % 4 == 0 && strides.row % 4 == 0;
}

}  // namespace KW_TARGET::attention
