// What a device can do at most, measured in the process that reports shares of it.
#pragma once

#include <optional>

#include "check/workbench.hpp"

namespace kw::bench {

// A kernel that does nothing, launched and timed as others are: no call can be faster. Medians.
struct EmptyKernel {
  double graph_us;   // one of many in a graph
  double events_us;  // alone between two events
};

struct Ceilings {
  std::optional<double> fp32_tflops;  // fused multiply-adds in registers, two operations each
  std::optional<double> read_gbs;     // a read-only stream over much more than the caches hold
  std::optional<double> copy_gbs;     // read plus written, within the device
  std::optional<double> cache_gbs;    // a read-only stream over a quarter of a GPU's L2
  std::optional<EmptyKernel> empty_kernel;  // of a GPU
};

// Takes well under a second on a GPU, about one or two on a CPU. Host SIMT has no speed worth
// knowing: nothing is measured there.
Ceilings measure_ceilings(check::Workbench& bench);

// cpu_ceilings.cpp
// With the best of the vector instructions that this CPU has.
double cpu_fp32_tflops(int threads);
struct MemoryRates {
  double read_gbs, copy_gbs;
};
// Over a buffer of so many bytes; the copy reads one half and writes the other.
MemoryRates cpu_memory_rates(std::size_t bytes);
// All threads together read a buffer once.
void cpu_read(const void* data, std::size_t bytes);

}  // namespace kw::bench
