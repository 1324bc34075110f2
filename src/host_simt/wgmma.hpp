// What wgmma.cpp keeps of products that warpgroups have issued and not yet waited for.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "host_simt/execution.hpp"

namespace kw::host_simt {

inline constexpr int warpgroup_threads = 128;
inline constexpr int warpgroup_warps = 4;

// One warp's part of an accumulator while products that add to it are under way.
struct WgmmaAccumulator {
  int n;
  std::uint32_t lanes = 0;    // that have brought theirs
  std::vector<float> values;  // 16 x n, by rows
};

// One instruction of a warpgroup.
struct WgmmaProduct {
  bool bf16;
  int n;
  WgmmaOperand a, b;
  bool add;
  Site site;
  std::uint64_t group;  // commits before it
  const void* call;     // behind it in the kernel's machine code
  struct Warp {
    std::uint32_t lanes = 0;  // that have issued it
    std::shared_ptr<WgmmaAccumulator> accumulator;
  };
  std::array<Warp, warpgroup_warps> warps;
  int waited_for = 0;  // by so many threads
};

struct Warpgroup {
  std::uint64_t first = 0;  // so many products are gone: all threads have waited for them
  std::deque<WgmmaProduct> products;
  std::array<std::uint64_t, warpgroup_warps> computed{};  // so many products, by each warp
};

// A thread's own share.
struct WgmmaThread {
  struct Held {  // an accumulator that products under way add to
    float* registers;
    std::uint64_t products;  // how many its thread had issued with the last of them
    std::shared_ptr<WgmmaAccumulator> accumulator;
  };
  struct Returned {  // an accumulator that was given back,
    const float* registers;
    unsigned fences;  // when its thread had made so many
  };
  std::uint64_t issued = 0;      // products,
  std::uint64_t waited_for = 0;  // and of these
  std::uint64_t groups = 0;      // commits
  unsigned fences = 0;
  std::vector<Held> held;
  std::vector<Returned> returned;
};

}  // namespace kw::host_simt
