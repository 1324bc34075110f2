// What the rungs share, so that each file holds its own idea: the place of a thread's outputs, the
// way of its elements from global to shared memory and on into registers, the FMAs of a k-step.
#pragma once

#include <utility>

#include "../sgemm/rung.hpp"
#include "device/gcn.hpp"
#include "rungs.hpp"

namespace KW_TARGET::amd {

// The arguments of __launch_bounds__: see AsPublished.
template <class Form>
constexpr int block_bound = gpu::has_nvidia_kernels || Form::bounds ? threads : 1024;
template <class Form, bool Edges>
constexpr int blocks_wanted = Edges || !(gpu::has_nvidia_kernels || Form::bounds) ? 1 : 2;

// Of a thread's outputs (i, j) is row + row_of(i), col + col_of(j) of the block's tile.
template <Tile t, Lanes l>
struct Place {
  static_assert(t.bm % (l.m * t.tm) == 0 && t.bn % (l.n * t.tn) == 0);
  static_assert(t.tm % l.piece == 0 && t.tn % l.piece == 0);
  int row, col;

  __device__ __forceinline__ explicit Place(int thread) {
    constexpr int groups_n = t.bn / (l.n * t.tn);
    const int group = thread / (l.m * l.n), lane = thread % (l.m * l.n);
    int lane_m = lane / l.n, lane_n = lane % l.n;
    if constexpr (l.order == LaneOrder::z) {  // the lane's odd bits and its even bits
      lane_m = (lane >> 1 & 1) | (lane >> 2 & 2) | (lane >> 3 & 4);
      lane_n = (lane & 1) | (lane >> 1 & 2) | (lane >> 2 & 4);
    }
    if constexpr (l.order == LaneOrder::pairs) {
      lane_m = lane / (2 * l.n) * 2 + lane % 2;
      lane_n = lane % (2 * l.n) / 2;
    }
    row = (group / groups_n * l.m + lane_m) * l.piece;
    col = (group % groups_n * l.n + lane_n) * l.piece;
  }
  static constexpr int row_of(int i) { return i / l.piece * (t.bm * l.piece / t.tm) + i % l.piece; }
  static constexpr int col_of(int j) { return j / l.piece * (t.bn * l.piece / t.tn) + j % l.piece; }
};

template <bool Edges, Tile t, Lanes l>
__device__ __forceinline__ void store_outputs(const PlainSgemm& p, TileOrigin tile, Place<t, l> own,
                                              const float (&acc)[t.tm][t.tn]) {
  constexpr int width = l.piece < 4 ? l.piece : 4;
#pragma unroll
  for (int i = 0; i < t.tm; ++i)
#pragma unroll
    for (int j = 0; j < t.tn; j += width)
      store_row<Edges, width>(p, tile.row + own.row + own.row_of(i),
                              tile.col + own.col + own.col_of(j), &acc[i][j]);
}

// count = 1, 2, 4 or 8 neighbours in shared memory, 16 bytes at a time at most.
template <int count>
__device__ __forceinline__ void read_vector(float* to, const float* from) {
  if constexpr (count == 1) {
    to[0] = from[0];
  } else if constexpr (count == 8) {
    read_vector<4>(to, from);
    read_vector<4>(to + 4, from + 4);
  } else {
    using Vector = std::conditional_t<count == 4, float4, float2>;
    const Vector v = *reinterpret_cast<const Vector*>(from);
    to[0] = v.x;
    to[1] = v.y;
    if constexpr (count == 4) {
      to[2] = v.z;
      to[3] = v.w;
    }
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

// The elements that a thread needs of one k-step, from rows [k][m] and [k][n] of the two tiles that
// begin at its place.
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
// B lies in shared memory as [k][n + pad]; A as [m][k + pad], or transposed as [k][m + pad].
template <Tile t, bool Edges, bool gcn = false>
class TileCopy {
  static_assert(t.bm * t.bk == 4 * threads && t.bk * t.bn == 4 * threads && !(gcn && Edges));
  using Queue = gcn::LoadQueue<gcn::Memory::global>;
  using Arriving = std::conditional_t<gcn, Queue::Load<4>, float4>;
  int a_row_, a_k_, b_k_, b_col_;  // of its elements in the tiles
  Queue queue_;
  Arriving a_ = {}, b_ = {};
  float a_arrived_[4] = {};

  __device__ __forceinline__ float4 arrived_a() {
    if constexpr (gcn)
      return queue_.template wait<1>(a_);  // B's load may still be under way
    else
      return a_;
  }

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

  __device__ __forceinline__ void store_a(float* as, int pitch_a) {
    *reinterpret_cast<float4*>(as + a_row_ * pitch_a + a_k_) = arrived_a();
  }
  // The part-th of A's four elements, transposed; part 0 before the others.
  template <int part>
  __device__ __forceinline__ void store_a_transposed(float* as, int pitch_a) {
    if constexpr (part == 0) {
      const float4 a = arrived_a();
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
  __device__ __forceinline__ void store_transposed(float* as, int pitch_a, float* bs, int pitch_b) {
    store_a_transposed<0>(as, pitch_a);
    store_a_transposed<1>(as, pitch_a);
    store_a_transposed<2>(as, pitch_a);
    store_a_transposed<3>(as, pitch_a);
    store_b(bs, pitch_b);
  }
};

}  // namespace KW_TARGET::amd
