// Keeps a block's two warpgroups half a window apart, where each has rows of its own and waits for
// its products before it adds them to its sums (consumer.hpp: one at a time). Tensor cores serve
// both alike: two that begin a window together end it together, and while both add, tensor cores
// wait. Nothing parts them again, and they do begin together: a block's first tile, and later ones,
// since the instructions of a tile's end come late to whoever is ahead. So the first one leads.
//
// Only time depends on it.
#pragma once

#include "device/mbarrier.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/pipeline.hpp"
#include "sgemm/hopper/tuning.hpp"

namespace KW_TARGET::hopper {

// With windows of three stages, a third fewer, it takes what it gives.
constexpr bool keeps_lead(const Scheme& scheme, const Tile& tile) {
  return low_band_of(scheme) == LowBand::kept && !tile.shares_rows && tile.window < 3;
}
// Of a run, from where on it is kept. Longer than a ring, so that the first warpgroup does not come
// to the next run before the second one has come to this.
constexpr int least_led_stages = 16;
constexpr int lead_barrier = 4;  // 1 is that of all consumers, 2 and 3 are a warpgroup's
// Before them the loop's instructions may still be on their way to the warpgroup that is ahead.
constexpr int stages_before_lead(const Tile& tile) { return tile.window; }

// Clocks that tensor cores take for a warpgroup's products of a window.
constexpr unsigned window_clocks(const Scheme& scheme, const Tile& tile) {
  const int products = scheme.low.products + scheme.high.products;
  return static_cast<unsigned>(tile.window * stage_k / 16 * products * tile.registers());
}

// A warp of the first warpgroup arrives where those of the second wait, and goes on.
__device__ __forceinline__ void announce_window() {
#if defined(__CUDA_ARCH__)
  asm volatile("bar.arrive %0, %1;" ::"n"(lead_barrier), "n"(consumer_threads) : "memory");
#endif
}

// Between two windows of a run. `begun`: of the warps of its number in both warpgroups, when the
// first one came here. All lanes do the same: a branch for some, a vote, or a loop that reads
// memory would cost the loop over k its uniform registers.
template <unsigned window>
__device__ __forceinline__ void keep_lead([[maybe_unused]] volatile unsigned& begun,
                                          [[maybe_unused]] bool is_first) {
#if defined(__CUDA_ARCH__)
  constexpr unsigned alone = window + window / 6;  // a window and its additions, of one that leads
  const auto now = [] { return static_cast<unsigned>(clock()); };
  if (!is_first) sync_some_threads<lead_barrier, consumer_threads>();
  const unsigned from = now(), apart = (from - begun) % alone;
  const unsigned more = is_first || apart >= window / 2 ? 0 : window / 2 - apart;
  while (now() - from < more) {
  }
  if (is_first) {
    begun = now();
    announce_window();
  }
#endif
}

}  // namespace KW_TARGET::hopper
