// Makes a device's caches forget: reads so much else that nothing of what they held is left. Reads,
// as written lines would have to be written back during the timed call.
#pragma once

#include "check/workbench.hpp"

namespace kw::bench {

class CacheFlush {
 public:
  explicit CacheFlush(check::Workbench& bench);

  // Asynchronous on a GPU, ordered on the stream.
  Status run(Stream stream) const;

 private:
  const Device& device_;
  check::DeviceBuffer buffer_, sink_;
};

}  // namespace kw::bench
