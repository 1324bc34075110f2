// The same kernel text for nvcc, hipcc and g++ (host SIMT): the only header that a kernel file
// needs to be a GPU program. It brings
//   KW_TARGET                  this compilation's namespace: kw::on_cuda, on_hip or on_host
//   gpu::launch(kernel, {grid, block, shared_bytes, stream}, args...)     never <<<>>>
//   gpu::dynamic_shared<T>()   the block's dynamic shared memory, 128-byte aligned
// and, under host SIMT, the CUDA names that kernels use (threadIdx, __shared__, float4, ...).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>

#include "arithmetic.hpp"
#include "gpu/launch_record.hpp"
#include "gpu/launch_taker.hpp"
#include "kernel.hpp"

#if defined(__CUDACC__)
#include "gpu/launch_facts.hpp"
#define KW_TARGET kw::on_cuda
#elif defined(__HIP__)
#include "gpu/hip_functions.hpp"
#define KW_TARGET kw::on_hip
#else
#include "host_simt/simt.hpp"
#define KW_TARGET kw::on_host
#endif

namespace KW_TARGET::gpu {

// Whether this compiler builds the kernels that need mbarriers, bulk copies, wgmma or more than 64
// KiB of shared memory, which AMD's GPUs do not have. KW_NOT_FOR_HIP in cmake/KernelwrightHip.cmake
// leaves their files out of a build for HIP; this constant leaves their rows out of its registries.
#if defined(__HIP__)
constexpr bool has_nvidia_kernels = false;
#else
constexpr bool has_nvidia_kernels = true;
#endif

struct LaunchConfig {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
  Stream stream = {};
  // The kernel may start before the stream's previous kernel has ended, and itself waits for that
  // end (device/overlap.hpp). Ignored where the device cannot do so.
  bool overlap = false;
  // So many neighbouring blocks along x form a cluster (device/cluster.hpp); 1: none do. Only for
  // devices that have clusters, up to 8, 16 after clusters_at_once, and a grid of whole clusters.
  int cluster = 1;
  // All blocks run at the same time, so that any may wait for any other: a cooperative launch, an
  // error where the device does not hold the grid at once. Under host SIMT the blocks are those of
  // one cluster. Not for HIP.
  bool together = false;
};

template <class T>
__device__ __forceinline__ T* dynamic_shared() {
#if defined(__CUDACC__) || defined(__HIP__)
  extern __shared__ __align__(128) unsigned char kw_dynamic_shared[];
  return reinterpret_cast<T*>(kw_dynamic_shared);
#else
  return static_cast<T*>(kw::host_simt::dynamic_shared());
#endif
}

namespace detail {
#if defined(__CUDACC__)
inline Status raw_launch(const void* kernel, const LaunchConfig& config, void** args) {
  const LaunchFacts* facts = nullptr;
  Status status = prepare_launch(kernel, config.shared_bytes, &facts);
  if (!status.ok()) return status;
  cudaLaunchAttribute attributes[3] = {};
  unsigned count = 0;
  if (config.together) {
    cudaLaunchAttribute& together = attributes[count++];
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
  }
  if (config.overlap && facts->waits_itself) {
    cudaLaunchAttribute& overlap = attributes[count++];
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
  }
  if (config.cluster > 1) {
    if (!facts->waits_itself)
      return Status::failure(StatusCode::device_error,
                             "kernel launch: clusters of blocks need device code for sm_90 or "
                             "later: build with 90a-real in KW_CUDA_ARCHITECTURES");
    cudaLaunchAttribute& cluster = attributes[count++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(config.cluster), 1, 1};
  }
  cudaLaunchConfig_t launch = {};
  launch.gridDim = config.grid;
  launch.blockDim = config.block;
  launch.dynamicSmemBytes = config.shared_bytes;
  launch.stream = static_cast<cudaStream_t>(config.stream.handle);
  launch.attrs = attributes;
  launch.numAttrs = count;
  return check(cudaLaunchKernelExC(&launch, kernel, args), "kernel launch");
}
#elif defined(__HIP__)
inline Status raw_launch(const void* kernel, const LaunchConfig& config, void** args) {
  const hipError_t error =
      hipLaunchKernel(kernel, config.grid, config.block, args, config.shared_bytes,
                      static_cast<hipStream_t>(config.stream.handle));
  if (error == hipSuccess) return Status::success();
  return Status::failure(StatusCode::device_error,
                         std::string("kernel launch: ") + hipGetErrorString(error));
}
#endif

#if defined(__CUDACC__) || defined(__HIP__)
// To the driver, or to whoever takes this thread's launches.
inline Status launch_or_hand_over(const void* kernel, const LaunchConfig& config,
                                  const kw::gpu::LaunchShape& shape, void** args,
                                  std::span<const std::size_t> bytes) {
  const auto make = [&] { return raw_launch(kernel, config, args); };
  kw::gpu::LaunchTaker* const taker = kw::gpu::launch_taker;
  if (taker == nullptr) return make();
  return taker->take({kernel, shape, config.overlap, config.cluster, config.together, args, bytes},
                     std::ref(make));
}
#endif
}  // namespace detail

// Starts `kernel` over the grid. A grid without blocks is no work and succeeds. Arguments are
// converted to the kernel's parameter types, as a call would.
template <class... Params>
Status launch(void (*kernel)(Params...), const LaunchConfig& config,
              std::type_identity_t<Params>... args) {
  if (config.grid.x == 0 || config.grid.y == 0 || config.grid.z == 0) return Status::success();
  const kw::gpu::LaunchShape shape{
      {config.grid.x, config.grid.y, config.grid.z},
      {static_cast<int>(config.block.x), static_cast<int>(config.block.y),
       static_cast<int>(config.block.z)},
      config.shared_bytes,
      1};
  if (kw::gpu::LaunchShape* record = kw::gpu::launch_recorder) {
    const int launches = record->launches + 1;
    *record = shape;
    record->launches = launches;
  }
#if defined(__CUDACC__) || defined(__HIP__)
  void* pointers[] = {static_cast<void*>(&args)..., nullptr};
  static constexpr std::size_t bytes[] = {sizeof(Params)..., 0};
  return detail::launch_or_hand_over(reinterpret_cast<const void*>(kernel), config, shape, pointers,
                                     {bytes, sizeof...(Params)});
#else
  const int cluster = config.together ? static_cast<int>(config.grid.x) : config.cluster;
  return kw::host_simt::launch(reinterpret_cast<const void*>(kernel),
                               {config.grid, config.block, config.shared_bytes, cluster},
                               [&] { kernel(args...); });
#endif
}

}  // namespace KW_TARGET::gpu
