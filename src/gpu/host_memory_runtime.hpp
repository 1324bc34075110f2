// What the CPU's and host SIMT's Runtime share: their device memory is the host's, and a launch has
// finished when it returns, so a stream has nothing to order.
#pragma once

#include <chrono>
#include <cstring>

#include "gpu/runtime.hpp"

namespace kw {

class HostMemoryRuntime : public Runtime {
 public:
  Status copy(void* to, const void* from, std::size_t bytes, Stream) final {
    if (bytes > 0) std::memmove(to, from, bytes);
    return Status::success();
  }
  Status fill(void* data, unsigned char value, std::size_t bytes, Stream) final {
    if (bytes > 0) std::memset(data, value, bytes);
    return Status::success();
  }

  Status create_stream(Stream* stream) final {
    *stream = {};
    return Status::success();
  }
  void destroy_stream(Stream) noexcept final {}
  Status synchronize(Stream) final { return Status::success(); }

  Status time_us(const std::function<Status(Stream)>& work, Stream stream, double* us) final {
    const auto begin = std::chrono::steady_clock::now();
    Status status = work(stream);
    const auto end = std::chrono::steady_clock::now();
    *us = std::chrono::duration<double, std::micro>(end - begin).count();
    return status;
  }
};

}  // namespace kw
