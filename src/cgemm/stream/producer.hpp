// The producers of the complex stream tiles: they copy tiles of A and B into the ring.
#pragma once

#include "cgemm/stream/access.hpp"
#include "cgemm/stream/pair_copy.hpp"
#include "cgemm/stream/stage.hpp"
#include "device/async_copy.hpp"
#include "device/line_copy.hpp"
#include "device/move_on.hpp"
#include "device/overlap.hpp"

namespace KW_TARGET::complex_stream {

// One producer's copies of an operand's tiles, stage after stage. The 128 producers lie over a tile
// as its pattern wants it:
//
//   a  along_k    8 along k, 16 along i, an element each; of narrow tiles 16 and 8
//      along_i16  across i, two elements each
//      along_i    across i, an element each
//   b  along_k    16 floats along k, 8 along i, a float each
//      along_i    across i, a float each
//
// One float of b at a time, since it leaves its neighbour in memory (stage.hpp).
template <int BK, int Extent, int most_across, bool of_lines, bool is_b>
class OperandCopy {
  static constexpr int pitch = 2 * Extent + 4, producers = 128;
  // Of a copy, and of what lies along a line of memory: floats of b, else elements.
  static constexpr int per = is_b ? 2 : 1;  // units of an element
  static constexpr int line = Extent * per;
  static constexpr int across = producers_across(line, most_across);
  static constexpr int down = producers / across;
  static constexpr int across2 = producers_across(Extent / 2, most_across);
  static constexpr int down2 = producers / across2;
  // Whether the producers lie over a tile in pairs of elements; else those are copied one by one.
  static constexpr bool has_pairs = !is_b && BK % down2 == 0;
  static constexpr int turned_k = is_b || Extent % 16 != 0 ? 16 : 8;
  static constexpr int turned_i = producers / turned_k;
  static_assert(producers % across == 0 && BK % down == 0 && BK % turned_k == 0 &&
                Extent % turned_i == 0);

 public:
  __device__ OperandCopy(const Complex* x, std::int64_t ld, AccessPattern pattern,
                         std::int64_t extent, std::int64_t i0, std::int64_t k0)
      : step_(2 * ld) {
    const int tid = reread_thread_index();
    i_here_ = extent - i0 < Extent ? static_cast<int>(extent - i0) : Extent;
    int part = 0;
    if (pattern == AccessPattern::along_k) {
      const int unit = tid % turned_k;
      k_ = unit / per, part = unit % per, i_ = tid / turned_k;
    } else if (pattern == AccessPattern::along_i16 && has_pairs) {
      i_ = tid % across2 * 2, k_ = tid / across2;
    } else {
      const int unit = tid % across;
      i_ = unit / per, part = unit % per, k_ = tid / across;
    }
    from_ = &x->re + part +
            2 * (pattern == AccessPattern::along_k ? (i0 + i_) * ld + k0 + k_
                                                   : (k0 + k_) * ld + i0 + i_);
    to_ = k_ * pitch + (is_b ? i_ / 2 * 4 + part * 2 + i_ % 2 : 2 * i_);
  }

  // Where the first tile begins is known before the previous kernel has ended.
  __device__ __forceinline__ void compute_now() {
    KW_TARGET::compute_now(from_);
    KW_TARGET::compute_now(to_);
  }

  // Here nothing is to be done before the tile's place is free.
  __device__ __forceinline__ void load(int) {}
  // Starts the copies of the next tile, of which the matrix has k_here along k.
  __device__ __forceinline__ void next(float* tile, AccessPattern pattern, int k_here) {
    if (k_here == BK && i_here_ == Extent)
      start<false>(tile + to_, pattern, k_here);
    else
      start<true>(tile + to_, pattern, k_here);
    from_ += pattern == AccessPattern::along_k ? 2 * BK : BK * step_;
  }

 private:
  template <bool guards>
  __device__ __forceinline__ void start(float* to, AccessPattern pattern, int k_here) const {
    const int i_left = i_here_ - i_, k_left = k_here - k_;
    if (pattern == AccessPattern::along_k) return turn<guards>(to, i_left, k_left);
    if constexpr (has_pairs)
      if (pattern == AccessPattern::along_i16) return pairs<guards>(to, i_left, k_left);
    lines<guards>(to, i_left, k_left);
  }

  template <bool guards>
  __device__ __forceinline__ void turn(float* to, int i_left, int k_left) const {
    constexpr int k_step = turned_k / per;
    const float* from = from_;
#pragma unroll(guards ? 2 : Extent / turned_i)
    for (int i = 0; i < Extent; i += turned_i, move_on(from, turned_i * step_))
#pragma unroll
      for (int k = 0; k < BK; k += k_step) {
        const bool inside = !guards || (i < i_left && k < k_left);
        copy<of_lines>(to + k * pitch + 2 * i, from + 2 * k, inside);
      }
  }
  template <bool guards>
  __device__ __forceinline__ void lines(float* to, int i_left, int k_left) const {
    constexpr int i_step = across / per;
    const float* from = from_;
#pragma unroll(guards ? 2 : BK / down)
    for (int k = 0; k < BK; k += down, move_on(from, down * step_))
#pragma unroll
      for (int i = 0; i < Extent; i += i_step) {
        const bool inside = !guards || (i < i_left && k < k_left);
        copy(to + k * pitch + 2 * i, from + 2 * i, inside);
      }
  }
  template <bool guards>
  __device__ __forceinline__ void pairs(float* to, int i_left, int k_left) const {
    const float* from = from_;
#pragma unroll(guards ? 2 : BK / down2)
    for (int k = 0; k < BK; k += down2, move_on(from, down2 * step_))
#pragma unroll
      for (int i = 0; i < Extent; i += 2 * across2) {
        const int bytes = !guards || i + 2 <= i_left ? 16 : i + 1 == i_left ? 8 : 0;
        async_copy<16>(to + k * pitch + 2 * i, from + 2 * i, !guards || k < k_left ? bytes : 0);
      }
  }
  template <bool of_line = false>
  __device__ __forceinline__ static void copy(float* to, const float* from, bool inside) {
    constexpr int bytes = is_b ? 4 : 8;
    if constexpr (of_line)
      async_copy_of_line<bytes>(to, from, inside ? bytes : 0);
    else
      async_copy<bytes>(to, from, inside ? bytes : 0);
  }

  const float* from_;  // this producer's first float of the next tile
  std::int64_t step_;  // from line to line, in floats
  int to_;             // the offset of that float in the tile in shared memory
  int i_, k_;          // of its element
  int i_here_;         // the matrix's rows or columns in the tile, Extent at most
};

// The producers of a block, and their position in the ring.
template <ComplexStreamConfig config>
class Producer {
  using S = Shape<config>;

 public:
  __device__ __forceinline__ explicit Producer(Shared<config>& shared) : shared_(shared) {}

  // Starts the copies of stages `begin` to `end` of a tile.
  __device__ __forceinline__ void copy(const Cgemm& p, const Operands& operands, std::int64_t entry,
                                       std::int64_t row0, std::int64_t col0, int begin, int end) {
    const std::int64_t k0 = begin * std::int64_t{S::BK};
    std::int64_t k_end = end * std::int64_t{S::BK};
    if (k_end > p.k) k_end = p.k;
    const auto k = static_cast<int>(k_end - k0);
    OperandCopy<S::BK, S::BM, config.across, config.fetches_lines, false> a(
        a_of(p, entry), p.lda, operands.a, p.m, row0, k0);
    const auto with = [&](auto b) {
      a.compute_now();
      b.compute_now();
      wait_for_previous_kernel();  // returns at once from the second tile on
      fill_all(operands, k, a, b);
    };
    if constexpr (config.b_by_registers)
      if (operands.b != AccessPattern::along_k)
        return with(PairCopy<S::BK, S::BN, S::most_pairs>(
            b_of(p, entry), p.ldb, operands.b == AccessPattern::along_i16, p.n, col0, k0));
    with(OperandCopy<S::BK, S::BN, config.across, config.fetches_lines, true>(
        b_of(p, entry), p.ldb, operands.b, p.n, col0, k0));
  }

 private:
  // Stages of so much of k in all.
  template <class CopyOfA, class CopyOfB>
  __device__ __forceinline__ void fill_all(const Operands& operands, int k, CopyOfA& a,
                                           CopyOfB& b) {
    const auto of_stage = [](int left) { return left < S::BK ? left : S::BK; };
    b.load(of_stage(k));
    for (; k > 0; k -= S::BK) {
      const int k_here = of_stage(k);
      mbarrier_wait(&shared_.free[ring_.stage], ring_.round ^ 1);
      Stage<config>& stage = shared_.stage[ring_.stage];
      a.next(&stage.a[0][0], operands.a, k_here);
      b.next(&stage.b[0][0], operands.b, k_here);
      if constexpr (config.b_by_registers) {
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(&shared_.full[ring_.stage]);
      }
      mbarrier_arrive_after_copies(&shared_.full[ring_.stage]);
      ring_.advance();
      if (k > S::BK) b.load(of_stage(k - S::BK));
    }
  }

  Shared<config>& shared_;
  Ring<S::stages> ring_;
};

}  // namespace KW_TARGET::complex_stream
