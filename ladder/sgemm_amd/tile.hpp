// What the rungs share, so that each file holds its own idea: the place of a thread's outputs, the
// way of its elements from global to shared memory and on into registers, the FMAs of a k-step.
//
// In shared memory A lies transposed, [k][m], rows `pitch_a` floats apart, and B as [k][n].
#pragma once

#include <utility>

#include "../sgemm/rung.hpp"
#include "device/gcn.hpp"
#include "rungs.hpp"

namespace KW_TARGET::amd {

// Of a thread's outputs (i, j) is row + row_of(i), col + col_of(j) of the block's tile.
template <Tile t, Lanes l>
struct Place {
  static constexpr int group_rows = l.m * t.tm, group_cols = l.n * t.tn;
  static_assert(t.bm % group_rows == 0 && t.bn % group_cols == 0);
  static_assert(t.tm % l.piece == 0 && t.tn % l.piece == 0);
  int row, col;

  __device__ __forceinline__ explicit Place(int thread) {
    const int group = thread / (l.m * l.n), lane = thread % (l.m * l.n);
    int lane_m = lane / l.n, lane_n = lane % l.n;
    if constexpr (l.z_order) {  // the lane's odd bits and its even bits
      lane_m = (lane >> 1 & 1) | (lane >> 2 & 2) | (lane >> 3 & 4);
      lane_n = (lane & 1) | (lane >> 1 & 2) | (lane >> 2 & 4);
    }
    row = group / (t.bn / group_cols) * group_rows + lane_m * l.piece;
    col = group % (t.bn / group_cols) * group_cols + lane_n * l.piece;
  }
  static constexpr int row_of(int i) { return i / l.piece * (l.m * l.piece) + i % l.piece; }
  static constexpr int col_of(int j) { return j / l.piece * (l.n * l.piece) + j % l.piece; }
};

template <bool Edges, Tile t, Lanes l>
__device__ __forceinline__ void store_outputs(const PlainSgemm& p, TileOrigin tile, Place<t, l> own,
                                              const float (&acc)[t.tm][t.tn]) {
#pragma unroll
  for (int i = 0; i < t.tm; ++i)
#pragma unroll
    for (int j = 0; j < t.tn; j += l.piece)
      store_row<Edges, l.piece>(p, tile.row + own.row + own.row_of(i),
                                tile.col + own.col + own.col_of(j), &acc[i][j]);
}

// count = 2 or 4 neighbours in shared memory, in one read.
template <int count>
__device__ __forceinline__ void read_vector(float* to, const float* from) {
  using Vector = std::conditional_t<count == 4, float4, float2>;
  const Vector v = *reinterpret_cast<const Vector*>(from);
  to[0] = v.x;
  to[1] = v.y;
  if constexpr (count == 4) {
    to[2] = v.z;
    to[3] = v.w;
  }
}

template <int TM, int TN>
__device__ __forceinline__ void outer_product(float (&acc)[TM][TN], const float (&a)[TM],
                                              const float (&b)[TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
}

// The elements that a thread needs of one k-step, from rows of the two tiles that begin at its
// place.
template <Tile t, Lanes l>
struct Operand {
  float a[t.tm], b[t.tn];

  __device__ __forceinline__ void read(const float* as, const float* bs) {
    using Own = Place<t, l>;
#pragma unroll
    for (int i = 0; i < t.tm; i += l.piece) read_vector<l.piece>(&a[i], as + Own::row_of(i));
#pragma unroll
    for (int j = 0; j < t.tn; j += l.piece) read_vector<l.piece>(&b[j], bs + Own::col_of(j));
  }
};

// One thread's 16 bytes of A and 16 bytes of B of each tile: loaded from global memory, stored to
// shared memory, and under way in between. In `gcn` the store waits for exactly what it needs.
template <Tile t, bool Edges, bool gcn = false>
class TileCopy {
  static_assert(t.bm * t.bk == 4 * threads && t.bk * t.bn == 4 * threads && !(gcn && Edges));
  using Queue = gcn::LoadQueue<gcn::Memory::global>;
  using Arriving = std::conditional_t<gcn, Queue::Load, float4>;
  int a_row_, a_k_, b_k_, b_col_;  // of its elements in the tiles
  Queue queue_;
  Arriving a_ = {}, b_ = {};
  float a_arrived_[4] = {};

 public:
  __device__ __forceinline__ explicit TileCopy(int thread)
      : a_row_(thread / (t.bk / 4)),
        a_k_(thread % (t.bk / 4) * 4),
        b_k_(thread / (t.bn / 4)),
        b_col_(thread % (t.bn / 4) * 4) {}

  __device__ __forceinline__ void load(const PlainSgemm& p, TileOrigin tile, std::int64_t k0) {
    const std::int64_t a_row = tile.row + a_row_, b_col = tile.col + b_col_;
    if constexpr (gcn) {
      a_ = queue_.start(p.a + a_row * p.lda + k0 + a_k_);
      b_ = queue_.start(p.b + (k0 + b_k_) * p.ldb + b_col);
    } else {
      a_ = load4<Edges>(p.a, p.lda, p.m, p.k, a_row, k0 + a_k_);
      b_ = load4<Edges>(p.b, p.ldb, p.k, p.n, k0 + b_k_, b_col);
    }
  }

  // The part-th of A's four elements; part 0 before the others.
  template <int part>
  __device__ __forceinline__ void store_a(float* as, int pitch_a) {
    if constexpr (part == 0) {
      float4 a;
      if constexpr (gcn)
        a = queue_.template wait<1>(a_);  // B's load may still be under way
      else
        a = a_;
      a_arrived_[0] = a.x, a_arrived_[1] = a.y, a_arrived_[2] = a.z, a_arrived_[3] = a.w;
    }
    as[(a_k_ + part) * pitch_a + a_row_] = a_arrived_[part];
  }
  __device__ __forceinline__ void store_b(float* bs, int pitch_b) {
    float4* to = reinterpret_cast<float4*>(bs + b_k_ * pitch_b + b_col_);
    if constexpr (gcn)
      *to = queue_.template wait<0>(b_);
    else
      *to = b_;
  }
  __device__ __forceinline__ void store(float* as, int pitch_a, float* bs, int pitch_b) {
    store_a<0>(as, pitch_a);
    store_a<1>(as, pitch_a);
    store_a<2>(as, pitch_a);
    store_a<3>(as, pitch_a);
    store_b(bs, pitch_b);
  }
};

}  // namespace KW_TARGET::amd
