// The warpgroups of attention_split: each multiplies 64 queries with a tile of keys after the
// other, weighs the scores in the registers that tensor cores left them in, and multiplies weights
// with values.
#pragma once

#include "attention/split_outputs.hpp"
#include "attention/split_queries.hpp"
#include "device/repeat.hpp"
#include "device/wgmma.hpp"

namespace KW_TARGET::attention_split {

template <int dim>
class SplitConsumer {
 protected:
  using Shared = SplitShared<dim>;
  static constexpr float most_above = 1.875f;                       // weights stay below 2^16
  static constexpr int scores = block_rows / 2, outputs = dim / 2;  // a thread's
  // Whether Q's pieces stay in registers: shared memory gives 128 bytes a cycle, which is what
  // products of 64 rows by 64 keys take with both operands there.
  static constexpr bool keeps_queries = Shared::keeps_queries;

 public:
  __device__ __forceinline__ SplitConsumer(Shared& shared, const SplitParams& params, int group)
      : shared_(shared),
        params_(params),
        group_(group),
        lane_(static_cast<int>(threadIdx.x % warp_lanes)) {}

  __device__ __forceinline__ void run() {
    for (;;) {
      mbarrier_wait(&shared_.tile_full[tiles_.stage()], tiles_.round());
      if (tile().key_tiles < 0) return;
      begin();
      if (tile().own_tiles[group_] > 0) {
        take_queries();
        issue_scores();
        take_scores();
        int i = 0;
#pragma unroll 1
        for (; i + 1 < tile().own_tiles[group_]; ++i) step(i);
        last_step(i);
      } else {
        async_wait<0>();
        fetch_next_queries();
      }
      pass_keys(tile().own_tiles[group_]);
      if (tile().own_tiles[group_] > 0) check_scores();
      store();
      __syncwarp();
      release(shared_.tile_empty[tiles_.stage()]);
      tiles_.advance();
    }
  }

 protected:
  __device__ __forceinline__ const SplitTile& tile() const { return shared_.tiles[tiles_.stage()]; }
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int i = 0; i < outputs; ++i) o_[i] = 0;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      largest_[r] = minus_infinity();
      sum_[r] = lone_.weight[r] = 0;
    }
  }
  // The last tile of keys may be the other warpgroup's alone.
  __device__ __forceinline__ void pass_keys(int first) {
    for (int i = first; i < tile().key_tiles; ++i) {
      const unsigned s = ring_.stage();
      mbarrier_wait(&shared_.k_full[s], ring_.round());
      mbarrier_wait(&shared_.v_full[s], ring_.round());
      __syncwarp();
      release(shared_.k_empty[s]);
      release(shared_.v_empty[s]);
      ring_.advance();
    }
  }
  // With all of the tile's keys there.
  __device__ __forceinline__ void check_scores() const {
    if (lane_ == 0 &&
        !scores_hold(shared_.largest_query[warp_of_queries()], shared_.largest_key[tiles_.stage()],
                     params_.p.scale, params_.p.dim))
      params_.take_fp32();
  }
  __device__ __forceinline__ void release(Mbarrier& barrier) {
    if (lane_ == 0) mbarrier_arrive(&barrier);
  }
  // This thread's first query of a tile; its other one is 8 further on.
  __device__ __forceinline__ int own_row() const {
    if constexpr (!Shared::has_parts) return warp_of_queries() * 16 + lane_ / 4;
    // Where registers are scarcest, computed anew.
    const int thread = reread_thread_index() - warpgroup_threads;
    return thread / warp_lanes * 16 + thread % warp_lanes / 4;
  }
  __device__ __forceinline__ unsigned* own_lone_keys() const {
    return shared_.lone_keys + own_row();
  }
  __device__ __forceinline__ std::int64_t own_query() const {
    return tile().own_queries[group_] + own_row() % block_rows;
  }

  __device__ __forceinline__ int warp_of_queries() const {
    return static_cast<int>(threadIdx.x) / warp_lanes - warpgroup_threads / warp_lanes;
  }
  // All threads of the warpgroup meet.
  __device__ __forceinline__ void sync_group() const {
    if (any_of_warp(group_ == 0))
      sync_some_threads<1, warpgroup_threads>();
    else
      sync_some_threads<2, warpgroup_threads>();
  }

  // The warp's queries of the next tile are on their way. A block's first ones are loaded when they
  // are needed: with their copies in front of the loop ptxas no longer knows what is the same in
  // all lanes, and each product's operands go the long way.
  __device__ __forceinline__ void fetch_next_queries() const {
    const Turn<2> turn = {tiles_.count + 1};
    if constexpr (!keeps_queries) sync_group();
    mbarrier_wait(&shared_.tile_full[turn.stage()], turn.round());
    const SplitTile& next = shared_.tiles[turn.stage()];
    if (next.key_tiles >= 0) {
      const WarpQueries<dim> queries{group_, warp_of_queries() % 4 * 16, lane_};
      if (params_.q16)
        queries.template fetch<4>(shared_, params_.p, next);
      else
        queries.template fetch<1>(shared_, params_.p, next);
    }
    async_commit();
  }
  // Splits this thread's queries, each scaled by its largest element. Pieces go to registers, or to
  // shared memory behind the products of the warpgroup's last tile.
  __device__ __forceinline__ void take_queries() {
    const Attention& p = params_.p;
    float x[2][dim / 4];
    std::uint32_t of_both = 0;
    if constexpr (!Shared::has_parts) {
      async_wait<0>();
      __syncwarp();
    }
    const WarpQueries<dim> queries{group_, warp_of_queries() % 4 * 16, lane_};
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if constexpr (Shared::has_parts) {
        queries.load(p, tile(), r, x[r]);
      } else {
        if (tiles_.count > 0)
          queries.read(shared_, r, x[r]);
        else
          queries.load(p, tile(), r, x[r]);
      }
    }
    // Nobody writes to the workspace before it is cleared.
    if (tiles_.count == 0) wait_for_previous_kernel();
    if constexpr (!keeps_queries) sync_group();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::uint32_t largest = __float_as_uint(largest_of_lanes<1, 4>(larger_size(0, x[r])));
      if (largest > of_both) of_both = largest;
      const int scale = kw::split::fp16_scale(largest);
      const bool holds = scale_holds(scale);
      if (!holds) params_.take_fp32();
      const float factor = kw::split::power_of_two(holds ? scale : 0);
      if (lane_ % 4 == 0)
        shared_.query_factor[own_row() + 8 * r] =
            p.scale * log2_e * kw::split::power_of_two(holds ? -scale : 0);
#pragma unroll
      for (int i = 0; i < dim / 8; ++i)
        put_pieces(r, i, x[r][2 * i] * factor, x[r][2 * i + 1] * factor);
    }
    of_both = largest_of_warp(of_both);
    if (lane_ == 0) shared_.largest_query[warp_of_queries()] = of_both;
    __syncwarp();
    if constexpr (!keeps_queries) {
      shared_writes_before_copies();
      sync_group();
    }
  }
  __device__ __forceinline__ void put_pieces(int r, int k8, float first, float second) {
    std::uint32_t high, low;
    kw::split::split_fp16_as_it_is(first, second, high, low);
    if constexpr (keeps_queries) {
      q_[0][k8 / 2][k8 % 2 * 2 + r] = high;
      q_[1][k8 / 2][k8 % 2 * 2 + r] = low;
    } else {
      char* const to = shared_.q[group_] +
                       chunk_at(block_rows, own_row() % block_rows + 8 * r, k8, 0) + lane_ % 4 * 4;
      *reinterpret_cast<std::uint32_t*>(to) = high;
      *reinterpret_cast<std::uint32_t*>(to + chunk_at(block_rows, 0, 0, 1)) = low;
    }
  }

  // x = Q K^T of the next tile of keys.
  __device__ __forceinline__ void issue_scores() {
    mbarrier_wait(&shared_.k_full[ring_.stage()], ring_.round());
    wgmma_fence();
    const char* const keys = shared_.k[ring_.stage()];
    const WgmmaOperand k = wgmma_operand(keys, 128, 1024);
    // From K on, so that the compiler does not keep the addresses of all of Q's parts in registers.
    const WgmmaOperand q =
        advance(k, static_cast<unsigned>(shared_.q[keeps_queries ? 0 : group_] - keys));
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
    release(shared_.k_empty[ring_.stage()]);
    ring_.advance();
  }
  // Where V is of the tile whose scores were taken last.
  __device__ __forceinline__ Turn<Shared::stages> turn_of_v() const { return {ring_.count - 1}; }
  // window = P V of that tile of keys.
  __device__ __forceinline__ void issue_outputs(unsigned stage) {
    mbarrier_wait(&shared_.v_full[stage], turn_of_v().round());
    issue_weighted<dim>(window_, shared_.v[stage]);
  }
  // to = P V of so many columns, whose pieces are there.
  template <int columns>
  __device__ __forceinline__ void issue_weighted(float (&to)[columns / 2], const char* pieces) {
    wgmma_fence();
    const WgmmaOperand v = wgmma_operand(pieces, 128, 1024);
    const auto issue = [&](auto k16, const std::uint32_t(&a)[4], int piece, unsigned b, bool add) {
      constexpr unsigned at = k16 / 2 * columns * 128 + k16 % 2 * 512;
#if defined(__CUDACC__)
      char* const staged = nullptr;
      static_cast<void>(piece);
#else
      char* const staged = shared_.staged[group_][k16 * 2 + piece];
#endif
      wgmma_fp16<columns>(to, a, staged, advance(v, at + b * 256), add);
    };
    repeat<4>([&](auto k16) {
      issue(k16, low_[k16], 1, 0, k16 > 0);
      issue(k16, high_[k16], 0, 1, true);
    });
    repeat<4>([&](auto k16) { issue(k16, high_[k16], 0, 0, true); });
    wgmma_commit();
  }

  // What makes scores in powers of two of a tile's products.
  __device__ __forceinline__ void find_factors(float of_keys, float (&factor)[2]) const {
    const float* const of_queries = shared_.query_factor + own_row();
    factor[0] = of_queries[0] * of_keys;
    factor[1] = of_queries[8] * of_keys;
  }
  // Where keys are hidden or something is added: x becomes scores, -Inf where the query does not
  // see the key, and factors 1.
  __device__ __forceinline__ void finish_scores(int key_tile, float (&factor)[2]) {
    if (key_tile < tile().plain_tiles[group_]) return;
#pragma unroll
    for (int i = 0; i < scores; ++i) x_[i] *= factor[i / 2 % 2];
    factor[0] = factor[1] = 1;
    hide_keys(key_tile);
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

  // Takes the largest of x * factor in, factor > 0. A weight, times 2^14, is then
  // 2^(x * factor + minus). What a query's scores are compared with stays while none of the warp's
  // queries has one further above its own; only there do lanes ask each other, and sums are
  // multiplied. There x becomes what is above the largest product: its key's weight is one piece.
  __device__ __forceinline__ void take_largest(const float (&factor)[2], float (&minus)[2],
                                               int key_tile) {
    float found[2];
    bool rises = false;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      found[r] = minus_infinity();
#pragma unroll
      for (int i = 0; i < scores / 4; ++i)
        found[r] = fmaxf(found[r], fmaxf(x_[4 * i + 2 * r], x_[4 * i + 2 * r + 1]));
      rises |= found[r] * factor[r] > largest_[r] + most_above;
      minus[r] = 14.0f - reference_of(largest_[r]);
    }
    if (!any_of_warp(rises)) return;
    float rescales[2], above[2];
    bool may_have[2], near[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      above[r] = fmaxf(found[r], __shfl_xor_sync(whole_warp(), found[r], 1));
      above[r] = fmaxf(above[r], __shfl_xor_sync(whole_warp(), above[r], 2));
      const float score = above[r] * factor[r];
      const bool is_new = score > largest_[r];
      near[r] = (found[r] - above[r]) * factor[r] > LoneKeys::far_below;
      rescales[r] = is_new ? rescale(largest_[r], score) : 1.0f;
      if (is_new) largest_[r] = score, minus[r] = 14;
      above[r] = is_new ? above[r] : 0;
      sum_[r] *= rescales[r];
      lone_.weight[r] *= rescales[r];
      may_have[r] = is_new && sum_[r] < one_weight / 65536;
    }
#pragma unroll
    for (int i = 0; i < outputs; ++i) o_[i] *= rescales[i / 2 % 2];
#pragma unroll
    for (int i = 0; i < scores; ++i) x_[i] -= above[i / 2 % 2];
    lone_.take(x_, factor, may_have, near, sum_, key_tile * block_rows + lane_ % 4 * 2,
               own_lone_keys());
  }
  // Weights times 2^14, in pieces.
  __device__ __forceinline__ void weigh(const float (&factor)[2], int key_tile) {
    float minus[2];
    take_largest(factor, minus, key_tile);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int i = 0; i < scores / 4; ++i) {
        const float first = power_of_2(fmaf(x_[4 * i + 2 * r], factor[r], minus[r])),
                    second = power_of_2(fmaf(x_[4 * i + 2 * r + 1], factor[r], minus[r]));
        sum_[r] += first + second;
        kw::split::split_fp16_as_it_is(first, second, high_[i / 2][i % 2 * 2 + r],
                                       low_[i / 2][i % 2 * 2 + r]);
      }
    }
  }
  __device__ __forceinline__ void weigh_keys(int key_tile) {
    float factor[2];
    find_factors(shared_.k_unscale[turn_of_v().count % (2 * Shared::stages)], factor);
    finish_scores(key_tile, factor);
    weigh(factor, key_tile);
  }

  __device__ __forceinline__ void step(int key_tile) {
    weigh_keys(key_tile);
    const unsigned stage = turn_of_v().stage();
    issue_outputs(stage);
    issue_scores();
    take_outputs<1>(stage);
    take_scores();
  }
  __device__ __forceinline__ void last_step(int key_tile) {
    weigh_keys(key_tile);
    const unsigned stage = turn_of_v().stage();
    issue_outputs(stage);
    // The other warpgroup may have one tile of keys more, which comes before the next queries are
    // told of: there is a stage for it, or else this one's is to be given back first.
    if constexpr (Shared::stages > 1) fetch_next_queries();
    take_outputs<0>(stage);
    if constexpr (Shared::stages == 1) fetch_next_queries();
  }
  // With at most so many groups of products behind them still under way.
  template <int pending>
  __device__ __forceinline__ void take_outputs(unsigned stage) {
    const float unscale = shared_.v_unscale[stage];
    wgmma_wait<pending>();
    wgmma_keep(window_);
    __syncwarp();
    release(shared_.v_empty[stage]);
#pragma unroll
    for (int i = 0; i < outputs; ++i) o_[i] = fmaf(window_[i], unscale, o_[i]);
  }

  __device__ __forceinline__ void store() {
    WarpOutputs<dim>{params_, tile(), own_query(), lane_}.store(o_, sum_, lone_, own_lone_keys());
  }

  Shared& shared_;
  const SplitParams& params_;
  int group_, lane_;
  Turn<2> tiles_;
  typename Shared::Place ring_;  // where K of the next tile of keys is
  float x_[scores], window_[outputs], o_[outputs];
  std::uint32_t high_[4][4], low_[4][4];
  std::uint32_t q_[2][keeps_queries ? dim / 16 : 1][4];
  float largest_[2], sum_[2];
  LoneKeys lone_;
};

}  // namespace KW_TARGET::attention_split
