// How many blocks __launch_bounds__ may ask for: a table of configurations says how many fit a
// multiprocessor of the GPUs it was measured on, and others hold fewer threads.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// Threads and blocks that a multiprocessor of the architecture holds at least for which this text
// is compiled.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int threads_per_sm = 1024, most_blocks_per_sm = 16;
#elif defined(__CUDA_ARCH__) && \
    ((__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1100)
constexpr int threads_per_sm = 1536, most_blocks_per_sm = 16;
#else
constexpr int threads_per_sm = 2048, most_blocks_per_sm = 32;
#endif

constexpr int blocks_per_sm_within(int threads, int blocks) {
  const int by_threads = threads_per_sm / threads;
  const int most = by_threads < most_blocks_per_sm ? by_threads : most_blocks_per_sm;
  return blocks < most ? blocks : most;
}

}  // namespace KW_TARGET
