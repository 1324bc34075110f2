// What the library computes a problem with, as rows beside the kernels that it chooses from.
#include "choice.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "backends.hpp"
#include "select.hpp"

namespace kw {
namespace {

// Made once a kind of device: a launch must not allocate.
template <class Problem>
const KernelList<Problem>& production(DeviceKind kind, KernelList<Problem> (*Backend::*list)()) {
  static std::mutex mutex;
  static std::map<DeviceKind, KernelList<Problem>> lists;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = lists.find(kind);
  if (known != lists.end()) return known->second;
  const Backend* backend = find_backend(kind);
  return lists[kind] = backend != nullptr ? (backend->*list)() : KernelList<Problem>{};
}

// The plan has one part: the kernel chosen, and its own plan.
template <Math math>
struct LibraryChoice {
  static std::optional<Plan<Sgemm>> make_plan(const Sgemm& problem, const Device& device) {
    auto chosen = select_kernel(problem, device, production(device.kind, &Backend::sgemm), math);
    if (!chosen) return std::nullopt;
    Plan<Sgemm> plan = {.time_us = chosen->plan.time_us,
                        .cost = chosen->plan.cost,
                        .workspace_bytes = chosen->plan.workspace_bytes,
                        .min_workspace_bytes = chosen->plan.min_workspace_bytes};
    plan.parts.push_back(std::move(*chosen));
    return plan;
  }
  static Status launch_plan(const Sgemm& problem, const Device& device, const Plan<Sgemm>& plan,
                            Workspace workspace, Stream stream) {
    return launch_planned(plan.parts[0], problem, device, workspace, stream);
  }
  static const char* path_taken(const Sgemm& problem, const Device& device, const Plan<Sgemm>& plan,
                                const PathWords& words) {
    const auto& [chosen, own] = plan.parts[0];
    return chosen->path_taken != nullptr ? chosen->path_taken(problem, device, own, words)
                                         : chosen->name;
  }

  static Kernel<Sgemm> row(const char* name, const char* idea) {
    return {.name = name,
            .parent = nullptr,
            .idea = idea,
            .role = Role::production,
            .math = math,
            .make_plan = make_plan,
            .launch_plan = launch_plan,
            .path_taken = path_taken};
  }
};

// Where the parts of a plan are another operation's, or there are none, the plan is the chosen
// kernel's own, behind whose data lies which kernel that is. Their data are a few numbers.
struct MarkedData {
  unsigned char own[sizeof(PlanData) - sizeof(std::uintptr_t)];
  std::uintptr_t kernel;
};
template <class Problem, auto list, Math math>
struct PlannedOnce {
  static std::optional<Plan<Problem>> make_plan(const Problem& problem, const Device& device) {
    auto chosen = select_kernel(problem, device, production(device.kind, list), math);
    if (!chosen) return std::nullopt;
    auto data = chosen->plan.data.template get<MarkedData>();
    data.kernel = reinterpret_cast<std::uintptr_t>(chosen->kernel);
    chosen->plan.data.set(data);
    return std::move(chosen->plan);
  }
  static const Kernel<Problem>& kernel_of(const Plan<Problem>& plan) {
    return *reinterpret_cast<const Kernel<Problem>*>(plan.data.template get<MarkedData>().kernel);
  }
  static Status launch_plan(const Problem& problem, const Device& device, const Plan<Problem>& plan,
                            Workspace workspace, Stream stream) {
    return launch_planned(kernel_of(plan), problem, device, plan, workspace, stream);
  }
  static const char* path_taken(const Problem& problem, const Device& device,
                                const Plan<Problem>& plan, const PathWords& words) {
    const Kernel<Problem>& kernel = kernel_of(plan);
    return kernel.path_taken != nullptr ? kernel.path_taken(problem, device, plan, words)
                                        : kernel.name;
  }

  static Kernel<Problem> row(const char* name, const char* idea) {
    return {.name = name,
            .parent = nullptr,
            .idea = idea,
            .role = Role::production,
            .math = math,
            .make_plan = make_plan,
            .launch_plan = launch_plan,
            .path_taken = path_taken};
  }
};

constexpr const char* own_name = "kernelwright";
constexpr const char* split_name = "kernelwright_split";
constexpr const char* own_idea = "the library's choice among its kernels";
constexpr const char* split_idea = "the library's choice in fp32_split";

template <class Problem, auto list>
KernelList<Problem> in_both_arithmetics() {
  return {PlannedOnce<Problem, list, Math::fp32>::row(own_name, own_idea),
          PlannedOnce<Problem, list, Math::fp32_split>::row(split_name, split_idea)};
}

}  // namespace

KernelList<Level3> level3_choices() { return in_both_arithmetics<Level3, &Backend::level3>(); }

KernelList<Cgemm> cgemm_choices() { return in_both_arithmetics<Cgemm, &Backend::cgemm>(); }

KernelList<Ctrsm> ctrsm_choices() { return in_both_arithmetics<Ctrsm, &Backend::ctrsm>(); }

KernelList<Attention> attention_choices() {
  return in_both_arithmetics<Attention, &Backend::attention>();
}

KernelList<Rowwise> rowwise_choices() {
  return {PlannedOnce<Rowwise, &Backend::rowwise, Math::fp32>::row(own_name, own_idea)};
}

KernelList<Sgemm> sgemm_choices() {
  return {LibraryChoice<Math::fp32>::row(own_name, own_idea),
          LibraryChoice<Math::fp32_split>::row(split_name, split_idea)};
}

bool is_choice(std::string_view name) {
  const KernelList<Sgemm> rows = sgemm_choices();
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Kernel<Sgemm>& row) { return row.name == name; });
}

}  // namespace kw
