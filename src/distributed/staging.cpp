// Pinned buffers in turn.
#include "distributed/staging.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace kw::distributed {

namespace {

constexpr std::size_t bytes_a_thread = std::size_t{4} << 20;

void copy_some(unsigned char* to, std::size_t to_pitch, const unsigned char* from,
               std::size_t from_pitch, std::size_t width, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i) {
    std::memcpy(to + i * to_pitch, from + i * from_pitch, width);
  }
}

// One thread does not reach what the host's memory does.
void copy_lines(unsigned char* to, std::size_t to_pitch, const unsigned char* from,
                std::size_t from_pitch, std::size_t width, std::size_t lines) {
  const std::size_t most = std::clamp(std::thread::hardware_concurrency() / 3, 1u, 8u);
  const std::size_t count =
      std::clamp<std::size_t>(std::min(width * lines / bytes_a_thread, lines), 1, most);
  const std::size_t each = (lines + count - 1) / count;
  std::vector<std::thread> threads;
  for (std::size_t begin = each; begin < lines; begin += each) {
    threads.emplace_back(copy_some, to + begin * to_pitch, to_pitch, from + begin * from_pitch,
                         from_pitch, width, std::min(each, lines - begin));
  }
  copy_some(to, to_pitch, from, from_pitch, width, std::min(each, lines));
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

Staging::Staging(Runtime& runtime, Transfer& transfer, Stream channel)
    : runtime_(runtime), transfer_(transfer), channel_(channel) {}

Staging::~Staging() {
  for (Buffer& buffer : buffers_) {
    if (buffer.data != nullptr) transfer_.release_pinned(buffer.data);
    if (buffer.has_event) transfer_.destroy_event(buffer.done);
  }
}

Status Staging::open(std::size_t most_bytes, std::size_t line_bytes) {
  bytes_ = std::max(std::min(buffer_bytes, most_bytes), line_bytes);
  for (Buffer& buffer : buffers_) {
    Status status = transfer_.create_event(&buffer.done);
    buffer.has_event = status.ok();
    if (status.ok()) status = transfer_.allocate_pinned(&buffer.data, bytes_);
    if (!status.ok()) return status;
  }
  return Status::success();
}

// An event that was never recorded has passed.
Status Staging::wait(const Buffer& buffer) {
  for (bool passed = false;;) {
    Status status = transfer_.has_passed(buffer.done, &passed);
    if (!status.ok() || passed) return status;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

CopyLines Staging::engine_copy(void* to, bool to_device, const void* from,
                               std::size_t bytes) const {
  const int device = runtime_.device().ordinal;
  return {to, bytes, to_device ? device : -1, from, bytes, to_device ? -1 : device, bytes, 1};
}

Status Staging::to_device(const HostLines& host, void* device) {
  auto* to = static_cast<unsigned char*>(device);
  const std::size_t most = lines_a_buffer(host.width);
  for (std::size_t line = 0; line < host.height; line += most) {
    const std::size_t lines = std::min(most, host.height - line);
    Buffer& buffer = buffers_[next_];
    next_ = 1 - next_;
    Status status = wait(buffer);
    if (!status.ok()) return status;
    copy_lines(static_cast<unsigned char*>(buffer.data), host.width, host.data + line * host.pitch,
               host.pitch, host.width, lines);
    status = transfer_.copy(
        engine_copy(to + line * host.width, true, buffer.data, lines * host.width), channel_);
    if (status.ok()) status = transfer_.record(buffer.done, channel_);
    if (!status.ok()) return status;
  }
  return Status::success();
}

Status Staging::to_host(const void* device, const HostLines& host) {
  const auto* from = static_cast<const unsigned char*>(device);
  const std::size_t most = lines_a_buffer(host.width);
  const auto begin = [&](std::size_t line, const Buffer& buffer) {
    const std::size_t bytes = std::min(most, host.height - line) * host.width;
    Status status =
        transfer_.copy(engine_copy(buffer.data, false, from + line * host.width, bytes), channel_);
    return status.ok() ? transfer_.record(buffer.done, channel_) : status;
  };
  if (host.height == 0) return Status::success();
  Status status = begin(0, buffers_[0]);
  for (std::size_t line = 0, turn = 0; status.ok() && line < host.height; line += most, ++turn) {
    if (line + most < host.height) status = begin(line + most, buffers_[(turn + 1) % 2]);
    if (status.ok()) status = wait(buffers_[turn % 2]);
    if (!status.ok()) return status;
    copy_lines(host.data + line * host.pitch, host.pitch,
               static_cast<const unsigned char*>(buffers_[turn % 2].data), host.width, host.width,
               std::min(most, host.height - line));
  }
  return status;
}

}  // namespace kw::distributed
