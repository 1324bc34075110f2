// The shape of the launches that a kernel made, for whoever asks: result rows carry it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kw::gpu {

struct LaunchShape {
  std::int64_t grid[3] = {0, 0, 0};
  int block[3] = {0, 0, 0};
  std::size_t shared_bytes = 0;  // dynamic
  int launches = 0;              // since the recorder was set; the shape is the last one's
};

// Where this thread's launches are noted; null (the default) notes nothing.
inline thread_local LaunchShape* launch_recorder = nullptr;

}  // namespace kw::gpu
