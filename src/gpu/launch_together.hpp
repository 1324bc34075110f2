// Launches whose blocks all run at the same time, so that any of them may wait for any other.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET::gpu {

#if defined(__CUDACC__)
namespace detail {

inline Status raw_launch_together(const void* kernel, const LaunchConfig& config, void** args) {
  const LaunchFacts* facts = nullptr;
  Status status = prepare_launch(kernel, config.shared_bytes, &facts);
  if (!status.ok()) return status;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = config.grid;
  launch.blockDim = config.block;
  launch.dynamicSmemBytes = config.shared_bytes;
  launch.stream = static_cast<cudaStream_t>(config.stream.handle);
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  return check(cudaLaunchKernelExC(&launch, kernel, args), "kernel launch");
}

}  // namespace detail
#endif

// As gpu::launch, of a grid that the device holds at once; where it does not, that is an error
// (CUDA C++ Programming Guide, "Cooperative Groups": cooperative launches). Under host SIMT the
// blocks are those of one cluster. Not for HIP.
template <class... Params>
Status launch_together(void (*kernel)(Params...), const LaunchConfig& config,
                       std::type_identity_t<Params>... args) {
#if defined(__CUDACC__)
  if (kw::gpu::LaunchShape* record = kw::gpu::launch_recorder) {
    *record = {{config.grid.x, config.grid.y, config.grid.z},
               {static_cast<int>(config.block.x), static_cast<int>(config.block.y),
                static_cast<int>(config.block.z)},
               config.shared_bytes,
               record->launches + 1};
  }
  void* pointers[] = {static_cast<void*>(&args)..., nullptr};
  return detail::raw_launch_together(reinterpret_cast<const void*>(kernel), config, pointers);
#else
  LaunchConfig side_by_side = config;
  side_by_side.cluster = static_cast<int>(config.grid.x);
  return launch(kernel, side_by_side, args...);
#endif
}

}  // namespace KW_TARGET::gpu
