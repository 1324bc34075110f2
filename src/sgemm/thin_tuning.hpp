// The instances of `thin` and the constants of its cost model, as data.
#pragma once

namespace kw {

// An instance of the kernel, for products with up to `width` rows or columns.
struct ThinConfig {
  int width;
  int blocks_per_sm;  // resident: as many times 64 bytes per thread are in flight
};

inline constexpr ThinConfig thin_configs[] = {{1, 4}, {2, 4}, {4, 3}, {8, 2}};

struct ThinTuning {
  int threads;  // of a block, which in a step reads 64 bytes of the wide operand per thread
  int chunk;    // k of the narrow operand in shared memory at a time: steps divide it
  // k is split over blocks until there are `waves` times as many blocks as fit on the device, but
  // none has fewer than `min_steps` steps.
  int waves;
  int min_steps;
  // A warp reads this many threads' elements along k, where there are so many.
  int min_k_threads, max_k_threads;
  // For the prediction.
  double launch_us;              // of a launch that computes nothing
  double gather_us;              // added where k is split
  double step_us;                // of a block alone on its multiprocessor
  double block_us;               // of a block beside its steps, where a batch has block after block
  double share_of_bandwidth;     // of the one that the device states
  double unstated_bytes_per_us;  // where it states none
};

// For an NVIDIA H200, where 4.5 TB/s at 0.8 us of latency need 27 KB in flight per multiprocessor:
// 4 blocks have 64 KB, the 2 of the widest instance 32 KB. A third one of those would spill. 1 x
// 8192 x 8192 becomes 1056 blocks. Microseconds with waves of 2, 3, 4 and 8:
//   1 x 8192 x 8192    65.9  68.1  68.7  70.7
//   8 x 4096 x 4096    32.6  44.4  47.6  47.6
//   8192 x 1 x 8192    69.8  67.3  67.3  67.4
// and with 2 and loads of which L1 keeps nothing 64.9, 29.7 and 69.4
// (results/h200/explored-thin.txt).
inline constexpr ThinTuning thin_tuning = {.threads = 256,
                                           .chunk = 1024,
                                           .waves = 2,
                                           .min_steps = 4,
                                           .min_k_threads = 8,
                                           .max_k_threads = 32,
                                           .launch_us = 2.5,
                                           .gather_us = 1.5,
                                           .step_us = 0.6,
                                           .block_us = 5,  // 8192 of 8 x 8 x 8: 176 us
                                           .share_of_bandwidth = 0.9,
                                           .unstated_bytes_per_us = 1e5};

}  // namespace kw
