// What CUDA's driver is asked once about a kernel and told once of it, so that a launch is one
// call: each thread keeps the answers of each device.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "status.hpp"

namespace kw::on_cuda::gpu::detail {

inline Status check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return Status::success();
  return Status::failure(StatusCode::device_error,
                         std::string(what) + ": " + cudaGetErrorString(error));
}

struct LaunchFacts {
  // Whether the code that this device runs was compiled for sm_90 or later, where a kernel can wait
  // for the one before it; code for an earlier architecture, translated by the driver, cannot.
  bool waits_itself = false;
  int static_shared_bytes = 0;
  // Whether the driver lets the kernel have all dynamic shared memory.
  bool has_all_shared = false;
};

// How often a device was opened. Before that an application may have reset it, and the driver has
// forgotten what it was told.
inline std::atomic<unsigned> devices_opened{0};

inline Status ask_driver(const void* kernel, LaunchFacts* facts) {
  cudaFuncAttributes attributes = {};
  Status status = check(cudaFuncGetAttributes(&attributes, kernel), "kernel attributes");
  facts->waits_itself = attributes.ptxVersion >= 90;
  facts->static_shared_bytes = static_cast<int>(attributes.sharedSizeBytes);
  return status;
}

// Lets the kernel have all dynamic shared memory that a block can have beside its static one. Every
// thread tells the driver the same, in whatever order they come.
inline Status allow_all_shared(const void* kernel, int device, LaunchFacts* facts) {
  int most = 0;
  Status status =
      check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
            "largest shared memory");
  if (!status.ok()) return status;
  Status told = check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           most - facts->static_shared_bytes),
                      "dynamic shared memory");
  facts->has_all_shared = told.ok();
  return told;
}

// Prepares a launch with so much dynamic shared memory on the calling thread's current device, and
// finds the kernel's facts. Never waits for the device, and works while a stream is captured.
inline Status prepare_launch(const void* kernel, std::size_t shared_bytes,
                             const LaunchFacts** found) {
  constexpr std::size_t without_opt_in = 48 * 1024;  // static and dynamic memory together
  using OfKernels = std::unordered_map<const void*, LaunchFacts>;
  thread_local std::vector<OfKernels> of_devices;
  thread_local unsigned asked_after = 0;
  int device = 0;
  Status status = check(cudaGetDevice(&device), "current device");
  if (!status.ok()) return status;
  if (const unsigned opened = devices_opened; asked_after != opened) {
    of_devices.clear();
    asked_after = opened;
  }
  const auto index = static_cast<std::size_t>(device);
  if (of_devices.size() <= index) of_devices.resize(index + 1);
  OfKernels& known = of_devices[index];
  const auto [at, is_new] = known.try_emplace(kernel);
  LaunchFacts& facts = at->second;
  Status asked = is_new ? ask_driver(kernel, &facts) : Status::success();
  if (!asked.ok()) {
    known.erase(at);
    return asked;
  }
  *found = &facts;
  const std::size_t all_shared = shared_bytes + static_cast<std::size_t>(facts.static_shared_bytes);
  const bool is_allowed = all_shared <= without_opt_in || facts.has_all_shared;
  return is_allowed ? Status::success() : allow_all_shared(kernel, device, &facts);
}

}  // namespace kw::on_cuda::gpu::detail
