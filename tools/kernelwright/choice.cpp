// What the library computes a problem with, as rows beside the kernels that it chooses from.
#include "choice.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "gpu/runtime.hpp"
#include "select.hpp"

namespace kw {
namespace {

// Made once a kind of device: a launch must not allocate.
const KernelList<Sgemm>& production(DeviceKind kind) {
  static std::mutex mutex;
  static std::map<DeviceKind, KernelList<Sgemm>> lists;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = lists.find(kind);
  if (known != lists.end()) return known->second;
  const Backend* backend = find_backend(kind);
  return lists[kind] = backend != nullptr ? backend->sgemm() : KernelList<Sgemm>{};
}

template <Math math>
struct Choice {
  static const Kernel<Sgemm>* choose(const Sgemm& problem, const Device& device) {
    return select_kernel(problem, device, production(device.kind), math);
  }
  static bool supports(const Sgemm& problem, const Device& device) {
    return choose(problem, device) != nullptr;
  }
  static std::size_t workspace_bytes(const Sgemm& problem, const Device& device) {
    return choose(problem, device)->workspace_bytes(problem, device);
  }
  static Status launch(const Sgemm& problem, const Device& device, Workspace workspace,
                       Stream stream) {
    return choose(problem, device)->launch(problem, device, workspace, stream);
  }
  static const char* path_taken(const Sgemm& problem, const Device& device,
                                const PathWords& words) {
    const Kernel<Sgemm>* chosen = choose(problem, device);
    return chosen->path_taken != nullptr ? chosen->path_taken(problem, device, words)
                                         : chosen->name;
  }

  static Kernel<Sgemm> row(const char* name, const char* idea) {
    return {.name = name,
            .parent = nullptr,
            .idea = idea,
            .role = Role::production,
            .math = math,
            .supports = supports,
            .workspace_bytes = workspace_bytes,
            .launch = launch,
            .path_taken = path_taken};
  }
};

}  // namespace

KernelList<Sgemm> sgemm_choices() {
  return {
      Choice<Math::fp32>::row("kernelwright", "the library's choice among its kernels"),
      Choice<Math::fp32_split>::row("kernelwright_split", "the library's choice in fp32_split")};
}

bool is_choice(std::string_view name) {
  const KernelList<Sgemm> rows = sgemm_choices();
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Kernel<Sgemm>& row) { return row.name == name; });
}

}  // namespace kw
