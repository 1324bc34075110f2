// A device whose memory is nearly full: all of it but a little is taken, as by other programs. For
// checks of what the library does then.
#pragma once

#include <cstddef>
#include <vector>

#include "check/workbench.hpp"

namespace kw::bench {

class MemoryPressure {
 public:
  // Leaves about so many bytes free; throws kw::Error where not even those are. Takes as many bytes
  // at a time as there are, from `largest_chunk` down to 64 KiB.
  MemoryPressure(Runtime& runtime, std::size_t free_bytes, std::size_t largest_chunk);

 private:
  std::vector<check::DeviceBuffer> taken_;
};

}  // namespace kw::bench
