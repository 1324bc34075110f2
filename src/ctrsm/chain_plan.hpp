// How chain.cu is launched: how many lines a cluster has. Made on the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "arithmetic.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET {

constexpr int complex_chain_size = 1024;  // unknowns at the most
constexpr int complex_chain_blocks = 8;   // of a cluster
constexpr int complex_chain_link = 32;    // unknowns of a warp

// Clusters with so many lines each: the time of a launch, and of 32 unknowns.
struct ComplexChainTimes {
  int lines;
  double launch_us, link_us;
};
// Measured on an H200 with 64 to 1024 unknowns. With two lines, fewer than 256 take a microsecond
// less, as blocks of block.cu do, with which they are compared. Four lines take twice as long.
constexpr ComplexChainTimes complex_chains[] = {{1, 2.4, 1.68}, {2, 3.8, 2.27}};

// That which is quickest, and its time: infinity where all lines do not run side by side, which
// takes no less than blocks of block.cu.
struct ComplexChainChoice {
  int lines = 1;
  double us = std::numeric_limits<double>::infinity();

  bool is_possible() const { return us < std::numeric_limits<double>::infinity(); }
};
inline ComplexChainChoice choose_complex_chain(int size, std::int64_t lines, std::int64_t batch,
                                               const Device& device) {
  if (device.compute_capability != 90 || size <= complex_chain_link || size > complex_chain_size)
    return {};
  // Not all multiprocessors have seven others nearby: of an H200's 132 fifteen clusters run at a
  // time.
  const std::int64_t at_once = std::max(device.sm_count / (complex_chain_blocks + 1), 1);
  for (const ComplexChainTimes& t : complex_chains)
    if (batch * ceil_div(lines, std::int64_t{t.lines}) <= at_once)
      return {t.lines, t.launch_us + ceil_div(size, complex_chain_link) * t.link_us};
  return {};
}

}  // namespace KW_TARGET
