// The sums of a warpgroup's part of a tile. Tensor cores add up a window of k in their own
// arithmetic, in an empty accumulator; the window is then added to FP32 sums with ordinary rounding
// ("promotion"). Where the low products are summed, and whether registers hold sums of sums,
// follows from the scheme and the tile (tuning.hpp: low_band_of, has_totals). Other tiles have
// those in memory, where a run is long (totals.hpp).
//
//   tile                   low band  totals in registers
//   bf16x6 128x144         folded    no
//   bf16x6 128x128         folded    no
//   bf16x6 64x128          folded    no
//   bf16x6 64x64, 64x32    folded    yes
//   fp16x3, all            kept      no
#pragma once

#include "device/wgmma.hpp"
#include "sgemm/hopper/tuning.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

template <Scheme scheme, Tile tile>
struct Accumulators {
  static constexpr LowBand low_band = low_band_of(scheme);
  static constexpr bool has_totals = hopper::has_totals(scheme, tile);
  static constexpr int blocks = tile.m64_blocks, registers = tile.registers();

  float window[registers];  // tensor cores write it
  float sums[blocks][registers];
  float totals[has_totals ? blocks : 1][has_totals ? registers : 1];
  float low[registers];  // tensor cores write it, until it joins the sums
  int windows;           // in the sums, since the last fold

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int h = 0; h < blocks; ++h)
#pragma unroll
      for (int i = 0; i < registers; ++i) {
        sums[h][i] = 0;
        if constexpr (has_totals) totals[h][i] = 0;
        low[i] = 0;
      }
    windows = 0;
  }

  // Adds the window to the sums of a block of 64 rows, once its products are done.
  __device__ __forceinline__ void promote(int m64_block) {
    wgmma_keep(window);
    if constexpr (low_band == LowBand::kept) wgmma_keep(low);
#pragma unroll
    for (int i = 0; i < registers; ++i) sums[m64_block][i] += window[i];
  }
  __device__ __forceinline__ void end_window() {
    if (low_band == LowBand::folded && ++windows == windows_per_fold) fold();
  }

  // The sums of the whole tile. `drift`: the share of themselves that they lost (terms.hpp).
  __device__ __forceinline__ float (&result([[maybe_unused]] float drift))[blocks][registers] {
    fold();
    if constexpr (has_totals) return totals;
    if constexpr (low_band == LowBand::kept) {
#pragma unroll
      for (int i = 0; i < registers; ++i)
        sums[0][i] += fmaf(low[i], scheme.low_unscale, sums[0][i] * drift);
    }
    return sums;
  }

 private:
  // The low products join the sums, and the sums the totals. Both happen together, to save
  // additions.
  __device__ __forceinline__ void fold() {
    if constexpr (low_band == LowBand::folded) {
      wgmma_wait<0>();
      wgmma_keep(low);
#pragma unroll
      for (int h = 0; h < blocks; ++h)
#pragma unroll
        for (int i = 0; i < registers; ++i) {
          sums[h][i] += low[i];
          low[i] = 0;
          if constexpr (has_totals) {
            totals[h][i] += sums[h][i];
            sums[h][i] = 0;
          }
        }
      windows = 0;
    }
  }
};

}  // namespace KW_TARGET::hopper
