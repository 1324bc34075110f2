// What a warpgroup of hopper_tile.hpp holds of a tile, and how it multiplies one window of k: bands
// of products into an empty accumulator in the tensor core's arithmetic, then a rounded addition to
// the sums.
#pragma once

#include "device/mbarrier.hpp"
#include "device/repeat.hpp"
#include "device/wgmma.hpp"
#include "sgemm/hopper/packed_layout.hpp"
#include "sgemm/hopper/tuning.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

template <Scheme scheme, Tile tile>
struct Consumer {
  static constexpr Half type = scheme.fp16 ? Half::fp16 : Half::bf16;
  static constexpr int registers = tile.bn / 2;
  // Registers for an accumulator of the low products' own. Without, the high ones begin where the
  // low ones end, and one product that is larger than all others beside it is rounded towards zero.
  static constexpr bool has_low = tile.halves == 1 && registers <= 64;
  static_assert(has_low || !scheme.low_stays);

  // FP32 sums over `windows_a_sum` windows, then over those, where there are registers for both: a
  // long row of additions loses as a chain in tensor cores does, if less. The low products join at
  // the same times, to save additions: what so short a chain of theirs loses lies below the sum's
  // last bit.
  static constexpr bool two_levels = tile.has_totals() && !scheme.low_stays;
  static constexpr int windows_a_sum = 16;
  static constexpr bool folds_low = has_low && !scheme.low_stays;
  static constexpr bool overlaps = folds_low;
  static_assert(!overlaps || !tile.turns);

  float partial[registers];  // the window's, tensor cores write it
  float sums[tile.halves][registers];
  float totals[two_levels ? tile.halves : 1][two_levels ? registers : 1];
  float low[has_low ? registers : 1];  // until they join the sums
  int windows;
  // Warps of both warpgroups on one tensor core take turns, half a window at a time: side by side
  // their products would end together, and the tensor core would idle while both add.
  Mbarrier *own_turn, *other_turn;
  unsigned turn_parity;

  __device__ __forceinline__ Consumer(Mbarrier (&turns)[2][4], int group, int warp)
      : own_turn(&turns[group][warp]),
        other_turn(&turns[1 - group][warp]),
        turn_parity(group == 0 ? 1 : 0) {}

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int h = 0; h < tile.halves; ++h)
#pragma unroll
      for (int i = 0; i < registers; ++i) {
        sums[h][i] = 0;
        if constexpr (two_levels) totals[h][i] = 0;
        if constexpr (has_low) low[i] = 0;
      }
    windows = 0;
  }
  __device__ __forceinline__ void fold() {
    if constexpr (two_levels || folds_low) {
      if constexpr (folds_low) {
        wgmma_wait<0>();
        wgmma_keep(low);
      }
#pragma unroll
      for (int h = 0; h < tile.halves; ++h)
#pragma unroll
        for (int i = 0; i < registers; ++i) {
          if constexpr (folds_low) {
            sums[h][i] += low[i];
            low[i] = 0;
          }
          if constexpr (two_levels) {
            totals[h][i] += sums[h][i];
            sums[h][i] = 0;
          }
        }
      windows = 0;
    }
  }
  __device__ __forceinline__ void end_window() {
    if ((two_levels || folds_low) && ++windows == windows_a_sum) fold();
  }
  // Of the whole tile.
  __device__ __forceinline__ float (&result())[tile.halves][registers] {
    fold();
    if constexpr (two_levels) return totals;
    if constexpr (scheme.low_stays) {
#pragma unroll
      for (int i = 0; i < registers; ++i) sums[0][i] = fmaf(low[i], scheme.low_factor, sums[0][i]);
    }
    return sums;
  }
  // The tensor core is this warp's, and when it has what it asked for the other's.
  __device__ __forceinline__ void take_turn() {
    if (!tile.turns) return;
    mbarrier_wait(own_turn, turn_parity);
    turn_parity ^= 1;
  }
  __device__ __forceinline__ void pass_turn(int lane) {
    if (!tile.turns) return;
    __syncwarp();  // all lanes have seen their own turn
    if (lane == 0) mbarrier_arrive(other_turn);
  }

  // to (+)= the product of two pieces over 16 of a window's k. `a` and `b` have an operand for each
  // of its stages.
  template <int stages>
  __device__ __forceinline__ void issue_one(float (&to)[registers], Product pieces, int k16,
                                            const WgmmaOperand (&a)[stages],
                                            const WgmmaOperand (&b)[stages], bool adds) {
    constexpr int k16_bytes = scheme.pieces * 2 * core_bytes, of_stage = stage_k / 16;
    const int stage = k16 / of_stage, from = k16 % of_stage * k16_bytes;
    wgmma<type, tile.bn>(to, advance(a[stage], from + pieces.a * 2 * core_bytes),
                         advance(b[stage], from + pieces.b * 2 * core_bytes), adds);
  }
  // to (+)= a band's products over a window, once wgmma_wait returns.
  template <Band band, bool adds, int stages>
  __device__ __forceinline__ void issue(float (&to)[registers], const WgmmaOperand (&a)[stages],
                                        const WgmmaOperand (&b)[stages]) {
    repeat<stages * stage_k / 16>([&](auto k16) {
      repeat<band.products>([&](auto product) {
        issue_one(to, band.product[product], k16, a, b, adds || k16 > 0 || product > 0);
      });
    });
  }
  // Both bands, each into its own accumulator, in an order in which neighbours share a piece: 2 %
  // of fp16x3's time.
  template <int stages>
  __device__ __forceinline__ void issue_both(const WgmmaOperand (&a)[stages],
                                             const WgmmaOperand (&b)[stages]) {
    static_assert(scheme.low.products == 2 && scheme.high.products == 1);
    repeat<stages * stage_k / 16>([&](auto k16) {
      issue_one(low, scheme.low.product[0], k16, a, b, true);
      issue_one(partial, scheme.high.product[0], k16, a, b, k16 > 0);
      issue_one(low, scheme.low.product[1], k16, a, b, true);
    });
  }

  __device__ __forceinline__ void promote(int half) {
    wgmma_keep(partial);
    if constexpr (scheme.low_stays) wgmma_keep(low);
#pragma unroll
    for (int i = 0; i < registers; ++i) sums[half][i] += partial[i];
  }

  static constexpr int stride = group_bytes(scheme.pieces);
  __device__ __forceinline__ WgmmaOperand rows_of(const char* a, int half) const {
    return wgmma_operand(a + half * 64 / group_rows * stride, core_bytes, stride);
  }

  // The products of a window. The low ones, which nobody waits for, run while the high ones are
  // added to the sums and the next window is looked for, so that tensor cores never wait for a
  // warpgroup. `free_last` is called once the buffers of the window before have been read.
  template <int stages, class Free>
  __device__ __forceinline__ void multiply_window(const char* const (&a)[stages],
                                                  const char* const (&b)[stages], Free free_last) {
    WgmmaOperand rows[stages], columns[stages];
#pragma unroll
    for (int s = 0; s < stages; ++s) {
      rows[s] = rows_of(a[s], 0);
      columns[s] = wgmma_operand(b[s], core_bytes, stride);
    }
    wgmma_fence();
    issue<scheme.high, false>(partial, rows, columns);
    wgmma_commit();
    issue<scheme.low, true>(low, rows, columns);
    wgmma_commit();
    wgmma_wait<1>();
    free_last();
    promote(0);
    end_window();
  }

  // The same where low products share an accumulator with the high ones, or their registers stay
  // busy: one half of the rows after the other, and perhaps both warpgroups in turns. `free` is
  // called once the window's own buffers have been read.
  template <int stages, class Free>
  __device__ __forceinline__ void multiply_window_in_turn(const char* const (&a)[stages],
                                                          const char* const (&b)[stages], int lane,
                                                          Free free) {
    WgmmaOperand columns[stages];
#pragma unroll
    for (int s = 0; s < stages; ++s) columns[s] = wgmma_operand(b[s], core_bytes, stride);
    repeat<tile.halves>([&](auto half) {
      WgmmaOperand rows[stages];
#pragma unroll
      for (int s = 0; s < stages; ++s) rows[s] = rows_of(a[s], half);
      take_turn();
      wgmma_fence();
      if constexpr (has_low) {
        issue_both(rows, columns);
      } else {
        issue<scheme.low, false>(partial, rows, columns);
        issue<scheme.high, true>(partial, rows, columns);
      }
      wgmma_commit();
      pass_turn(lane);
      wgmma_wait<0>();
      if (half == tile.halves - 1) free();
      promote(half);
    });
    end_window();
  }
};

}  // namespace KW_TARGET::hopper
