// What moves data beside the products of a device: streams of copies, events that order them with
// other streams and other devices, copies from peers, pinned memory. In host memory everything has
// happened when a function returns, so events order nothing there.
#pragma once

#include <cstddef>
#include <memory>

#include "kernel.hpp"
#include "status.hpp"

namespace kw {

// A place in a stream that other streams, also of other devices, can wait for.
struct Event {
  void* handle = nullptr;
};

// `height` lines of `width` bytes, `from_pitch` and `to_pitch` bytes apart. A device of -1 is the
// host.
struct CopyLines {
  void* to = nullptr;
  std::size_t to_pitch = 0;
  int to_device = 0;
  const void* from = nullptr;
  std::size_t from_pitch = 0;
  int from_device = 0;
  std::size_t width = 0, height = 0;
};

// One a device. Every function makes the device the calling thread's current one.
class Transfer {
 public:
  virtual ~Transfer() = default;

  // A stream that waits for no other, the default one included.
  virtual Status create_channel(Stream* channel) = 0;
  virtual void destroy_channel(Stream channel) noexcept = 0;
  virtual Status create_event(Event* event) = 0;
  virtual void destroy_event(Event event) noexcept = 0;
  // The event stands for what is on the stream now; who was told to wait for what it stood for
  // before, still waits for that.
  virtual Status record(Event event, Stream stream) = 0;
  virtual Status wait(Stream stream, Event event) = 0;
  // Whether all that the event stands for has happened. An error is that of any work before it.
  virtual Status has_passed(Event event, bool* passed) = 0;

  // Lets the device read the other's memory directly where the machine can do that. Where it can't,
  // copies go through the host.
  virtual Status open_peer(int ordinal) = 0;
  virtual Status copy(const CopyLines& lines, Stream channel) = 0;

  // Host memory that copy engines reach.
  virtual Status allocate_pinned(void** data, std::size_t bytes) = 0;
  virtual void release_pinned(void* data) noexcept = 0;
};

// That of devices whose memory is the host's.
std::unique_ptr<Transfer> host_transfer();

}  // namespace kw
