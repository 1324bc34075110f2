// The producers of stream_tile: bring tiles of A and B into the ring, k-major, wherever they come
// from.
#pragma once

#include "device/overlap.hpp"
#include "sgemm/stream/stage.hpp"

namespace KW_TARGET::stream_tile {

// `row` moved on by `by` elements, here and not before: ptxas would work out the addresses of many
// copies in advance, each by several instructions on 64 bits, where one addition a row is enough.
__device__ __forceinline__ void move_on(const float*& row, std::int64_t by) {
  row += by;
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+l"(row));
#endif
}

// What of a stage may lie outside of the matrix, and is asked for at each copy.
enum class Guard { none, i, i_and_k };

// One producer's share of an operand's way into the stages. A copy from outside of the matrix
// brings zeros. Along m or n one predicate is enough for many copies; along k only a tile's last
// stage needs any.
template <int BK, int Extent>
class OperandCopy {
  static_assert(Extent <= 128 || Extent % 128 == 0, "128 producers side by side");

 public:
  // From element (i0, k0) of x on; i runs along m or n and ends at `extent`.
  __device__ OperandCopy(const float* x, std::int64_t ld, Walk walk, std::int64_t extent,
                         std::int64_t i0, std::int64_t k0) {
    i_here_ = extent - i0 < Extent ? static_cast<int>(extent - i0) : Extent;
    const Place first = place(walk_here(walk));
    to_ = first.k * pitch + first.i;
    from_ = x + (walk == Walk::along_k4 ? (i0 + first.i) * ld + k0 + first.k
                                        : (k0 + first.k) * ld + i0 + first.i);
  }

  // Starts the copies of the next tile, of which the matrix has k_here along k.
  __device__ __forceinline__ void next(OperandTile<BK, Extent>& tile, std::int64_t ld, Walk walk,
                                       int k_here) {
    if (k_here < BK)
      start<Guard::i_and_k>(tile, ld, walk_here(walk), k_here);
    else if (i_here_ < Extent)
      start<Guard::i>(tile, ld, walk_here(walk), k_here);
    else
      start<Guard::none>(tile, ld, walk, k_here);
    from_ += walk == Walk::along_k4 ? BK : BK * ld;
  }

 private:
  struct Place {
    int i, k;  // of this producer's first element of a tile
  };
  static constexpr int pitch = Extent + 4;
  template <int width>
  static constexpr int across = Extent / width < 128 ? Extent / width : 128;
  template <int width>
  static constexpr int down = 128 / across<width>;
  // Whether all producers have the same number of copies.
  static constexpr bool is_even =
      128 % across<4> == 0 && 128 % across<1> == 0 && BK % down<4> == 0 && BK % down<1> == 0;

  // Four columns are all inside or all outside, or else they are copied one by one.
  __device__ Walk walk_here(Walk walk) const {
    return walk == Walk::along_i16 && i_here_ % 4 != 0 ? Walk::along_i4 : walk;
  }

  __device__ static Place place(Walk walk) {
    const int tid = reread_thread_index();
    // 8 (k) x 16 (i) producers: a warp reads sectors of 32 bytes and writes 32 banks.
    if (walk == Walk::along_k4) return {tid / 8, tid % 8};
    // Along the operand's rows, four floats or one each.
    if (walk == Walk::along_i16) return {tid % across<4> * 4, tid / across<4>};
    return {tid % across<1>, tid / across<1>};
  }

  template <Guard guard>
  __device__ __forceinline__ void start(OperandTile<BK, Extent>& tile, std::int64_t ld, Walk walk,
                                        int k_here) const {
    float* const to = &tile[0][0] + to_;
    const Place first = guard == Guard::none && is_even ? Place{} : place(walk);
    const int i_left = i_here_ - first.i, k_left = k_here - first.k;
    switch (walk) {
      case Walk::along_k4: return along_k<guard>(to, ld, i_left, k_left);
      case Walk::along_i16: return along_i<guard, 4>(to, ld, first.k, i_left, k_left);
      case Walk::along_i4: return along_i<guard, 1>(to, ld, first.k, i_left, k_left);
    }
  }

  template <Guard guard>
  __device__ __forceinline__ void along_k(float* to, std::int64_t ld, int i_left,
                                          int k_left) const {
    const float* row = from_;
#pragma unroll(guard == Guard::i_and_k ? 1 : Extent / 16)
    for (int i = 0; i < Extent; i += 16, move_on(row, 16 * ld))
#pragma unroll
      for (int kk = 0; kk < BK; kk += 8) {
        const bool inside =
            (guard == Guard::none || i < i_left) && (guard != Guard::i_and_k || kk < k_left);
        async_copy<4>(to + kk * pitch + i, row + kk, inside ? 4 : 0);
      }
  }

  template <Guard guard, int width>
  __device__ __forceinline__ void along_i(float* to, std::int64_t ld, int first_k, int i_left,
                                          int k_left) const {
    if (128 % across<width> != 0 && first_k >= down<width>) return;  // left over
    const float* row = from_;
#pragma unroll(guard == Guard::i_and_k ? 1 : BK)
    for (int kk = 0; kk < BK; kk += down<width>, move_on(row, down<width> * ld))
#pragma unroll
      for (int i = 0; i < Extent; i += across<width> * width) {
        const bool inside =
            (guard == Guard::none || i < i_left) && (guard != Guard::i_and_k || kk < k_left);
        if (BK % down<width> == 0 || first_k + kk < BK)
          async_copy<width * 4>(to + kk * pitch + i, row + i, inside ? width * 4 : 0);
      }
  }

  const float* from_;  // this producer's first element of the next tile
  int to_;             // and where that lies in the tile in shared memory
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
