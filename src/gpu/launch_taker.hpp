// One launch of a kernel, as whoever takes launches in the driver's place sees it: the launches of
// a call that comes again become one (kept_launches.hpp).
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "gpu/launch_record.hpp"
#include "status.hpp"

namespace kw::gpu {

struct LaunchRequest {
  const void* kernel = nullptr;
  LaunchShape shape = {};
  // As in LaunchConfig.
  bool overlap = false;
  int cluster = 1;
  bool together = false;
  // The address of each argument, and its bytes.
  void** arguments = nullptr;
  std::span<const std::size_t> argument_bytes = {};
};

class LaunchTaker {
 public:
  // `make` has the driver make the launch.
  virtual Status take(const LaunchRequest& launch, const std::function<Status()>& make) = 0;

 protected:
  ~LaunchTaker() = default;
};

// Who takes this thread's launches; null (the default): the driver makes them.
inline thread_local LaunchTaker* launch_taker = nullptr;

}  // namespace kw::gpu
