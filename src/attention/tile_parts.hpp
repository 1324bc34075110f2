// The parts of attention_tile: its configurations, the copies of K and V, register tiles, softmax.
#pragma once

#include "attention/tile_plan.hpp"
#include "attention/weights.hpp"
#include "device/async_copy.hpp"
#include "device/mbarrier.hpp"
#include "device/ring.hpp"
#include "device/warp.hpp"

namespace KW_TARGET::attention {

struct TileAccess {
  bool v16, o16;  // rows on 16-byte boundaries
};

template <int index>
struct TileParts {
  static constexpr TileConfig c = tile_configs[index];
  static constexpr int BM = c.rows(), BN = c.keys, D = c.dim, WM = c.warp_rows();
  static constexpr int threads = c.threads();
  static constexpr int LN = c.lanes_n(), TN = BN / LN, TD = D / LN;
  static constexpr int q_pitch = BM + 4, k_pitch = BN + 4, p_pitch = WM + 4;
  static constexpr int k_stages = D / c.stage_dims, v_stages = BN / c.stage_keys;
  static constexpr int k_floats = c.stage_dims * k_pitch, v_floats = c.stage_keys * D;
  static constexpr int stage_floats = k_floats > v_floats ? k_floats : v_floats;
  static_assert(TN % 4 == 0 && TD % 4 == 0 && BN % (4 * LN) == 0);

  struct Shared {
    alignas(16) float q[D * q_pitch];
    alignas(16) float weights[c.warps][BN * p_pitch];  // of a warp
    alignas(16) float stages[c.stages][stage_floats];
    Mbarrier full[c.stages], empty[c.stages];
    bool comes_last;

    __device__ __forceinline__ void init_barriers() {
      for (int s = 0; s < c.stages; ++s) {
        mbarrier_init(&full[s], threads);
        mbarrier_init(&empty[s], c.warps);
      }
    }
  };

  // How far ahead of its use a stage is filled: by one or two less than there are, which is how far
  // warps may be apart.
  static constexpr int ahead = c.stages - (c.stages > 4 ? 3 : 2);
  // Stages of V that a tile has, if so many keys are left: of what is not there nothing is read.
  static __device__ __forceinline__ int stages_of_v(std::int64_t keys) {
    return keys >= BN ? v_stages : (static_cast<int>(keys) + c.stage_keys - 1) / c.stage_keys;
  }

  // Which key of a tile is in a column of a stage of K: a thread's columns are LN keys apart, so
  // that a warp writes weights of neighbouring keys at a time, in different banks.
  static constexpr int column_of(int key) {
    const int group = key / (4 * LN), within = key % (4 * LN);
    return group * 4 * LN + within % LN * 4 + within / LN;
  }
};

// The copies of K and V, stage after stage, of the keys `begin` to `end` - 1. A thread's rows of a
// tile are a fixed number apart, so that a stage without edges takes one instruction a copy. A
// stage is filled again once every warp has left it, and some stages ahead of its use, so that
// warps need not be at the same stage.
template <int index>
class TileCopies {
  using S = TileParts<index>;

 public:
  __device__ __forceinline__ TileCopies(typename S::Shared& shared, const Attention& p,
                                        const AttentionHead& head, std::int64_t begin,
                                        std::int64_t end, const TileAccess& access)
      : shared_(shared),
        p_(p),
        head_(head),
        end_(end),
        first_key_(begin),
        k_from_(head.k + (begin + k_key(0)) * p.k_strides.row + k_dim()),
        v_from_(head.v + (begin + v_key(0)) * p.v_strides.row + v_dim()),
        whole_rows_(p.dim == S::D),
        v16_(access.v16) {}

  // Starts the copies of the next stage, if there is one, when its buffer is free.
  __device__ __forceinline__ void next() {
    if (first_key_ >= end_) return;
    mbarrier_wait(&shared_.empty[ring_.stage], ring_.round ^ 1);
    float* to = shared_.stages[ring_.stage];
    const bool whole = whole_rows_ && v16_ && first_key_ + S::BN <= end_;
    if (part_ < S::k_stages) {
      if (whole)
        copy_k<true>(to, part_ * S::c.stage_dims);
      else
        copy_k<false>(to, part_ * S::c.stage_dims);
    } else {
      if (whole)
        copy_v<true>(to, (part_ - S::k_stages) * S::c.stage_keys);
      else
        copy_v<false>(to, (part_ - S::k_stages) * S::c.stage_keys);
    }
    mbarrier_arrive_after_copies(&shared_.full[ring_.stage]);
    ring_.advance();
    if (++part_ == S::k_stages + S::stages_of_v(end_ - first_key_)) {
      part_ = 0;
      first_key_ += S::BN;
      k_from_ += S::BN * p_.k_strides.row;
      v_from_ += S::BN * p_.v_strides.row;
    }
  }

 private:
  // Of K a warp takes 8 elements of 4 keys at a time; its quads of keys are as many apart as there
  // are warps, in the order of a stage's columns.
  static constexpr int k_quads = S::BN / 4 / S::c.warps, k_octets = S::c.stage_dims / 8;
  static_assert(S::LN % S::c.warps == 0);
  static constexpr int k_key_step(int quad) {
    return S::c.warps * quad / S::LN * 4 * S::LN + S::c.warps * quad % S::LN;
  }
  static __device__ __forceinline__ int k_key(int quad) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    return k_key_step(quad) + warp + lane / 8 * S::LN;
  }
  static __device__ __forceinline__ int k_dim() { return static_cast<int>(threadIdx.x) % 8; }
  template <bool whole>
  __device__ __forceinline__ void copy_k(float* to, int d0) {
    const float* from = k_from_ + d0;
    float* const first = to + k_dim() * S::k_pitch + S::column_of(k_key(0));
#pragma unroll
    for (int quad = 0; quad < k_quads; ++quad) {
      const float* row = from + k_key_step(quad) * p_.k_strides.row;
      const bool there = whole || first_key_ + k_key(quad) < end_;
#pragma unroll
      for (int octet = 0; octet < k_octets; ++octet) {
        float* const at = first + octet * 8 * S::k_pitch + S::column_of(k_key_step(quad));
        const bool valid = whole || (there && d0 + octet * 8 + k_dim() < p_.dim);
        async_copy<4>(at, valid ? row + octet * 8 : head_.k, valid ? 4 : 0);
      }
    }
  }

  // Of V a thread takes 4 elements at a time.
  static constexpr int v_lanes = S::D / 4, v_step = S::threads / v_lanes;
  static __device__ __forceinline__ int v_key(int i) {
    return i * v_step + static_cast<int>(threadIdx.x) / v_lanes;
  }
  static __device__ __forceinline__ int v_dim() {
    return static_cast<int>(threadIdx.x) % v_lanes * 4;
  }
  template <bool whole>
  __device__ __forceinline__ void copy_v(float* to, int key0) {
    const float* from = v_from_ + key0 * p_.v_strides.row;
    float* const first = to + v_key(0) * S::D + v_dim();
#pragma unroll
    for (int i = 0; i < S::c.stage_keys / v_step; ++i) {
      const float* row = from + i * v_step * p_.v_strides.row;
      float* const at = first + i * v_step * S::D;
      if constexpr (whole) {
        async_copy<16>(at, row, 16);
      } else {
        const bool there = first_key_ + key0 + v_key(i) < end_;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const bool valid = there && v_dim() + j < p_.dim;
          async_copy<4>(at + j, valid ? row + j : head_.v, valid ? 4 : 0);
        }
      }
    }
  }

  typename S::Shared& shared_;
  const Attention& p_;
  const AttentionHead& head_;
  std::int64_t end_, first_key_;
  const float *k_from_, *v_from_;  // of the tile at first_key_
  int part_ = 0;
  Ring<S::c.stages> ring_;
  bool whole_rows_, v16_;
};

// A thread's elements of one k of both operands.
template <int TN>
struct TileFragment {
  alignas(16) float x[8], y[TN];

  __device__ __forceinline__ void load(const float* a, int a_half, const float* b, int b_step) {
    *reinterpret_cast<float4*>(&x[0]) = *reinterpret_cast<const float4*>(a);
    *reinterpret_cast<float4*>(&x[4]) = *reinterpret_cast<const float4*>(a + a_half);
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      *reinterpret_cast<float4*>(&y[j]) = *reinterpret_cast<const float4*>(b + j / 4 * b_step);
  }
  // acc += x y^T, down a column and up the next, so that the reuse cache holds y's element and an
  // FFMA reads two registers. Odd and even registers are two banks, of which each gives one a
  // cycle. What came by 16 bytes lies in the bank of its index. Accumulators lie in that of the
  // vectors in which they are stored: scores as rows whose neighbours are swapped (store_weights),
  // outputs as rows (store_part), and then it is the weights whose neighbours are. At a turn y's
  // element is new, and the order of turns has it in the other bank.
  __device__ __forceinline__ void add_scores(float (&acc)[8][TN]) const {
#pragma unroll
    for (int j = 0; j < TN; ++j)
#pragma unroll
      for (int step = 0; step < 8; ++step) {
        const int i = j % 2 == 0 ? step : 7 - step;
        acc[i][j] = fmaf(x[i], y[j], acc[i][j]);
      }
  }
  __device__ __forceinline__ void add_outputs(float (&acc)[8][TN]) const {
#pragma unroll
    for (int j = 0; j < TN; ++j)
#pragma unroll
      for (int step = 0; step < 8; ++step) {
        const int i = j % 2 == 0 ? 7 - step : step;
        acc[i][j] = fmaf(x[i ^ 1], y[j], acc[i][j]);
      }
  }
  template <bool scores>
  __device__ __forceinline__ void multiply(float (&acc)[8][TN]) const {
    if constexpr (scores)
      add_scores(acc);
    else
      add_outputs(acc);
  }
};

// acc += a^T b over `steps` of k, of columns of a and b in groups of four. The elements of the next
// k are on their way while those of one are multiplied.
template <bool scores, int TN, int steps>
__device__ __forceinline__ void multiply_tiles(float (&acc)[8][TN], const float* a, int a_pitch,
                                               int a_half, const float* b, int b_pitch,
                                               int b_step) {
  TileFragment<TN> even, odd;
  even.load(a, a_half, b, b_step);
#pragma unroll 3
  for (int k = 0; k < steps - 2; k += 2) {
    odd.load(a + a_pitch, a_half, b + b_pitch, b_step);
    even.template multiply<scores>(acc);
    a += 2 * a_pitch;
    b += 2 * b_pitch;
    even.load(a, a_half, b, b_step);
    odd.template multiply<scores>(acc);
  }
  odd.load(a + a_pitch, a_half, b + b_pitch, b_step);
  even.template multiply<scores>(acc);
  odd.template multiply<scores>(acc);
}

// A thread's place: its rows are two groups of four, its columns groups of four.
template <int index>
struct TilePlace {
  using S = TileParts<index>;
  int warp, lane_m, lane_n;
  __device__ TilePlace()
      : warp(static_cast<int>(threadIdx.x) / 32),
        lane_m(static_cast<int>(threadIdx.x) % 32 / S::LN),
        lane_n(static_cast<int>(threadIdx.x) % 32 % S::LN) {}
  __device__ __forceinline__ int row_in_warp(int i) const {
    return i / 4 * (S::WM / 2) + lane_m * 4 + i % 4;
  }
  __device__ __forceinline__ int row(int i) const { return warp * S::WM + row_in_warp(i); }
  // Of a tile, of the score in column j.
  __device__ __forceinline__ int key(int j) const {
    return j / 4 * 4 * S::LN + j % 4 * S::LN + lane_n;
  }
  __device__ __forceinline__ int dim(int j) const { return j / 4 * 4 * S::LN + lane_n * 4 + j % 4; }
};

// Scores become weights; the sums before are scaled to the new largest scores.
template <int index>
struct TileSoftmax {
  using S = TileParts<index>;
  float largest[8], sum[8];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < 8; ++i) largest[i] = minus_infinity(), sum[i] = 0;
  }
  // Scores are x times a factor.
  __device__ __forceinline__ void weigh(float (&x)[8][S::TN], float of_scores,
                                        float (&o)[8][S::TD]) {
    float found[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      found[i] = x[i][0];
#pragma unroll
      for (int j = 1; j < S::TN; ++j) found[i] = fmaxf(found[i], x[i][j]);
    }
#pragma unroll
    for (int lanes = S::LN / 2; lanes > 0; lanes /= 2)
#pragma unroll
      for (int i = 0; i < 8; ++i)
        found[i] = fmaxf(found[i], __shfl_xor_sync(whole_warp(), found[i], lanes));
    bool rises = false;
#pragma unroll
    for (int i = 0; i < 8; ++i) rises |= found[i] > largest[i];
    if (any_of_warp(rises)) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float now = fmaxf(largest[i], found[i]),
                    factor = rescale(largest[i], reference_of(now), of_scores);
        largest[i] = now;
        sum[i] *= factor;
#pragma unroll
        for (int j = 0; j < S::TD; ++j) o[i][j] *= factor;
      }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float reference = reference_of(largest[i]);
#pragma unroll
      for (int j = 0; j < S::TN; ++j) {
        x[i][j] = power_of_2((x[i][j] - reference) * of_scores);
        sum[i] += x[i][j];
      }
    }
  }
  // Of all lanes that share a row.
  __device__ __forceinline__ void add_lanes() {
#pragma unroll
    for (int lanes = S::LN / 2; lanes > 0; lanes /= 2)
#pragma unroll
      for (int i = 0; i < 8; ++i) sum[i] += __shfl_xor_sync(whole_warp(), sum[i], lanes);
  }
};

// Starts the copies of the block's queries.
template <int index>
__device__ __forceinline__ void copy_queries(typename TileParts<index>::Shared& shared,
                                             const Attention& p, const AttentionHead& head,
                                             std::int64_t first_query) {
  using S = TileParts<index>;
  // Eight threads a row: what is written at a time lies in different banks.
  for (int i = static_cast<int>(threadIdx.x); i < S::BM * S::D; i += S::threads) {
    const int row = i / 8 % S::BM, d = i / (8 * S::BM) * 8 + i % 8;
    const std::int64_t query = first_query + row;
    const bool there = query < head.queries && d < p.dim;
    async_copy<4>(&shared.q[d * S::q_pitch + row],
                  there ? head.q + query * p.q_strides.row + d : head.q, there ? 4 : 0);
  }
}

// -Inf where the query does not see the key; elsewhere products become scores, in powers of two,
// where they must (scales_products).
template <int index>
__device__ __forceinline__ void finish_scores(float (&x)[8][TileParts<index>::TN],
                                              const TilePlace<index>& own, const Attention& p,
                                              const AttentionHead& head, std::int64_t first_query,
                                              std::int64_t first_key, bool all_visible) {
  using S = TileParts<index>;
  const bool scales = scales_products(p);
  if (all_visible && !scales) return;
  const float factor = scales ? p.scale * log2_e : 1.0f;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const SeenKeys seen = seen_keys<S::BN>(p, head, first_query + own.row(i), first_key);
#pragma unroll
    for (int j = 0; j < S::TN; ++j) x[i][j] = seen_score(seen, own.key(j), x[i][j] * factor);
  }
}

// Neighbouring rows are swapped (TileFragment).
template <int index>
__device__ __forceinline__ void store_weights(const float (&x)[8][TileParts<index>::TN],
                                              const TilePlace<index>& own, float* weights) {
  using S = TileParts<index>;
#pragma unroll
  for (int j = 0; j < S::TN; ++j)
#pragma unroll
    for (int i = 0; i < 8; i += 4)
      *reinterpret_cast<float4*>(weights + own.key(j) * S::p_pitch + own.row_in_warp(i)) =
          make_float4(x[i + 1][j], x[i][j], x[i + 3][j], x[i + 2][j]);
}

template <int index>
__device__ __forceinline__ void store_outputs(const float (&o)[8][TileParts<index>::TD],
                                              const TileSoftmax<index>& softmax,
                                              const TilePlace<index>& own, const Attention& p,
                                              const AttentionHead& head, std::int64_t first_query,
                                              bool aligned) {
  using S = TileParts<index>;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const std::int64_t query = first_query + own.row(i);
    if (query >= head.queries) continue;
    float* to = head.o + query * p.o_strides.row;
    const float factor = divisor(softmax.sum[i]);
#pragma unroll
    for (int j = 0; j < S::TD; j += 4) {
      const int d = own.dim(j);
      if (aligned && d < p.dim) {
        *reinterpret_cast<float4*>(to + d) = make_float4(
            o[i][j] * factor, o[i][j + 1] * factor, o[i][j + 2] * factor, o[i][j + 3] * factor);
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e)
          if (d + e < p.dim) to[d + e] = o[i][j + e] * factor;
      }
    }
  }
}

}  // namespace KW_TARGET::attention
