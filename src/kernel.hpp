// One kernel, one row. Everything that can compute an operation (ladder rung, production kernel,
// vendor peer, CPU loop) is one value of Kernel<Problem>; ordered lists of these drive dispatch,
// command line, tests and measurements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
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

// Scratch memory on the device, at least 256-byte aligned, its contents undefined; and tickets, by
// which the blocks of one launch learn which of them arrives last. Tickets are zero when a launch
// begins, and the launch leaves them zero.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
  unsigned* tickets = nullptr;  // ticket_count of them, 256-byte aligned
};

constexpr std::size_t ticket_count = 32768;

using PathWords = std::array<std::uint32_t, 2>;

template <class Problem>
struct Kernel;
template <class Problem>
struct Choice;

// What a kernel puts into its plan for its own launch, for instance how it cuts the problem.
class PlanData {
 public:
  template <class T>
  void set(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof bytes_);
    std::memcpy(bytes_, &value, sizeof value);
  }
  // T is the type that was set.
  template <class T>
  T get() const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof bytes_);
    T value;
    std::memcpy(&value, bytes_, sizeof value);
    return value;
  }

 private:
  unsigned char bytes_[160] = {};
};

// Whose kernels those of a problem may call: its own; or, where an operation is made of another
// one, that one's.
template <class Problem>
struct PartsOf {
  using Type = Problem;
};

// How a kernel will compute one problem on one device. It is made once: the choice compares plans,
// and the chosen one goes to the launch.
template <class Problem>
struct Plan {
  // Predicted; infinite where the kernel makes no prediction.
  double time_us = std::numeric_limits<double>::infinity();
  // What the choice compares: the time, of split kernels with a margin.
  double cost = std::numeric_limits<double>::infinity();
  std::size_t workspace_bytes = 0;
  // The least with which the launch works, in sub-problems or with longer sums; none: it needs all
  // of workspace_bytes.
  std::optional<std::size_t> min_workspace_bytes = {};
  PlanData data = {};
  // The kernels that this one calls, with their plans; null: a part that this one computes itself.
  std::vector<Choice<typename PartsOf<Problem>::Type>> parts = {};

  std::size_t needed_workspace_bytes() const {
    return min_workspace_bytes.value_or(workspace_bytes);
  }
};

// A kernel in a list, and its plan for a problem.
template <class Problem>
struct Choice {
  const Kernel<Problem>* kernel = nullptr;
  Plan<Problem> plan = {};
};

// A row says how to launch its kernel in one of two ways. A kernel with nothing to plan, as a rung
// or a peer, has `supports`, `workspace_bytes` and `launch`. A kernel whose launch depends on
// decisions about the problem, or that predicts its time, has `make_plan` and `launch_plan` in
// their place. Callers use `plan_for`, `supports` and `launch_planned` below for both.
template <class Problem>
struct Kernel {
  const char* name;    // "r07_conflict_free": file = registry = command line = test = result
  const char* parent;  // the step it improves on, or nullptr
  const char* idea;    // one line
  Role role;
  Math math;
  bool (*supports)(const Problem&, const Device&) = nullptr;  // answered before any launch
  std::size_t (*workspace_bytes)(const Problem&, const Device&) = nullptr;
  // Never allocates device memory, never waits.
  Status (*launch)(const Problem&, const Device&, Workspace, Stream) = nullptr;
  // Nothing where the kernel does not support the problem.
  std::optional<Plan<Problem>> (*make_plan)(const Problem&, const Device&) = nullptr;
  // Adds to a plan of `make_plan` what takes longer to decide than the choice needs to know: the
  // kernels that this one calls, and their workspace. Null: nothing.
  void (*complete_plan)(const Problem&, const Device&, Plan<Problem>&) = nullptr;
  Status (*launch_plan)(const Problem&, const Device&, const Plan<Problem>&, Workspace,
                        Stream) = nullptr;
  // Where the kernel chooses on the device by the data: which kernel computed the problem, from the
  // first words of the workspace after the launch has run.
  const char* (*path_taken)(const Problem&, const Device&, const Plan<Problem>&,
                            const PathWords&) = nullptr;
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

// The plan as far as the choice needs it; nothing where the kernel does not support the problem.
template <class Problem>
std::optional<Plan<Problem>> candidate_plan(const Kernel<Problem>& kernel, const Problem& problem,
                                            const Device& device) {
  if (kernel.make_plan != nullptr) return kernel.make_plan(problem, device);
  std::optional<Plan<Problem>> plan;
  if (kernel.supports(problem, device))
    plan.emplace().workspace_bytes = kernel.workspace_bytes(problem, device);
  return plan;
}

template <class Problem>
void complete_plan(const Kernel<Problem>& kernel, const Problem& problem, const Device& device,
                   Plan<Problem>& plan) {
  if (kernel.complete_plan != nullptr) kernel.complete_plan(problem, device, plan);
}

// The whole plan; nothing where the kernel does not support the problem.
template <class Problem>
std::optional<Plan<Problem>> plan_for(const Kernel<Problem>& kernel, const Problem& problem,
                                      const Device& device) {
  std::optional<Plan<Problem>> plan = candidate_plan(kernel, problem, device);
  if (plan) complete_plan(kernel, problem, device, *plan);
  return plan;
}

template <class Problem>
bool supports(const Kernel<Problem>& kernel, const Problem& problem, const Device& device) {
  return kernel.make_plan != nullptr ? kernel.make_plan(problem, device).has_value()
                                     : kernel.supports(problem, device);
}

// `plan` is the kernel's own for this problem, whole; `workspace` has what the plan needs.
template <class Problem>
Status launch_planned(const Kernel<Problem>& kernel, const Problem& problem, const Device& device,
                      const Plan<Problem>& plan, Workspace workspace, Stream stream) {
  return kernel.launch_plan != nullptr
             ? kernel.launch_plan(problem, device, plan, workspace, stream)
             : kernel.launch(problem, device, workspace, stream);
}
template <class Problem>
Status launch_planned(const Choice<Problem>& choice, const Problem& problem, const Device& device,
                      Workspace workspace, Stream stream) {
  return launch_planned(*choice.kernel, problem, device, choice.plan, workspace, stream);
}

}  // namespace kw
