// Lines of host memory to and from a device through two pinned buffers in turn: threads of the host
// copy into one while the copy engine empties the other.
#pragma once

#include <cstddef>

#include "gpu/runtime.hpp"

namespace kw::distributed {

// `height` lines of `width` bytes in host memory, `pitch` bytes apart.
struct HostLines {
  unsigned char* data = nullptr;
  std::size_t pitch = 0, width = 0, height = 0;
};

// One direction; only one thread at a time uses it.
class Staging {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{64} << 20;

  Staging(Runtime& runtime, Transfer& transfer, Stream channel);
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();  // after the channel's work

  // Buffers of at most `buffer_bytes`, for lines of at most `line_bytes`.
  Status open(std::size_t most_bytes, std::size_t line_bytes);

  // Lines are dense on the device. The first returns when the last copy is on the channel, the
  // second when the lines are in host memory.
  Status to_device(const HostLines& host, void* device);
  Status to_host(const void* device, const HostLines& host);

  Stream channel() const { return channel_; }

 private:
  struct Buffer {
    void* data = nullptr;
    Event done;
    bool has_event = false;
  };
  Status wait(const Buffer& buffer);
  CopyLines engine_copy(void* to, bool to_device, const void* from, std::size_t bytes) const;
  std::size_t lines_a_buffer(std::size_t width) const { return bytes_ / width; }

  Runtime& runtime_;
  Transfer& transfer_;
  Stream channel_;
  std::size_t bytes_ = 0;
  Buffer buffers_[2];
  int next_ = 0;
};

}  // namespace kw::distributed
