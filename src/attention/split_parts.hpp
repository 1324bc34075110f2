// The parts of attention_split: its shared memory, the warp that brings tiles, the warpgroups that
// multiply.
#pragma once

#include "attention/split_pass.hpp"
#include "attention/weights.hpp"
#include "device/bulk_copy.hpp"
#include "device/mbarrier.hpp"
#include "device/repeat.hpp"
#include "device/ring.hpp"
#include "device/warp.hpp"
#include "device/wgmma.hpp"

namespace KW_TARGET::attention_split {

using namespace attention;

constexpr int warpgroup_threads = 128, split_threads = 3 * warpgroup_threads;

template <int dim>
struct SplitShared {
  static constexpr int stages = dim <= 64 ? 3 : 2;
  alignas(128) char q[2][block_bytes(dim)];
  alignas(128) char k[stages][block_bytes(dim)];
  alignas(128) char v[stages][block_bytes(dim)];
#if !defined(__CUDACC__)
  // Host SIMT: where weights in registers pass through.
  alignas(128) char staged[2][8][2048];
#endif
  Mbarrier q_full, k_full[stages], k_empty[stages], v_full[stages], v_empty[stages];

  __device__ __forceinline__ void init_barriers() {
    mbarrier_init(&q_full, 1);
    for (int s = 0; s < stages; ++s) {
      mbarrier_init(&k_full[s], 1);
      mbarrier_init(&v_full[s], 1);
      mbarrier_init(&k_empty[s], 8);
      mbarrier_init(&v_empty[s], 8);
    }
    mbarrier_init_is_done();
  }
};

// A block's queries and the keys that they see.
struct SplitTile {
  AttentionHead head;
  std::int64_t first_query;
  std::int64_t q_block, k_block;  // its first ones, of all
  int key_tiles;
  bool valid;
};

__device__ __forceinline__ SplitTile split_tile(const SplitParams& params) {
  const Attention& p = params.p;
  const unsigned tiles = static_cast<unsigned>(params.layout.q_blocks / 2);
  const std::int64_t of_head = blockIdx.x / tiles, tile = tiles - 1 - blockIdx.x % tiles;
  const std::int64_t entry = of_head / p.heads, head = of_head % p.heads;
  SplitTile found;
  found.head = head_of(p, entry, head);
  found.first_query = tile * tile_queries;
  found.valid = found.first_query < found.head.queries;
  std::int64_t last = found.first_query + tile_queries - 1;
  if (last >= found.head.queries) last = found.head.queries - 1;
  found.q_block = of_head * params.layout.q_blocks + tile * 2;
  found.k_block = (entry * p.kv_heads + head / (p.heads / p.kv_heads)) * params.layout.k_blocks;
  found.key_tiles = static_cast<int>(
      ceil_div(visible_keys(p.causal, last, found.head.queries, found.head.keys), block_rows));
  return found;
}

// One warp brings Q, then K and V tile by tile.
template <int dim>
__device__ __forceinline__ void produce_tiles(SplitShared<dim>& shared, const SplitParams& params,
                                              const SplitTile& tile) {
  constexpr unsigned bytes = block_bytes(dim);
  const char* const base = params.workspace;
  if (tile.key_tiles == 0) return;
  if (elect_one()) {
    mbarrier_arrive_expecting(&shared.q_full, 2 * bytes);
    bulk_copy(shared.q[0], base + params.layout.q + tile.q_block * bytes, 2 * bytes,
              &shared.q_full);
  }
  __syncwarp();
  Ring<SplitShared<dim>::stages> ring;
  const char* k = base + params.layout.k + tile.k_block * bytes;
  const char* v = base + params.layout.v + tile.k_block * bytes;
  for (int i = 0; i < tile.key_tiles; ++i, ring.advance(), k += bytes, v += bytes) {
    mbarrier_wait(&shared.k_empty[ring.stage], ring.round ^ 1);
    if (elect_one()) {
      mbarrier_arrive_expecting(&shared.k_full[ring.stage], bytes);
      bulk_copy(shared.k[ring.stage], k, bytes, &shared.k_full[ring.stage]);
    }
    __syncwarp();
    mbarrier_wait(&shared.v_empty[ring.stage], ring.round ^ 1);
    if (elect_one()) {
      mbarrier_arrive_expecting(&shared.v_full[ring.stage], bytes);
      bulk_copy(shared.v[ring.stage], v, bytes, &shared.v_full[ring.stage]);
    }
    __syncwarp();
  }
}

template <int dim>
class SplitConsumer {
  using Shared = SplitShared<dim>;
  static constexpr int scores = block_rows / 2, outputs = dim / 2;  // a thread's

 public:
  __device__ __forceinline__ SplitConsumer(Shared& shared, const SplitParams& params,
                                           const SplitTile& tile, int group)
      : shared_(shared), params_(params), group_(group) {
    const Attention& p = params.p;
    lane_ = static_cast<int>(threadIdx.x % warp_lanes);
    const auto scales = [&](std::int64_t at) {
      return reinterpret_cast<const int*>(params.workspace + at);
    };
    scales_k_ = scales(params.layout.scales_k) + tile.k_block;
    scales_v_ = scales(params.layout.scales_v) + tile.k_block;
    scale_q_ = scales(params.layout.scales_q)[tile.q_block + group];
    const std::int64_t whole =
        visible_keys(p.causal, tile.first_query + group * 64, tile.head.queries, tile.head.keys) /
        block_rows;
    // The last tile is left out where only the other warpgroup's queries see it: its buffers are
    // not filled again, so nobody waits for them. A warpgroup without queries goes along.
    const std::int64_t first = tile.first_query + group * 64;
    const std::int64_t last = first + 63 < tile.head.queries ? first + 63 : tile.head.queries - 1;
    key_tiles_ =
        first > last
            ? tile.key_tiles
            : static_cast<int>(ceil_div(
                  visible_keys(p.causal, last, tile.head.queries, tile.head.keys), block_rows));
    plain_tiles_ = p.mask != nullptr ? 0 : static_cast<int>(whole);
  }

  __device__ __forceinline__ void run() {
#pragma unroll
    for (int i = 0; i < outputs; ++i) o_[i] = 0;
#pragma unroll
    for (int r = 0; r < 2; ++r) largest_[r] = minus_infinity(), sum_[r] = 0;
    if (key_tiles_ > 0) {
      mbarrier_wait(&shared_.q_full, 0);
      issue_scores();
      take_scores();
      const int last = key_tiles_ - 1;
#pragma unroll 1
      for (int i = 0; i < last; ++i) step<true>(i);
      step<false>(last);
    }
    store();
  }

 private:
  __device__ __forceinline__ void release(Mbarrier& barrier) {
    if (lane_ == 0) mbarrier_arrive(&barrier);
  }
  // This thread's first query of the tile; its other one is 8 further on.
  __device__ __forceinline__ std::int64_t first_query_of(const SplitTile& tile) const {
    return tile.first_query + group_ * 64 +
           static_cast<int>(threadIdx.x) % warpgroup_threads / 32 * 16 + lane_ / 4;
  }

  // x = Q K^T of the next tile of keys.
  __device__ __forceinline__ void issue_scores() {
    mbarrier_wait(&shared_.k_full[k_ring_.stage], k_ring_.round);
    wgmma_fence();
    const WgmmaOperand q = wgmma_operand(shared_.q[group_], 128, 1024),
                       k = wgmma_operand(shared_.k[k_ring_.stage], 128, 1024);
    const auto issue = [&](auto k16, unsigned a, unsigned b, bool add) {
      constexpr unsigned at = k16 / 2 * block_rows * 128 + k16 % 2 * 512;
      wgmma<Half::fp16, block_rows>(x_, advance(q, at + a * 256), advance(k, at + b * 256), add);
    };
    repeat<dim / 16>([&](auto k16) {
      issue(k16, 1, 0, k16 > 0);
      issue(k16, 0, 1, true);
    });
    repeat<dim / 16>([&](auto k16) { issue(k16, 0, 0, true); });
    wgmma_commit();
  }
  __device__ __forceinline__ void take_scores() {
    wgmma_wait<0>();
    wgmma_keep(x_);
    release(shared_.k_empty[k_ring_.stage]);
    k_ring_.advance();
  }
  // window = P V of a tile of keys.
  __device__ __forceinline__ void issue_outputs() {
    mbarrier_wait(&shared_.v_full[v_ring_.stage], v_ring_.round);
    wgmma_fence();
    const WgmmaOperand v = wgmma_operand(shared_.v[v_ring_.stage], 128, 1024);
    const auto issue = [&](auto k16, const std::uint32_t(&a)[4], int piece, unsigned b, bool add) {
      constexpr unsigned at = k16 / 2 * dim * 128 + k16 % 2 * 512;
#if defined(__CUDACC__)
      char* const staged = nullptr;
      static_cast<void>(piece);
#else
      char* const staged = shared_.staged[group_][k16 * 2 + piece];
#endif
      wgmma_fp16<dim>(window_, a, staged, advance(v, at + b * 256), add);
    };
    repeat<4>([&](auto k16) {
      issue(k16, low_[k16], 1, 0, k16 > 0);
      issue(k16, high_[k16], 0, 1, true);
    });
    repeat<4>([&](auto k16) { issue(k16, high_[k16], 0, 0, true); });
    wgmma_commit();
  }

  // x: from products to scores in powers of two; -Inf where the query does not see the key.
  __device__ __forceinline__ void finish_scores(int tile) {
    const int scale = scale_q_ + scales_k_[tile];
    const Attention& p = params_.p;
    const float factor = p.scale * log2_e * kw::split::power_of_two(-scale / 2) *
                         kw::split::power_of_two(-(scale - scale / 2));
#pragma unroll
    for (int i = 0; i < scores; ++i) x_[i] *= factor;
    if (tile >= plain_tiles_) hide_keys(tile);
  }
  __device__ __forceinline__ void hide_keys(int tile) {
    const Attention& p = params_.p;
    // Made anew: registers are short.
    const SplitTile own = split_tile(params_);
    const AttentionHead& head = own.head;
    const std::int64_t first_key = std::int64_t{tile} * block_rows;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t query = first_query_of(own) + 8 * r;
      std::int64_t seen = query < head.queries
                              ? visible_keys(p.causal, query, head.queries, head.keys) - first_key
                              : 0;
      if (seen > block_rows) seen = block_rows;
      const int last = static_cast<int>(seen);
      const float* mask = head.mask == nullptr || last <= 0
                              ? nullptr
                              : head.mask + query * p.mask_strides.row + first_key;
#pragma unroll
      for (int i = 0; i < scores / 4; ++i)
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          float& x = x_[4 * i + 2 * r + c];
          const int key = 8 * i + lane_ % 4 * 2 + c;
          if (mask != nullptr && key < last) x = fmaf(mask[key], log2_e, x);
          if (key >= last) x = minus_infinity();
        }
    }
  }

  // Weights times 2^14, in pieces; factor_ is what O's sums so far are scaled by.
  __device__ __forceinline__ void weigh() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float largest = largest_[r];
#pragma unroll
      for (int i = 0; i < scores / 4; ++i)
        largest = fmaxf(largest, fmaxf(x_[4 * i + 2 * r], x_[4 * i + 2 * r + 1]));
      largest = fmaxf(largest, __shfl_xor_sync(whole_warp(), largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(whole_warp(), largest, 2));
      const float reference = reference_of(largest);
      factor_[r] = rescale(largest_[r], reference);
      largest_[r] = largest;
      sum_[r] *= factor_[r];
      const float shifted = reference - 14.0f;
#pragma unroll
      for (int i = 0; i < scores / 4; ++i) {
        const float first = power_of_2(x_[4 * i + 2 * r] - shifted),
                    second = power_of_2(x_[4 * i + 2 * r + 1] - shifted);
        sum_[r] += first + second;
        float taken_first, taken_second;
        const std::uint32_t high = kw::split::to_fp16_pair(first, second);
        kw::split::from_fp16_pair(high, &taken_first, &taken_second);
        high_[i / 2][i % 2 * 2 + r] = high;
        low_[i / 2][i % 2 * 2 + r] =
            kw::split::to_fp16_pair(first - taken_first, second - taken_second);
      }
    }
  }

  template <bool has_next>
  __device__ __forceinline__ void step(int tile) {
    const float unscale = kw::split::power_of_two(-scales_v_[tile]);
    finish_scores(tile);
    weigh();
    issue_outputs();
    if constexpr (has_next) issue_scores();
    wgmma_wait<has_next ? 1 : 0>();
    wgmma_keep(window_);
    release(shared_.v_empty[v_ring_.stage]);
    v_ring_.advance();
#pragma unroll
    for (int i = 0; i < outputs; ++i) o_[i] = fmaf(window_[i], unscale, o_[i] * factor_[i / 2 % 2]);
    if constexpr (has_next) take_scores();
  }

  __device__ __forceinline__ void store() {
    const Attention& p = params_.p;
    const SplitTile own = split_tile(params_);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum_[r] += __shfl_xor_sync(whole_warp(), sum_[r], 1);
      sum_[r] += __shfl_xor_sync(whole_warp(), sum_[r], 2);
      const std::int64_t query = first_query_of(own) + 8 * r;
      if (query >= own.head.queries) continue;
      float* to = own.head.o + query * p.o_strides.row;
      const float factor = divisor(sum_[r]);
      const bool aligned = reinterpret_cast<std::uintptr_t>(to) % 8 == 0;
#pragma unroll
      for (int i = 0; i < outputs / 4; ++i) {
        const int d = 8 * i + lane_ % 4 * 2;
        const float first = o_[4 * i + 2 * r] * factor, second = o_[4 * i + 2 * r + 1] * factor;
        if (aligned && d + 1 < p.dim) {
          *reinterpret_cast<float2*>(to + d) = make_float2(first, second);
        } else {
          if (d < p.dim) to[d] = first;
          if (d + 1 < p.dim) to[d + 1] = second;
        }
      }
    }
  }

  Shared& shared_;
  const SplitParams& params_;
  int group_, lane_;
  int key_tiles_, plain_tiles_;  // of these nothing is hidden and nothing is added to scores
  const int *scales_k_, *scales_v_;
  int scale_q_;
  Ring<Shared::stages> k_ring_, v_ring_;
  float x_[scores], window_[outputs], o_[outputs];
  std::uint32_t high_[4][4], low_[4][4];
  float largest_[2], sum_[2], factor_[2];
};

}  // namespace KW_TARGET::attention_split
