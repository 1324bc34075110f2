// How the warps of reduce_staged_kernel (staged_rows.hpp) share sequences, and how large their
// stages are: made on the host.
#pragma once

#include <cstdint>

#include "gpu/device.hpp"
#include "reduce/problem.hpp"

namespace kw {

constexpr int staged_threads = 640;  // at most; a block is an SM's only one
constexpr int most_staged = 3;       // stages of a warp
constexpr int staged_head_bytes = 16;

struct StagedPlan {
  int stages = 0, stage_bytes = 0;
  int warps = 0;          // of a block; 0: no stages
  std::int64_t most = 0;  // elements of a sequence in a stage
};

// What a plan depends on besides the problem and the device.
struct StagedElement {
  int bytes;         // of an element
  int places_bytes;  // of a warp, for its trees
};

// Without warps where stages are of no use: of a small problem, of shorter and of longer sequences,
// in the mean, on a device with little shared memory.
StagedPlan plan_staged(const Reduce& problem, const StagedElement& element, const Device& device);

}  // namespace kw
