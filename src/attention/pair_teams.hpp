// The teams of attention_pair: one makes weights of queries and keys, the other multiplies them
// with V. Warp i of each are a pair.
#pragma once

#include "attention/pair_parts.hpp"
#include "attention/pair_product.hpp"

namespace KW_TARGET::attention {

// Of each row the largest score and the sum of weights, of this lane's columns.
template <int index>
struct PairSoftmax {
  using S = PairParts<index>;
  float largest[8], sum[8];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < 8; ++i) largest[i] = minus_infinity(), sum[i] = 0;
  }
  // Takes the largest of x * factor in, factor > 0; by what earlier sums are to be multiplied.
  // Whether that is not 1.
  __device__ __forceinline__ bool take_largest(const float (&x)[8][S::TN], float factor,
                                               float (&rescales)[8]) {
    float found[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      found[i] = x[i][0];
#pragma unroll
      for (int j = 1; j < S::TN; ++j) found[i] = fmaxf(found[i], x[i][j]);
    }
#pragma unroll
    for (int lanes = S::LM; lanes < 32; lanes *= 2)
#pragma unroll
      for (int i = 0; i < 8; ++i)
        found[i] = fmaxf(found[i], __shfl_xor_sync(whole_warp(), found[i], lanes));
    bool changes = false;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      found[i] = fmaxf(largest[i], found[i] * factor);
      changes |= found[i] != largest[i];
    }
    changes = any_of_warp(changes);
    if (changes) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        rescales[i] = rescale(largest[i], reference_of(found[i]));
        sum[i] *= rescales[i];
        largest[i] = found[i];
      }
    }
    return changes;
  }
};

// A part, where a tile's keys are cut: of each row the largest score, the sum of weights, and the
// outputs as if there were no other keys, which lie by columns.
template <int index>
struct PairPartSums {
  using S = PairParts<index>;
  alignas(16) float o[S::D][S::BM];
  float largest[S::BM], sum[S::BM];
};

// Weights of the pair's queries, tile after tile.
template <int index>
class WeightsTeam {
  using S = PairParts<index>;
  using Shared = typename S::Shared;

 public:
  __device__ __forceinline__ WeightsTeam(Shared& shared, const Attention& p)
      : shared_(shared), p_(p) {}

  __device__ __forceinline__ void run() {
    const PairPlace<index> own;
    const int d_stages = ceil_div(static_cast<int>(p_.dim), S::steps);
    const int tiles = shared_.task.own_tiles[own.warp];
    const auto wait = [&] { mbarrier_wait(&shared_.k_full[ring_.stage], ring_.round); };
    const auto leave = [&] {
      __syncwarp();
      if (threadIdx.x % warp_lanes == 0) mbarrier_arrive(&shared_.k_empty[ring_.stage]);
      ring_.advance();
    };
    softmax_.clear();
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
      float x[8][S::TN] = {};
      PairProduct<S::TN, S::q_pitch, S::WM / 2, S::k_pitch, 4 * S::LN, S::steps> product;
      product.a = shared_.q + own.row(0);
      product.multiply(
          x, d_stages,
          [&] {
            wait();
            product.b = shared_.k[ring_.stage] + own.lane_n * 4;
          },
          leave);
      float factor = p_.scale * log2_e;
      if (tile >= shared_.task.plain_tiles[own.warp] && hide(x, factor, tile)) factor = 1;
      weigh(x, factor, tile & 1);
    }
#pragma unroll 1
    for (int left = (shared_.task.tiles - tiles) * d_stages; left > 0; --left) {
      wait();
      leave();
    }
    add_lanes();
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
  __device__ __forceinline__ void store(bool) { give_divisors(); }
  __device__ __forceinline__ void store_part(PairPartSums<index>& to) {
    give_divisors();
    const PairPlace<index> own;
    if (own.lane_n != 0) return;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      to.largest[own.row(i)] = softmax_.largest[i];
      to.sum[own.row(i)] = softmax_.sum[i];
    }
  }

 private:
  // -Inf where the query does not see the key. Whether products were also multiplied by the factor:
  // where a mask is added to scores, or the largest product is not the largest score.
  __device__ __forceinline__ bool hide(float (&x)[8][S::TN], float factor, int tile) {
    const PairPlace<index> own;
    const PairTask& task = shared_.task;
    const AttentionHead& head = task.head;
    const std::int64_t first_key = task.first_key + std::int64_t{tile} * S::BN;
    const bool scales = head.mask != nullptr || !(factor > 0);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const std::int64_t query = task.first_query + own.row(i);
      std::int64_t seen = query < head.queries
                              ? visible_keys(p_.causal, query, head.queries, head.keys) - first_key
                              : 0;
      if (seen > S::BN) seen = S::BN;
      const int last = static_cast<int>(seen);
      const float* mask = head.mask == nullptr || last <= 0
                              ? nullptr
                              : head.mask + query * p_.mask_strides.row + first_key;
#pragma unroll
      for (int j = 0; j < S::TN; ++j) {
        const int key = own.column(j);
        const bool sees = key < last;
        if (scales) x[i][j] *= factor;
        if (mask != nullptr && sees) x[i][j] = fmaf(mask[key], log2_e, x[i][j]);
        if (!sees) x[i][j] = minus_infinity();
      }
    }
    return scales;
  }
  __device__ __forceinline__ void weigh(float (&x)[8][S::TN], float factor, unsigned round) {
    const PairPlace<index> own;
    float rescales[8];
    const bool changes = softmax_.take_largest(x, factor, rescales);
    float* const weights = shared_.weights[own.warp] + own.row_in_warp(0);
    float minus[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float reference = reference_of(softmax_.largest[i]);
      minus[i] = fmaf(reference, 0.0f, -reference);  // NaN where it is infinite, as Inf - Inf is
    }
#pragma unroll
    for (int group = 0; group < S::groups; ++group) {
#pragma unroll
      for (int jj = 0; jj < 4 * S::group_quads; ++jj)
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          float& w = x[i][group * 4 * S::group_quads + jj];
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
          *reinterpret_cast<float4*>(weights + own.column(j) * S::w_pitch + i / 4 * (S::WM / 2)) =
              make_float4(x[i + 1][j], x[i][j], x[i + 3][j], x[i + 2][j]);
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

  Shared& shared_;
  const Attention& p_;
  Ring<S::c.k_stages> ring_;
  PairSoftmax<index> softmax_;
};

// Outputs of the pair's queries.
template <int index>
class OutputsTeam {
  using S = PairParts<index>;
  using Shared = typename S::Shared;

 public:
  __device__ __forceinline__ OutputsTeam(Shared& shared, const Attention& p)
      : shared_(shared), p_(p) {}

  __device__ __forceinline__ void run() {
    const PairPlace<index> own;
#pragma unroll
    for (auto& row : o_)
#pragma unroll
      for (float& x : row) x = 0;
    Ring<S::c.v_stages> ring;
    const auto wait = [&] { mbarrier_wait(&shared_.v_full[ring.stage], ring.round); };
    const auto leave = [&] {
      __syncwarp();
      if (threadIdx.x % warp_lanes == 0) mbarrier_arrive(&shared_.v_empty[ring.stage]);
      ring.advance();
    };
    int stages = static_cast<int>(ceil_div(shared_.task.own_keys[own.warp], S::steps));
    int left = static_cast<int>(ceil_div(shared_.task.keys, S::steps)) - stages;
    unsigned round = 0;
#pragma unroll 1
    while (stages > 0) {
      const int here = stages < S::v_stages_of_tile ? stages : S::v_stages_of_tile;
      stages -= here;
      mbarrier_wait(&shared_.w_full[own.warp][0], round);
      rescale_sums();
      PairProduct<S::TD, S::w_pitch, S::WM / 2, S::D, 4 * S::LN, S::steps> product;
      product.a = shared_.weights[own.warp] + own.row_in_warp(0);
      int stage = 0;
      product.multiply(
          o_, here,
          [&] {
            wait();
            mbarrier_wait(&shared_.w_full[own.warp][stage / S::group_stages], round);
            product.b = shared_.v[ring.stage] + own.lane_n * 4;
          },
          [&] {
            leave();
            ++stage;
            if (stage % S::group_stages == 0 && threadIdx.x % warp_lanes == 0)
              mbarrier_arrive(&shared_.w_empty[own.warp][stage / S::group_stages - 1]);
          });
      round ^= 1;
    }
#pragma unroll 1
    for (; left > 0; --left) {
      wait();
      leave();
    }
  }
  // The outputs, or those of these keys alone.
  __device__ __forceinline__ void divide() {
    const PairPlace<index> own;
    mbarrier_wait(&shared_.divisors_full[own.warp], 0);
    float by[8];
#pragma unroll
    for (int i = 0; i < 8; i += 4)
      *reinterpret_cast<float4*>(&by[i]) = *reinterpret_cast<const float4*>(
          &shared_.divisors[own.warp][own.row_in_warp(i)]);
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < S::TD; ++j) o_[i][j] *= by[i ^ 1];
  }
  __device__ __forceinline__ void store_part(PairPartSums<index>& to) {
    divide();
    const PairPlace<index> own;
#pragma unroll
    for (int j = 0; j < S::TD; ++j)
#pragma unroll
      for (int i = 0; i < 8; i += 4)
        *reinterpret_cast<float4*>(&to.o[own.column(j)][own.row(i)]) = rows_of(i, j);
  }
  // Through shared memory, where the pair's weights were: whole sectors then go to memory.
  __device__ __forceinline__ void store(bool o16) {
    divide();
    const PairPlace<index> own;
    float* const staged = shared_.weights[own.warp];
    constexpr int columns = S::TD < S::TN ? S::TD : S::TN;  // of a lane, that fit at a time
#pragma unroll
    for (int first = 0; first < S::TD; first += columns) {
      __syncwarp();
#pragma unroll
      for (int j = 0; j < columns; ++j)
#pragma unroll
        for (int i = 0; i < 8; i += 4)
          *reinterpret_cast<float4*>(staged + own.column(j) * S::w_pitch + own.row_in_warp(i)) =
              rows_of(i, first + j);
      __syncwarp();
      store_staged(staged, columns * S::LN, own.column(first) - own.lane_n * 4, o16);
    }
  }

 private:
  __device__ __forceinline__ void rescale_sums() {
    const PairPlace<index> own;
    if (shared_.rescales[own.warp] == 0) return;
    float by[8];
#pragma unroll
    for (int i = 0; i < 8; i += 4)
      *reinterpret_cast<float4*>(&by[i]) = *reinterpret_cast<const float4*>(
          &shared_.factors[own.warp][own.row_in_warp(i)]);
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < S::TD; ++j) o_[i][j] *= by[i ^ 1];
  }
  // Four of a column, in the order of the queries.
  __device__ __forceinline__ float4 rows_of(int i, int j) const {
    return make_float4(o_[i + 1][j], o_[i][j], o_[i + 3][j], o_[i + 2][j]);
  }
  // 8 rows x 4 vectors a time.
  __device__ __forceinline__ void store_staged(const float* staged, int dims, int first_d,
                                               bool o16) {
    const PairPlace<index> own;
    const PairTask& task = shared_.task;
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    const std::int64_t first_query = task.first_query + own.warp * S::WM;
#pragma unroll 1
    for (int row = lane % 8; row < S::WM; row += 8) {
      if (first_query + row >= task.head.queries) break;
      float* const to = task.head.o + (first_query + row) * p_.o_strides.row + first_d;
#pragma unroll 2
      for (int d = lane / 8 * 4; d < dims; d += 16) {
        float x[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) x[e] = staged[(d + e) * S::w_pitch + row];
        if (o16) {
          if (first_d + d < p_.dim)
            *reinterpret_cast<float4*>(to + d) = make_float4(x[0], x[1], x[2], x[3]);
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e)
            if (first_d + d + e < p_.dim) to[d + e] = x[e];
        }
      }
    }
  }

  Shared& shared_;
  const Attention& p_;
  float o_[8][S::TD];  // of rows whose neighbours are swapped, as the weights' are
};

}  // namespace KW_TARGET::attention
