// The warpgroups of attention_split: each multiplies 64 queries with a tile of keys after the
// other, weighs the scores in the registers that tensor cores left them in, and multiplies weights
// with values.
#pragma once

#include "attention/split_parts.hpp"
#include "device/repeat.hpp"
#include "device/wgmma.hpp"

namespace KW_TARGET::attention_split {

template <int dim>
class SplitConsumer {
  using Shared = SplitShared<dim>;
  static constexpr int scores = block_rows / 2, outputs = dim / 2;  // a thread's
  // Whether Q's pieces stay in registers: shared memory gives 128 bytes a cycle, which is what
  // products of 64 rows by 64 keys take with both operands there.
  static constexpr bool keeps_queries = dim <= 64;

 public:
  __device__ __forceinline__ SplitConsumer(Shared& shared, const SplitParams& params, int group)
      : shared_(shared),
        params_(params),
        group_(group),
        lane_(static_cast<int>(threadIdx.x % warp_lanes)) {}

  __device__ __forceinline__ void run() {
    for (;;) {
      mbarrier_wait(&shared_.tile_full[tiles_.stage], tiles_.round);
      all_tiles_ = tile().key_tiles;
      if (all_tiles_ < 0) return;
      begin();
      if (all_tiles_ > 0) compute();
      store();
      __syncwarp();
      release(shared_.tile_empty[tiles_.stage]);
      tiles_.advance();
    }
  }

 private:
  __device__ __forceinline__ const SplitTile& tile() const { return shared_.tiles[tiles_.stage]; }
  __device__ __forceinline__ int scale_of(std::int64_t scales, std::int64_t block) const {
    return reinterpret_cast<const int*>(params_.workspace + scales)[block];
  }

  __device__ __forceinline__ void begin() {
    key_tiles_ = tile().own_tiles[group_];
    plain_tiles_ = tile().plain_tiles[group_];
    k_block_ = static_cast<int>(tile().k_block);
    scale_q_ = scale_of(params_.layout.scales_q, tile().q_block + group_);
#pragma unroll
    for (int i = 0; i < outputs; ++i) o_[i] = 0;
#pragma unroll
    for (int r = 0; r < 2; ++r) largest_[r] = minus_infinity(), sum_[r] = 0;
  }
  __device__ __forceinline__ void compute() {
    mbarrier_wait(&shared_.q_full, q_round_);
    q_round_ ^= 1;
    if (key_tiles_ > 0) {
      if constexpr (keeps_queries) {
        take_queries();
        release_queries();
      }
      scale_k_ = scale_of(params_.layout.scales_k, k_block_);
      issue_scores();
      take_scores();
      const int last = key_tiles_ - 1;
#pragma unroll 1
      for (int i = 0; i < last; ++i) step<true>(i);
      if constexpr (!keeps_queries) release_queries();
      step<false>(last);
    } else {
      release_queries();
    }
    // The last tile of keys may be the other warpgroup's alone.
    for (int i = key_tiles_; i < all_tiles_; ++i) {
      const int s = ring_.stage;
      mbarrier_wait(&shared_.k_full[s], ring_.round);
      release(shared_.k_empty[s]);
      mbarrier_wait(&shared_.v_full[s], ring_.round);
      release(shared_.v_empty[s]);
      ring_.advance();
    }
  }
  __device__ __forceinline__ void release_queries() {
    __syncwarp();
    release(shared_.q_empty);
  }
  __device__ __forceinline__ void release(Mbarrier& barrier) {
    if (lane_ == 0) mbarrier_arrive(&barrier);
  }
  // This thread's first query of the tile; its other one is 8 further on.
  __device__ __forceinline__ std::int64_t own_query() const {
    return tile().first_query + group_ * 64 +
           static_cast<int>(threadIdx.x) % warpgroup_threads / 32 * 16 + lane_ / 4;
  }

  __device__ __forceinline__ void take_queries() {
    const int row = static_cast<int>(threadIdx.x) % warpgroup_threads / 32 * 16 + lane_ / 4;
#pragma unroll
    for (int piece = 0; piece < 2; ++piece)
#pragma unroll
      for (int i = 0; i < dim / 4; ++i)
        q_[piece][i / 4][i % 4] = *reinterpret_cast<const std::uint32_t*>(
            shared_.q[group_] +
            chunk_at(block_rows, row + i % 2 * 8, i / 4 * 2 + i % 4 / 2, piece) + lane_ % 4 * 4);
  }

  // x = Q K^T of the next tile of keys.
  __device__ __forceinline__ void issue_scores() {
    mbarrier_wait(&shared_.k_full[ring_.stage], ring_.round);
    wgmma_fence();
    const WgmmaOperand q = wgmma_operand(shared_.q[group_], 128, 1024),
                       k = wgmma_operand(shared_.k[ring_.stage], 128, 1024);
    const auto issue = [&](auto k16, unsigned a, unsigned b, bool add) {
      constexpr unsigned at = k16 / 2 * block_rows * 128 + k16 % 2 * 512;
      if constexpr (keeps_queries) {
#if defined(__CUDACC__)
        char* const staged = nullptr;
#else
        char* const staged = shared_.staged_q[group_][k16 * 2 + static_cast<int>(a)];
#endif
        wgmma_fp16<block_rows>(x_, q_[a][k16], staged, advance(k, at + b * 256), add);
      } else {
        wgmma<Half::fp16, block_rows>(x_, advance(q, at + a * 256), advance(k, at + b * 256), add);
      }
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
    release(shared_.k_empty[ring_.stage]);
    ring_.advance();
  }
  // V of the tile whose scores were taken last.
  __device__ __forceinline__ int stage_of_v() const {
    return ring_.stage == 0 ? Shared::stages - 1 : ring_.stage - 1;
  }
  // window = P V of that tile of keys.
  __device__ __forceinline__ void issue_outputs() {
    const int stage = stage_of_v();
    mbarrier_wait(&shared_.v_full[stage], ring_.round ^ (ring_.stage == 0 ? 1 : 0));
    wgmma_fence();
    const WgmmaOperand v = wgmma_operand(shared_.v[stage], 128, 1024);
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
  __device__ __forceinline__ void finish_scores(int key_tile) {
    const int scale = scale_q_ + scale_k_;
    const Attention& p = params_.p;
    const float factor = p.scale * log2_e * kw::split::power_of_two(-scale / 2) *
                         kw::split::power_of_two(-(scale - scale / 2));
#pragma unroll
    for (int i = 0; i < scores; ++i) x_[i] *= factor;
    if (key_tile >= plain_tiles_) hide_keys(key_tile);
  }
  __device__ __forceinline__ void hide_keys(int key_tile) {
    const Attention& p = params_.p;
    const AttentionHead& head = tile().head;
    const std::int64_t first_key = std::int64_t{key_tile} * block_rows;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const SeenKeys seen = seen_keys<block_rows>(p, head, own_query() + 8 * r, first_key);
#pragma unroll
      for (int i = 0; i < scores / 4; ++i)
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          float& x = x_[4 * i + 2 * r + c];
          x = seen_score(seen, 8 * i + lane_ % 4 * 2 + c, x);
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
  __device__ __forceinline__ void step(int key_tile) {
    const float unscale =
        kw::split::power_of_two(-scale_of(params_.layout.scales_v, k_block_ + key_tile));
    finish_scores(key_tile);
    // On its way while the weights are made.
    if constexpr (has_next) scale_k_ = scale_of(params_.layout.scales_k, k_block_ + key_tile + 1);
    weigh();
    issue_outputs();
    if constexpr (has_next) issue_scores();
    wgmma_wait<has_next ? 1 : 0>();
    wgmma_keep(window_);
    release(shared_.v_empty[stage_of_v()]);
#pragma unroll
    for (int i = 0; i < outputs; ++i) o_[i] = fmaf(window_[i], unscale, o_[i] * factor_[i / 2 % 2]);
    if constexpr (has_next) take_scores();
  }

  __device__ __forceinline__ void store() {
    const Attention& p = params_.p;
    const AttentionHead& head = tile().head;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum_[r] += __shfl_xor_sync(whole_warp(), sum_[r], 1);
      sum_[r] += __shfl_xor_sync(whole_warp(), sum_[r], 2);
      const std::int64_t query = own_query() + 8 * r;
      if (query >= head.queries) continue;
      float* to = head.o + query * p.o_strides.row;
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
  unsigned q_round_ = 0;
  // Tiles of keys: the block's, those that this warpgroup's queries see, and those of which nothing
  // is hidden and nothing added to scores.
  int all_tiles_, key_tiles_, plain_tiles_;
  int k_block_, scale_q_, scale_k_;  // that of the tile whose scores are taken next
  Ring<2> tiles_;
  Ring<Shared::stages> ring_;
  float x_[scores], window_[outputs], o_[outputs];
  std::uint32_t high_[4][4], low_[4][4];
  std::uint32_t q_[2][keeps_queries ? dim / 16 : 1][4];
  float largest_[2], sum_[2], factor_[2];
};

}  // namespace KW_TARGET::attention_split
