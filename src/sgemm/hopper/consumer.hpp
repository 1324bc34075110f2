// A consumer of hopper_tile.hpp: a warpgroup that multiplies what the producers bring, a window of
// k at a time. A band of products (tuning.hpp) is issued for a whole window. There are two ways
// through a window:
//
//   overlapped     low band folded: the low products have an accumulator of their own, and nobody
//                  waits for them. They run while the window's high products are promoted and the
//                  next window is waited for, so that tensor cores never wait for this warpgroup.
//   one at a time  low band kept: one block of 64 rows after the other is multiplied and promoted.
//                  Tensor cores stay busy with the other warpgroup's products.
#pragma once

#include "device/mbarrier.hpp"
#include "device/repeat.hpp"
#include "device/warp.hpp"
#include "device/wgmma.hpp"
#include "sgemm/hopper/accumulators.hpp"
#include "sgemm/hopper/packed_layout.hpp"
#include "sgemm/hopper/pipeline.hpp"

namespace KW_TARGET::hopper {

template <Scheme scheme, Tile tile>
class Consumer {
  using Sums = Accumulators<scheme, tile>;
  static constexpr Half type = scheme.fp16 ? Half::fp16 : Half::bf16;
  static constexpr bool overlaps = Sums::low_band == LowBand::folded;
  static_assert(!overlaps || tile.m64_blocks == 1);

 public:
  __device__ __forceinline__ void clear() { sums_.clear(); }

  // Adds the products over `stages` stages of k to the sums. `row`: where in the tile the
  // warpgroup's rows begin.
  __device__ __forceinline__ void multiply(Pipeline<scheme, tile>& pipeline, int stages, int group,
                                           int row, int lane) {
    const auto release = [&](const Window& read) {
#pragma unroll
      for (int s = 0; s < tile.window; ++s)
        if (lane == 0 && s < read.count) pipeline.release(read.stages[s]);
    };
    Window last = {};  // whose products may be under way
    const auto window = [&](auto count) {
      const char *rows[count], *columns[count];
      Window own = {.stages = {}, .count = count};
#pragma unroll
      for (int s = 0; s < count; ++s, pipeline.advance()) {
        pipeline.wait();
        own.stages[s] = pipeline.index();
        rows[s] = pipeline.stage().a + row / group_rows * group_bytes(scheme.pieces);
        columns[s] = pipeline.stage().b;
      }
      if constexpr (overlaps) {
        multiply_overlapped<count>(rows, columns, [&] { release(last); });
        last = own;
      } else {
        multiply_one_at_a_time<count>(rows, columns, [&] { release(own); });
      }
    };
    using One = std::integral_constant<int, 1>;
    using Two = std::integral_constant<int, 2>;
    using Several = std::integral_constant<int, tile.window>;
    int stage = 0;
    for (; stage + tile.window <= stages; stage += tile.window) {
      if (tile.shares_rows && stage % 2 != group) {
        pipeline.advance();
        continue;
      }
      window(Several());
    }
    if constexpr (tile.window > 2) {
      if (stage + 1 < stages) window(Two()), stage += 2;
    }
    if constexpr (tile.window > 1) {
      if (stage < stages) window(One());
    }
    if constexpr (overlaps) {
      wgmma_wait<0>();
      release(last);
    }
  }

  // What has been added up, without low products that are summed apart.
  __device__ __forceinline__ auto& sums() { return sums_.sums; }
  // The sums of the whole tile.
  __device__ __forceinline__ auto& result(float drift) { return sums_.result(drift); }

 private:
  struct Window {
    int stages[tile.window], count;
  };

  // to (+)= the product of two pieces over 16 of a window's k. `a` and `b` have an operand for each
  // of its stages.
  template <int stages>
  __device__ __forceinline__ void issue_one(float (&to)[Sums::registers], Product pieces, int k16,
                                            const WgmmaOperand (&a)[stages],
                                            const WgmmaOperand (&b)[stages], bool adds) {
    constexpr int k16_bytes = scheme.pieces * 2 * core_bytes, of_stage = stage_k / 16;
    const int stage = k16 / of_stage, from = k16 % of_stage * k16_bytes;
    wgmma<type, tile.bn>(to, advance(a[stage], from + pieces.a * 2 * core_bytes),
                         advance(b[stage], from + pieces.b * 2 * core_bytes), adds);
  }
  // to (+)= a band's products over a window, once wgmma_wait returns.
  template <Band band, bool adds, int stages>
  __device__ __forceinline__ void issue(float (&to)[Sums::registers],
                                        const WgmmaOperand (&a)[stages],
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
      issue_one(sums_.low, scheme.low.product[0], k16, a, b, true);
      issue_one(sums_.window, scheme.high.product[0], k16, a, b, k16 > 0);
      issue_one(sums_.low, scheme.low.product[1], k16, a, b, true);
    });
  }

  static constexpr int stride = group_bytes(scheme.pieces);
  __device__ __forceinline__ WgmmaOperand rows_of(const char* a, int m64_block) const {
    return wgmma_operand(a + m64_block * 64 / group_rows * stride, core_bytes, stride);
  }

  // `release_last` is called once the stages of the window before have been read.
  template <int stages, class Release>
  __device__ __forceinline__ void multiply_overlapped(const char* const (&a)[stages],
                                                      const char* const (&b)[stages],
                                                      Release release_last) {
    WgmmaOperand rows[stages], columns[stages];
#pragma unroll
    for (int s = 0; s < stages; ++s) {
      rows[s] = rows_of(a[s], 0);
      columns[s] = wgmma_operand(b[s], core_bytes, stride);
    }
    wgmma_fence();
    issue<scheme.high, false>(sums_.window, rows, columns);
    wgmma_commit();
    issue<scheme.low, true>(sums_.low, rows, columns);
    wgmma_commit();
    wgmma_wait<1>();
    release_last();
    sums_.promote(0);
    sums_.end_window();
  }

  // `release` is called once the window's own stages have been read.
  template <int stages, class Release>
  __device__ __forceinline__ void multiply_one_at_a_time(const char* const (&a)[stages],
                                                         const char* const (&b)[stages],
                                                         Release release) {
    WgmmaOperand columns[stages];
#pragma unroll
    for (int s = 0; s < stages; ++s) columns[s] = wgmma_operand(b[s], core_bytes, stride);
    repeat<tile.m64_blocks>([&](auto m64_block) {
      WgmmaOperand rows[stages];
#pragma unroll
      for (int s = 0; s < stages; ++s) rows[s] = rows_of(a[s], m64_block);
      wgmma_fence();
      issue_both(rows, columns);
      wgmma_commit();
      wgmma_wait<0>();
      if (m64_block == tile.m64_blocks - 1) release();
      sums_.promote(m64_block);
    });
    sums_.end_window();
  }

  Sums sums_;
};

}  // namespace KW_TARGET::hopper
