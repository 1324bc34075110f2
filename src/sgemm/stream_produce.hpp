// The producers of stream_tile: bring tiles of A and B into the ring, k-major, wherever they come
// from.
#pragma once

#include "device/overlap.hpp"
#include "sgemm/stream_stage.hpp"

namespace KW_TARGET::stream_tile {

// threadIdx.x, asked anew: what is computed from it then stays inside of a stage, where it costs a
// few instructions, instead of occupying registers throughout, of which a producer has few.
__device__ __forceinline__ int producer_index() {
#if defined(__CUDA_ARCH__)
  int index;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
  return index;
#else
  return static_cast<int>(threadIdx.x);
#endif
}

// One producer's share of an operand's way into the stages.
template <int BK, int Extent>
class OperandCopy {
 public:
  // From element (i0, k0) of x on; i runs along m or n and ends at `extent`.
  __device__ OperandCopy(const float* x, std::int64_t ld, Walk walk, std::int64_t extent,
                         std::int64_t i0, std::int64_t k0) {
    const Place first = place(walk);
    i_here_ = extent - i0 < Extent ? static_cast<int>(extent - i0) : Extent;
    from_ = x + (walk == Walk::along_k4 ? (i0 + first.i) * ld + k0 + first.k
                                        : (k0 + first.k) * ld + i0 + first.i);
  }

  // Starts the copies of the next tile, of which the matrix has k_here along k.
  __device__ __forceinline__ void next(OperandTile<BK, Extent>& tile, std::int64_t ld, Walk walk,
                                       int k_here) {
    const bool whole = i_here_ == Extent && k_here == BK;
    const Place first = place(walk);
    const Edge edge{first, i_here_ - first.i, k_here - first.k};
    float* const to = &tile[first.k][first.i];
    if (walk == Walk::along_k4) {
      whole ? along_k<true>(to, ld, edge) : along_k<false>(to, ld, edge);
      from_ += BK;
      return;
    }
    if (walk == Walk::along_i16)
      whole ? along_i<true, 4>(to, ld, edge) : along_i<false, 4>(to, ld, edge);
    else
      whole ? along_i<true, 1>(to, ld, edge) : along_i<false, 1>(to, ld, edge);
    from_ += BK * ld;
  }

 private:
  struct Place {
    int i, k;  // of this producer's first element of a tile
  };
  struct Edge {
    Place first;
    int i_left, k_left;  // of the matrix, from there on
  };
  static constexpr int pitch = Extent + 4;
  template <int width>
  static constexpr int across = Extent / width < 128 ? Extent / width : 128;

  __device__ static Place place(Walk walk) {
    const int tid = producer_index();
    // 8 (k) x 16 (i) producers: a warp reads sectors of 32 bytes and writes 32 banks.
    if (walk == Walk::along_k4) return {tid / 8, tid % 8};
    // Along the operand's rows, four floats or one each.
    if (walk == Walk::along_i16) return {tid % across<4> * 4, tid / across<4>};
    return {tid % across<1>, tid / across<1>};
  }

  template <bool whole>
  __device__ __forceinline__ void along_k(float* to, std::int64_t ld, const Edge& edge) const {
    const float* row = from_;
#pragma unroll 4
    for (int i = 0; i < Extent; i += 16, row += 16 * ld)
#pragma unroll
      for (int kk = 0; kk < BK; kk += 8) {
        const bool inside = whole || (i < edge.i_left && kk < edge.k_left);
        async_copy<4>(to + kk * pitch + i, row + kk, inside ? 4 : 0);
      }
  }

  template <bool whole, int width>
  __device__ __forceinline__ void along_i(float* to, std::int64_t ld, const Edge& edge) const {
    constexpr int down = 128 / across<width>;
    if (128 % across<width> != 0 && edge.first.k >= down) return;  // left over
    const float* row = from_;
#pragma unroll 4
    for (int kk = 0; kk < BK; kk += down, row += down * ld)
#pragma unroll
      for (int i = 0; i < Extent; i += across<width> * width) {
        int valid = width;
        if (!whole) {
          valid = edge.i_left - i < width ? edge.i_left - i : width;
          if (valid < 0 || kk >= edge.k_left) valid = 0;
        }
        if (BK % down == 0 || edge.first.k + kk < BK)
          async_copy<width * 4>(to + kk * pitch + i, row + i, valid * 4);
      }
  }

  const float* from_;  // this producer's first element of the next tile
  int i_here_;         // rows or columns of the tile that the matrix has, Extent at most
};

template <StreamTileConfig config>
__device__ __forceinline__ void produce(Shared<config>& shared, const Sgemm& p,
                                        const Operands& operands, const StreamSchedule& schedule) {
  using S = Shape<config>;
  if (!reads_operands(p)) return;
  const int block = static_cast<int>(blockIdx.x);
  Ring<S::stages> ring;
  for (StreamWork work = schedule.first(block); work.valid(); work = schedule.next(work, block)) {
    const StreamPlace tile = schedule.place(work.tile);
    const std::int64_t k0 = work.begin * std::int64_t{S::BK};
    OperandCopy<S::BK, S::BM> a(a_of(p, tile.entry), p.lda, operands.a, p.m,
                                tile.row * std::int64_t{S::BM}, k0);
    OperandCopy<S::BK, S::BN> b(b_of(p, tile.entry), p.ldb, operands.b, p.n,
                                tile.col * std::int64_t{S::BN}, k0);
    std::int64_t k_end = work.end * std::int64_t{S::BK};
    if (k_end > p.k) k_end = p.k;
    for (int k_left = static_cast<int>(k_end - k0); k_left > 0; k_left -= S::BK, ring.advance()) {
      const int k_here = k_left < S::BK ? k_left : S::BK;
      Stage<config>& stage = shared.stage[ring.stage];
      mbarrier_wait(&shared.free[ring.stage], ring.round ^ 1);
      a.next(stage.as, p.lda, operands.a, k_here);
      b.next(stage.bs, p.ldb, operands.b, k_here);
      mbarrier_arrive_after_copies(&shared.full[ring.stage]);
    }
  }
  let_next_kernel_start();
}

}  // namespace KW_TARGET::stream_tile
