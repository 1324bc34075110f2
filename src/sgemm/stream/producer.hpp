// The producers of stream_tile: they copy tiles of A and B into the ring, where all tiles lie
// k-major whatever the operand's layout in memory.
#pragma once

#include "device/move_on.hpp"
#include "device/overlap.hpp"
#include "sgemm/stream/apart_triangle.hpp"
#include "sgemm/stream/pipeline.hpp"

namespace KW_TARGET::stream_tile {

// In which directions a tile may reach beyond the matrix, so that each copy asks whether its
// element lies inside. One beyond it brings zeros. Along k only the last stage of a tile asks.
enum class Guard { none, i, i_and_k };

// One producer's copies of an operand's tiles, stage after stage. `i` runs along m or n. The access
// pattern decides how the 128 producers lie over a tile, and with it each one's first element; from
// there it copies at fixed distances:
//
//   along_k4    Turned::along along k and the others along i; 4 bytes each
//   along_i16   across<4> along i, down<4> along k; 16 bytes each
//   along_i4    across<1> along i, down<1> along k; 4 bytes each
//
// `Turned`: how lines along k are turned (turned_lines.hpp).
template <int BK, int Extent, int of_tile, class Turned>
class OperandCopy {
  static_assert(Extent <= 128 || Extent % 128 == 0, "128 producers side by side");

 public:
  // From element (i0, k0) of x on; i runs along m or n and ends at `extent`.
  __device__ OperandCopy(const float* x, std::int64_t ld, AccessPattern pattern,
                         std::int64_t extent, std::int64_t i0, std::int64_t k0) {
    i_here_ = extent - i0 < of_tile ? static_cast<int>(extent - i0) : of_tile;
    const Offset first = offset(pattern_here(pattern));
    to_ = Turned::row(first.k, BK) * pitch + (first.i ^ Turned::swapped(first.k / 8));
    from_ = x + (pattern == AccessPattern::along_k4 ? (i0 + first.i) * ld + k0 + first.k
                                                    : (k0 + first.k) * ld + i0 + first.i);
  }

  // Starts the copies of the next tile, of which the matrix has k_here along k and consumers read
  // k_read, each of the warps that share it k_each (TurnedLines::place).
  __device__ __forceinline__ void next(OperandTile<BK, Extent>& tile, std::int64_t ld,
                                       AccessPattern pattern, int k_here, int k_read, int k_each) {
    if (k_here < BK)
      start<Guard::i_and_k>(tile, ld, pattern_here(pattern), k_here, k_read, k_each);
    else if (i_here_ < Extent)
      start<Guard::i>(tile, ld, pattern_here(pattern), k_here, k_read, k_each);
    else
      start<Guard::none>(tile, ld, pattern, k_here, k_read, k_each);
    from_ += pattern == AccessPattern::along_k4 ? BK : BK * ld;
  }

 private:
  // Of this producer's first element in a tile.
  struct Offset {
    int i, k;
  };
  static constexpr int pitch = Extent + 4;
  // Producers side by side along i, where each copies `width` floats, and rows of such producers.
  // By single floats, a warp copies from one row: each address serves several copies.
  template <int width>
  static constexpr int across = width == 1             ? (Extent % 32 == 0 ? 32 : 16)
                                : Extent / width < 128 ? Extent / width
                                                       : 128;
  template <int width>
  static constexpr int down = 128 / across<width>;
  // Whether all producers have the same number of copies.
  static constexpr bool is_even =
      128 % across<4> == 0 && 128 % across<1> == 0 && BK % down<4> == 0 && BK % down<1> == 0;

  // Four floats of a copy lie all inside or all outside of the matrix; where they would not, each
  // is a copy of its own.
  __device__ AccessPattern pattern_here(AccessPattern pattern) const {
    return pattern == AccessPattern::along_i16 && i_here_ % 4 != 0 ? AccessPattern::along_i4
                                                                   : pattern;
  }

  __device__ static Offset offset(AccessPattern pattern) {
    const int tid = reread_thread_index();
    // A warp reads sectors of 32 bytes and writes 32 banks.
    if (pattern == AccessPattern::along_k4) return {tid / Turned::along, tid % Turned::along};
    if (pattern == AccessPattern::along_i16) return {tid % across<4> * 4, tid / across<4>};
    return {tid % across<1>, tid / across<1>};
  }

  template <Guard guard>
  __device__ __forceinline__ void start(OperandTile<BK, Extent>& tile, std::int64_t ld,
                                        AccessPattern pattern, int k_here, int k_read,
                                        int k_each) const {
    float* const to = &tile[0][0] + to_;
    const Offset first = guard == Guard::none && is_even ? Offset{} : offset(pattern);
    const int i_left = i_here_ - first.i, k_left = k_here - first.k, k_end = k_read - first.k;
    switch (pattern) {
      case AccessPattern::along_k4:
        if constexpr (Turned::along > 8)
          return along_k_longer<guard>(tile, ld, first, k_here, k_read, k_each);
        else
          return along_k<guard>(to, ld, i_left, k_left, k_end);
      case AccessPattern::along_i16:
        return along_i<guard, 4>(to, ld, first.k, i_left, k_left, k_end);
      case AccessPattern::along_i4:
        return along_i<guard, 1>(to, ld, first.k, i_left, k_left, k_end);
    }
  }

  template <Guard guard>
  __device__ __forceinline__ void along_k(float* to, std::int64_t ld, int i_left, int k_left,
                                          int k_end) const {
    const float* row = from_;
#pragma unroll(guard == Guard::i_and_k ? 2 : Extent / 16)
    for (int i = 0; i < Extent; i += 16, move_on(row, 16 * ld))
#pragma unroll
      for (int kk = 0; kk < BK; kk += 8) {
        const bool inside =
            (guard == Guard::none || i < i_left) && (guard != Guard::i_and_k || kk < k_left);
        if (guard != Guard::i_and_k || kk < k_end)
          async_copy<4>(to + kk * pitch + i, row + kk, inside ? 4 : 0);
      }
  }

  template <Guard guard>
  __device__ __forceinline__ void along_k_longer(OperandTile<BK, Extent>& tile, std::int64_t ld,
                                                 const Offset& first, int k_here, int k_read,
                                                 int k_each) const {
    constexpr int lines = 128 / Turned::along, copies = BK / Turned::along;
    const int i_left = i_here_ - first.i, k_left = k_here - first.k, k_end = k_read - first.k;
    float* to[copies];
#pragma unroll
    for (int copy = 0; copy < copies; ++copy) {
      const int kk = copy * Turned::along;
      to[copy] = guard == Guard::i_and_k
                     ? &tile[0][0] + Turned::place(first.i, first.k + kk, k_each, BK, pitch)
                     : &tile[0][0] + to_ + Turned::row(kk, BK) * pitch;
    }
    const float* row = from_;
#pragma unroll(guard == Guard::i_and_k ? 2 : Extent / lines)
    for (int i = 0; i < Extent; i += lines, move_on(row, lines * ld))
#pragma unroll
      for (int copy = 0; copy < copies; ++copy) {
        const int kk = copy * Turned::along;
        const bool inside =
            (guard == Guard::none || i < i_left) && (guard != Guard::i_and_k || kk < k_left);
        if (guard != Guard::i_and_k || kk < k_end)
          async_copy<4>(to[copy] + i, row + kk, inside ? 4 : 0);
      }
  }

  template <Guard guard, int width>
  __device__ __forceinline__ void along_i(float* to, std::int64_t ld, int first_k, int i_left,
                                          int k_left, int k_end) const {
    if (128 % across<width> != 0 && first_k >= down<width>)
      return;  // a producer without an element
    const float* row = from_;
    const int end = guard == Guard::i_and_k ? k_end : BK;
#pragma unroll(guard == Guard::i_and_k ? 2 : BK)
    for (int kk = 0; kk < end; kk += down<width>, move_on(row, down<width> * ld))
#pragma unroll
      for (int i = 0; i < Extent; i += across<width> * width) {
        const bool inside =
            (guard == Guard::none || i < i_left) && (guard != Guard::i_and_k || kk < k_left);
        if (BK % down<width> == 0 || first_k + kk < BK)
          async_copy<width * 4>(to + kk * pitch + i, row + i, inside ? width * 4 : 0);
      }
  }

  const float* from_;  // this producer's first element of the next tile
  int to_;             // the offset of that element in the tile in shared memory
  int i_here_;         // the matrix's rows or columns in the tile, Extent at most
};

// The producers of a block, and their position in the ring.
template <StreamTileConfig config>
class Producer {
  using S = Shape<config>;

 public:
  __device__ __forceinline__ explicit Producer(Shared<config>& shared) : pipeline_(shared) {}

  // Starts the copies of all stages of a block's work on a tile.
  __device__ __forceinline__ void copy(const Sgemm& p, const Operands& operands,
                                       const StreamTileIndex& tile, const StreamWork& work) {
    const auto pattern = [](AccessPattern of) {
      return config.along_k ? AccessPattern::along_k4 : of;
    };
    const std::int64_t k0 = work.begin * std::int64_t{S::BK};
    OperandCopy<S::BK, S::copied_m, S::BM, typename S::Turned> a(
        a_of(p, tile.entry), p.lda, pattern(operands.a), p.m, tile.row * std::int64_t{S::BM}, k0);
    OperandCopy<S::BK, S::copied_n, S::BN, typename S::Turned> b(
        b_of(p, tile.entry), p.ldb, pattern(operands.b), p.n, tile.col * std::int64_t{S::BN}, k0);
    std::int64_t k_end = work.end * std::int64_t{S::BK};
    if (k_end > p.k) k_end = p.k;
    for (int k_left = static_cast<int>(k_end - k0); k_left > 0; k_left -= S::BK) {
      copy_stage(k_left < S::BK ? k_left : S::BK, [&](Stage<config>& stage, auto... k) {
        a.next(stage.as, p.lda, pattern(operands.a), k...);
        b.next(stage.bs, p.ldb, pattern(operands.b), k...);
      });
    }
  }

  // The same where an operand is a triangle that is read where it lies.
  template <bool mirrored>
  __device__ __forceinline__ void copy_apart(const Sgemm& p, const Operands& operands,
                                             const StreamTileIndex& tile, const StreamWork& work) {
    const ApartTriangle<config, mirrored> from(p, operands, tile);
    for (int at = work.begin; at < work.end;) {
      const int end = from.end_of_run(at, work.end);
      ApartPlace place = from.place(at);
      OperandCopy<S::BK, S::copied_m, S::BM, typename S::Turned> a(
          from.a(place), from.lda(place), from.pattern_a(place), p.m,
          tile.row * std::int64_t{S::BM}, at * std::int64_t{S::BK});
      OperandCopy<S::BK, S::copied_n, S::BN, typename S::Turned> b(
          from.b(place), from.ldb(place), from.pattern_b(place), p.n,
          tile.col * std::int64_t{S::BN}, at * std::int64_t{S::BK});
#pragma unroll 1
      for (; at < end; ++at) {
        compute_now(at);  // and what follows from it, in place of registers that keep it
        place = from.place(at);
        const std::int64_t k_left = p.k - at * std::int64_t{S::BK};
        const int k_here = k_left < S::BK ? static_cast<int>(k_left) : S::BK;
        copy_stage(k_here, [&](Stage<config>& stage, auto... k) {
          a.next(stage.as, from.lda(place), from.pattern_a(place), k...);
          b.next(stage.bs, from.ldb(place), from.pattern_b(place), k...);
        });
      }
    }
  }

 private:
  // Starts the copies of a stage, of which the matrices have k_here along k, by start(stage,
  // k_here, k_read, k_each) as OperandCopy::next has those.
  template <class Start>
  __device__ __forceinline__ void copy_stage(int k_here, const Start& start) {
    Stage<config>& stage = pipeline_.acquire();
    const int k_read = S::read_of(k_here);
    start(stage, k_here, k_read, k_read == S::BK ? 0 : k_read / S::warps_k);
    pipeline_.commit();
  }

  Pipeline<config> pipeline_;
};

}  // namespace KW_TARGET::stream_tile
