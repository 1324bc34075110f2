// How many clusters of a launch a device runs at once: more of them would wait for others to end.
#pragma once

#include "gpu/gpu.hpp"

#if defined(__CUDACC__)
#include <map>
#include <tuple>
#endif

namespace KW_TARGET::gpu {

#if defined(__CUDACC__)
namespace detail {

inline Status ask_clusters(const void* kernel, const LaunchConfig& config, bool close_together,
                           int* clusters) {
  const LaunchFacts* facts = nullptr;
  Status prepared = prepare_launch(kernel, config.shared_bytes, &facts);
  if (!prepared.ok()) return prepared;
  constexpr int portable = 8;
  if (config.cluster > portable) {
    const Status allowed =
        check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
              "clusters of more than eight blocks");
    if (!allowed.ok()) return allowed;
  }
  if (close_together) {
    const Status told =
        check(cudaFuncSetAttribute(kernel, cudaFuncAttributeClusterSchedulingPolicyPreference,
                                   cudaClusterSchedulingPolicyLoadBalancing),
              "where blocks of clusters go");
    if (!told.ok()) return told;
  }
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(config.cluster), 1, 1};
  cudaLaunchConfig_t launch = {};
  launch.gridDim = dim3(static_cast<unsigned>(config.cluster));
  launch.blockDim = config.block;
  launch.dynamicSmemBytes = config.shared_bytes;
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  return check(cudaOccupancyMaxActiveClusters(clusters, kernel, &launch),
               "clusters that run at once");
}

}  // namespace detail
#endif

// With the current device otherwise idle. The driver is asked once by each thread after a device
// was opened; works while a stream is captured. Without a GPU one cluster runs after the other.
// Clusters of more than eight blocks have the driver's leave from here on; on a device that runs
// none it is 0. `close_together`, the same in all calls of a kernel: several of a cluster's blocks
// may share a multiprocessor from here on, so that none is left without blocks where those come to
// no whole number of clusters; else each goes to one of its own.
inline Status clusters_at_once([[maybe_unused]] const void* kernel,
                               [[maybe_unused]] const LaunchConfig& config,
                               [[maybe_unused]] bool close_together, int* clusters) {
  *clusters = 1;
#if defined(__CUDACC__)
  using Question = std::tuple<const void*, int, unsigned, std::size_t, int>;
  thread_local std::map<Question, int> known;
  thread_local unsigned asked_after = 0;
  int device = 0;
  Status status = detail::check(cudaGetDevice(&device), "current device");
  if (!status.ok()) return status;
  if (const unsigned opened = detail::devices_opened; asked_after != opened) {
    known.clear();  // the driver may have forgotten its leave (launch_facts.hpp)
    asked_after = opened;
  }
  const Question question = {kernel, device, config.block.x, config.shared_bytes, config.cluster};
  if (const auto found = known.find(question); found != known.end()) {
    *clusters = found->second;
    return Status::success();
  }
  Status asked = detail::ask_clusters(kernel, config, close_together, clusters);
  if (asked.ok()) known.emplace(question, *clusters);
  return asked;
#else
  return Status::success();
#endif
}

}  // namespace KW_TARGET::gpu
