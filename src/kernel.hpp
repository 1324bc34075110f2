// One kernel, one row. Everything that can compute an operation (ladder rung, production kernel,
// vendor peer, CPU loop) is one value of Kernel<Problem>; ordered lists of these drive dispatch,
// command line, tests and measurements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/device.hpp"
#include "kernelwright/math.hpp"
#include "status.hpp"

namespace kw {

enum class Role { rung, production, peer, reference };

inline const char* to_string(Role role) {
  switch (role) {
    case Role::rung: return "rung";
    case Role::production: return "production";
    case Role::peer: return "peer";
    case Role::reference: return "reference";
  }
  return "unknown";
}

inline const char* to_string(Math math) {
  switch (math) {
    case Math::fp32: return "fp32";
    case Math::fp32_split: return "fp32_split";
  }
  return "unknown";
}

// A queue of work on a device: cudaStream_t, hipStream_t, or nothing on the CPU and in host SIMT,
// where a launch has finished when it returns.
struct Stream {
  void* handle = nullptr;
};

// Scratch memory on the device, at least 256-byte aligned, its contents undefined; and words by
// which the blocks of one launch find each other. Those are zero when a launch begins, and the
// launch leaves them zero.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
  unsigned* tickets = nullptr;  // ticket_count of them, 256-byte aligned
};

constexpr std::size_t ticket_count = 32768;

using PathWords = std::array<std::uint32_t, 2>;

template <class Problem>
struct Kernel {
  const char* name;    // "r07_conflict_free": file = registry = command line = test = result
  const char* parent;  // the step it improves on, or nullptr
  const char* idea;    // one line
  Role role;
  Math math;
  bool (*supports)(const Problem&, const Device&);  // answered before any launch
  std::size_t (*workspace_bytes)(const Problem&, const Device&);
  Status (*launch)(const Problem&, const Device&, Workspace, Stream);  // never allocates or waits
  // For the choice among kernels; null: only where no other supports the problem.
  double (*predicted_us)(const Problem&, const Device&) = nullptr;
  // The least workspace with which `launch` works, in pieces; null: all of workspace_bytes.
  std::size_t (*min_workspace_bytes)(const Problem&, const Device&) = nullptr;
  // Where the kernel chooses on the device by the data: which kernel computed the problem, from the
  // first words of the workspace after the launch has run.
  const char* (*path_taken)(const Problem&, const Device&, const PathWords&) = nullptr;
  // What a rung that is less exact than FP32 may err beyond FP32's bound, in 2^-24 |alpha| |op(A)|
  // |op(B)|; null for all others, and a kernel of the library is never such a one.
  double (*extra_error)(const Problem&) = nullptr;
};

template <class Problem>
using KernelList = std::vector<Kernel<Problem>>;

// Names a launch function: `KernelLaunch<Sgemm> r04_block_tile;` declares it.
template <class Problem>
using KernelLaunch = Status(const Problem&, const Device&, Workspace, Stream);

// For the column of that name where a kernel needs no scratch memory.
template <class Problem>
std::size_t no_workspace(const Problem&, const Device&) {
  return 0;
}

}  // namespace kw
