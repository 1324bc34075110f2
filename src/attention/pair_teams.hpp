// The teams of attention_pair that multiply: one makes weights of queries and keys, the other
// multiplies them with V. Warp i of each are a pair.
#pragma once

#include "attention/pair_parts.hpp"
#include "attention/pair_product.hpp"
#include "attention/part_merge.hpp"
#include "device/warp_wait.hpp"

namespace KW_TARGET::attention {

// Of each row the largest product and the sum of weights, of this lane's columns.
template <int index>
struct PairSoftmax {
  using S = PairParts<index>;
  static constexpr float most_above = 8;
  float largest[8], sum[8];  // largest: what products are compared with
  bool is_far;               // one of the warp's rows has scores that are large numbers

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < 8; ++i) largest[i] = minus_infinity(), sum[i] = 0;
    is_far = false;
  }
  // Takes the largest of x in; scores are x * factor, factor > 0. A weight is then
  // 2^(x * factor + minus). Whether earlier sums are to be multiplied, and by what. Weights may be
  // up to 2^most_above: what a row's products are compared with stays while none of the warp's rows
  // has a score further above its own, and sums need no factors. Only where one has do lanes ask
  // each other for a row's largest product. There, and where scores are large numbers, x becomes
  // what is above the largest product: its key has a weight of exactly 1, and one that outweighs
  // all others leaves V's row as it is.
  __device__ __forceinline__ bool take_largest(float (&x)[8][S::TN], float factor,
                                               float (&rescales)[8], float (&minus)[8]) {
    float found[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      found[i] = x[i][0];
#pragma unroll
      for (int j = 1; j < S::TN; ++j) found[i] = fmaxf(found[i], x[i][j]);
    }
    bool rises = false;
#pragma unroll
    for (int i = 0; i < 8; ++i) rises |= found[i] * factor > fmaf(largest[i], factor, most_above);
    if (!any_of_warp(rises || is_far)) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float score = reference_of(largest[i]) * factor;
        minus[i] = fmaf(score, 0.0f, -score);  // NaN where it is infinite, as Inf - Inf is
      }
      return false;
    }
    rises = any_of_warp(rises);
    if (rises) {
      bool far = false;
#pragma unroll
      for (int lanes = S::LM; lanes < 32; lanes *= 2)
#pragma unroll
        for (int i = 0; i < 8; ++i)
          found[i] = fmaxf(found[i], __shfl_xor_sync(whole_warp(), found[i], lanes));
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float now = fmaxf(largest[i], found[i]);
        rescales[i] = rescale(largest[i], reference_of(now), factor);
        sum[i] *= rescales[i];
        largest[i] = now;
        far |= is_far_score(reference_of(now) * factor);
      }
      is_far = any_of_warp(far);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float reference = reference_of(largest[i]);
      minus[i] = reference * 0.0f;
#pragma unroll
      for (float& element : x[i]) element -= reference;
    }
    return rises;
  }
};

template <int index>
using PairPartSums = PartSums<PairParts<index>::BM, PairParts<index>::D, true>;

// A warp of either team. Both multiply by one text: on a scheduler that has one of each, their
// loops would else be more instructions than its cache holds.
template <int index>
class PairTeam {
  using S = PairParts<index>;
  using Shared = typename S::Shared;

 public:
  // `weighs` is the same in all lanes, and the compiler knows.
  __device__ __forceinline__ PairTeam(Shared& shared, const Attention& p, bool weighs)
      : shared_(shared), p_(p), weighs_(weighs) {}

  __device__ __forceinline__ void run() {
    const int d_stages = ceil_div(static_cast<int>(p_.dim), S::steps);
    int tiles, left, rest;  // stages of this warp, and those of the others alone
    {
      const PairPlace<index> own;
      const PairTask& task = shared_.task;
      // The same in all lanes, and the compiler knows: then it counts in registers of the warp.
      tiles = from_lane(task.own_tiles[own.warp], 0);
      left = weighs_ ? tiles * d_stages
                     : static_cast<int>(ceil_div(task.own_keys[own.warp], S::steps));
      rest = (weighs_ ? task.tiles * d_stages : static_cast<int>(ceil_div(task.keys, S::steps))) -
             left;
    }
    softmax_.clear();
    clear_sums();
    Mbarrier* const full = weighs_ ? shared_.k_full : shared_.v_full;
    Mbarrier* const empty = weighs_ ? shared_.k_empty : shared_.v_empty;
    const float* const stages = weighs_ ? shared_.k[0] : shared_.v[0];
    const auto leave_stage = [&] {
      __syncwarp();
      if (threadIdx.x % warp_lanes == 0) mbarrier_arrive(&empty[ring_.stage]);
      ring_.advance();
    };
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
      const PairPlace<index> own;
      PairProduct<S::TN, S::a_pitch, S::WM / 2, S::b_pitch, 4 * S::LN, S::steps> product;
      int count = d_stages;
      if (weighs_) {
        clear_sums();
        product.a = shared_.q[own.warp] + own.row_in_warp(0);
      } else {
        mbarrier_wait(&shared_.w_full[own.warp][0], tile & 1);
        rescale_sums();
        product.a = shared_.weights[own.warp] + own.row_in_warp(0);
        count = left < S::v_stages_of_tile ? left : S::v_stages_of_tile;
        left -= count;
      }
      int stage = 0;
      product.multiply(
          acc_, from_lane(count, 0),
          [&] {
            mbarrier_wait_together(&full[ring_.stage], ring_.round);
            if (!weighs_)
              mbarrier_wait_together(&shared_.w_full[own.warp][stage / S::group_stages], tile & 1);
            product.b = stages + ring_.stage * (S::steps * S::b_pitch) + own.lane_n * 4;
          },
          [&] {
            leave_stage();
            ++stage;
            if (!weighs_ && stage % S::group_stages == 0 && threadIdx.x % warp_lanes == 0)
              mbarrier_arrive(&shared_.w_empty[own.warp][stage / S::group_stages - 1]);
          });
      if (weighs_) {
        float factor = p_.scale * log2_e;
        if (tile >= shared_.task.plain_tiles[own.warp] && hide(factor, tile)) factor = 1;
        weigh(factor, tile & 1);
      }
    }
#pragma unroll 1
    for (; rest > 0; --rest) {
      mbarrier_wait(&full[ring_.stage], ring_.round);
      leave_stage();
    }
    if (weighs_) {
      add_lanes();
      give_divisors();
    } else {
      divide();
    }
  }
  __device__ __forceinline__ void store_part(PairPartSums<index>& to) const {
    const PairPlace<index> own;
    if (!weighs_) {
#pragma unroll
      for (int j = 0; j < S::TN; ++j)
#pragma unroll
        for (int i = 0; i < 8; i += 4)
          *reinterpret_cast<float4*>(&to.o[own.column(j)][own.row(i)]) = rows_of(i, j);
    } else if (own.lane_n == 0) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        to.largest[own.row(i)] = softmax_.largest[i];
        to.sum[own.row(i)] = softmax_.sum[i];
      }
    }
  }
  // Through shared memory, where the pair's weights were: whole sectors then go to memory.
  __device__ __forceinline__ void store(bool o16) {
    if (weighs_) return;
    const PairPlace<index> own;
    float* const staged = shared_.weights[own.warp];
    __syncwarp();
#pragma unroll
    for (int j = 0; j < S::TN; ++j)
#pragma unroll
      for (int i = 0; i < 8; i += 4)
        *reinterpret_cast<float4*>(staged + own.column(j) * S::a_pitch + own.row_in_warp(i)) =
            rows_of(i, j);
    __syncwarp();
    store_staged(staged, o16);
  }

 private:
  __device__ __forceinline__ void clear_sums() {
#pragma unroll
    for (auto& row : acc_)
#pragma unroll
      for (float& x : row) x = 0;
  }
  // -Inf where the query does not see the key. Whether products become scores here.
  __device__ __forceinline__ bool hide(float factor, int tile) {
    const PairPlace<index> own;
    const PairTask& task = shared_.task;
    const AttentionHead& head = task.head;
    const std::int64_t first_key = task.first_key + std::int64_t{tile} * S::BN;
    const bool scales = scales_products(p_);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const SeenKeys seen = seen_keys<S::BN>(p_, head, task.first_query + own.row(i), first_key);
#pragma unroll
      for (int j = 0; j < S::TN; ++j)
        acc_[i][j] = seen_score(seen, own.column(j), scales ? acc_[i][j] * factor : acc_[i][j]);
    }
    return scales;
  }
  __device__ __forceinline__ void weigh(float factor, unsigned round) {
    const PairPlace<index> own;
    float rescales[8], minus[8];
    const bool changes = softmax_.take_largest(acc_, factor, rescales, minus);
    float* const weights = shared_.weights[own.warp] + own.row_in_warp(0);
#pragma unroll
    for (int group = 0; group < S::groups; ++group) {
#pragma unroll
      for (int jj = 0; jj < 4 * S::group_quads; ++jj)
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          float& w = acc_[i][group * 4 * S::group_quads + jj];
          w = power_of_2(fmaf(w, factor, minus[i]));
          softmax_.sum[i] += w;
        }
      mbarrier_wait(&shared_.w_empty[own.warp][group], round ^ 1);
      if (group == 0) {
        if (changes && own.lane_n == 0) {
#pragma unroll
          for (int i = 0; i < 8; i += 4)
            *reinterpret_cast<float4*>(&shared_.factors[own.warp][own.row_in_warp(i)]) =
                make_float4(rescales[i], rescales[i + 1], rescales[i + 2], rescales[i + 3]);
        }
        if (threadIdx.x % warp_lanes == 0) shared_.rescales[own.warp] = changes ? 1 : 0;
      }
#pragma unroll
      for (int jj = 0; jj < 4 * S::group_quads; ++jj)
#pragma unroll
        for (int i = 0; i < 8; i += 4) {
          const int j = group * 4 * S::group_quads + jj;
          *reinterpret_cast<float4*>(weights + own.column(j) * S::a_pitch + i / 4 * (S::WM / 2)) =
              make_float4(acc_[i + 1][j], acc_[i][j], acc_[i + 3][j], acc_[i + 2][j]);
        }
      __syncwarp();
      if (threadIdx.x % warp_lanes == 0) mbarrier_arrive(&shared_.w_full[own.warp][group]);
    }
  }
  __device__ __forceinline__ void add_lanes() {
#pragma unroll
    for (int lanes = S::LM; lanes < 32; lanes *= 2)
#pragma unroll
      for (int i = 0; i < 8; ++i)
        softmax_.sum[i] += __shfl_xor_sync(whole_warp(), softmax_.sum[i], lanes);
  }

  // What the sums of the other warp of the pair are multiplied by.
  __device__ __forceinline__ void give_divisors() {
    const PairPlace<index> own;
    if (own.lane_n == 0) {
#pragma unroll
      for (int i = 0; i < 8; ++i)
        shared_.divisors[own.warp][own.row_in_warp(i)] = divisor(softmax_.sum[i]);
    }
    __syncwarp();
    if (threadIdx.x % warp_lanes == 0) mbarrier_arrive(&shared_.divisors_full[own.warp]);
  }
  __device__ __forceinline__ void rescale_sums() {
    const PairPlace<index> own;
    if (shared_.rescales[own.warp] == 0) return;
    multiply_rows(shared_.factors[own.warp]);
  }
  // The outputs, or those of these keys alone.
  __device__ __forceinline__ void divide() {
    const PairPlace<index> own;
    mbarrier_wait(&shared_.divisors_full[own.warp], 0);
    multiply_rows(shared_.divisors[own.warp]);
  }
  // By a factor for each row of the warp.
  __device__ __forceinline__ void multiply_rows(const float* of_rows) {
    const PairPlace<index> own;
    float by[8];
#pragma unroll
    for (int i = 0; i < 8; i += 4)
      *reinterpret_cast<float4*>(&by[i]) =
          *reinterpret_cast<const float4*>(of_rows + own.row_in_warp(i));
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < S::TN; ++j) acc_[i][j] *= by[i ^ 1];
  }
  // Four of a column, in the order of the queries.
  __device__ __forceinline__ float4 rows_of(int i, int j) const {
    return make_float4(acc_[i + 1][j], acc_[i][j], acc_[i + 3][j], acc_[i + 2][j]);
  }
  // 8 rows x 4 vectors a time.
  __device__ __forceinline__ void store_staged(const float* staged, bool o16) {
    const PairPlace<index> own;
    const PairTask& task = shared_.task;
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes, dim = static_cast<int>(p_.dim);
    const std::int64_t first_query = task.first_query + own.warp * S::WM;
#pragma unroll 1
    for (int row = lane % 8; row < S::WM; row += 8) {
      if (first_query + row >= task.head.queries) break;
      float* const to = task.head.o + (first_query + row) * p_.o_strides.row;
#pragma unroll 2
      for (int d = lane / 8 * 4; d < dim; d += 16) {
        float x[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) x[e] = staged[(d + e) * S::a_pitch + row];
        if (o16) {
          *reinterpret_cast<float4*>(to + d) = make_float4(x[0], x[1], x[2], x[3]);
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e)
            if (d + e < dim) to[d + e] = x[e];
        }
      }
    }
  }

  Shared& shared_;
  const Attention& p_;
  const bool weighs_;
  Ring<S::c.stages> ring_;
  PairSoftmax<index> softmax_;
  // Scores; or sums of O, of rows whose neighbours are swapped, as the weights' are.
  float acc_[8][S::TN];
};

}  // namespace KW_TARGET::attention
