// What the library computes a problem with, as a row beside the kernels that it chooses from.
#include "choice.hpp"

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

const Kernel<Sgemm>* choose(const Sgemm& problem, const Device& device) {
  return select_kernel(problem, device, production(device.kind));
}

bool supports(const Sgemm& problem, const Device& device) {
  return choose(problem, device) != nullptr;
}

std::size_t workspace_bytes(const Sgemm& problem, const Device& device) {
  return choose(problem, device)->workspace_bytes(problem, device);
}

Status launch(const Sgemm& problem, const Device& device, Workspace workspace, Stream stream) {
  return choose(problem, device)->launch(problem, device, workspace, stream);
}

}  // namespace

Kernel<Sgemm> sgemm_choice() {
  return {.name = "kernelwright",
          .parent = nullptr,
          .idea = "the library's choice among its kernels",
          .role = Role::production,
          .math = Math::fp32,
          .supports = supports,
          .workspace_bytes = workspace_bytes,
          .launch = launch};
}

std::string path_of(const Kernel<Sgemm>& kernel, const Sgemm& problem, const Device& device) {
  if (kernel.launch != launch) return kernel.name;
  const Kernel<Sgemm>* chosen = choose(problem, device);
  return chosen != nullptr ? chosen->name : kernel.name;
}

}  // namespace kw
