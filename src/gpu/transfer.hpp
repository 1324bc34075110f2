// What moves data beside the products of a device: streams of copies, events that order them with
// other streams, other devices and other processes, copies from peers, pinned memory. In host
// memory everything has happened when a function returns, so events order nothing there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
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
  int from_process = 0;  // whose address `from` is; 0: this one's
};

// By which another process of this host opens memory of this one. Passed on as it is.
struct SharedMemory {
  unsigned char handle[64];
  std::uint64_t offset;
  std::int32_t process;
  std::int32_t is_shared;  // 0: no other process can open it
};

// A count in host memory that processes share, which streams set and wait for. It goes round at
// 2^32.
using Counter = std::atomic<std::uint32_t>;
inline bool has_reached(std::uint32_t count, std::uint32_t value) {
  return static_cast<std::int32_t>(count - value) >= 0;
}

// One a device. Every function makes the device the calling thread's current one.
class Transfer {
 public:
  virtual ~Transfer() = default;

  // A stream that waits for no other, the default one included.
  virtual Status create_channel(Stream* channel) = 0;
  virtual void destroy_channel(Stream channel) noexcept = 0;
  virtual Status create_event(Event* event) = 0;
  // For measurements. The time from one to another of the same device that have both passed.
  virtual Status create_timed_event(Event* event) = 0;
  virtual Status time_us(Event from, Event to, double* us) = 0;
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

  // Between processes. Host memory whose counters streams use, until it is closed: where it is that
  // of another process too, its streams order this one's. What a stream waits for then is no work
  // of a device but a number, so whoever learns that the other process is gone can end the wait.
  virtual Status open_counters(void* memory, std::size_t bytes) = 0;
  virtual void close_counters() noexcept = 0;
  // Once all is done that is on the stream now.
  virtual Status set(Stream stream, Counter& counter, std::uint32_t value) = 0;
  // What follows on the stream waits until the counter has reached the value.
  virtual Status wait(Stream stream, Counter& counter, std::uint32_t value) = 0;
  // Memory of this device for others to open; and memory of another process, as `from` of a copy
  // with the process that it sets. It stays open until `close_memory` and is opened once.
  virtual Status share_memory(const void* data, SharedMemory* shared) = 0;
  virtual Status open_memory(const SharedMemory& shared, CopyLines* from) = 0;
  // Of all that is open, after the copies of it.
  virtual void close_memory() noexcept = 0;

  // Host memory that copy engines reach.
  virtual Status allocate_pinned(void** data, std::size_t bytes) = 0;
  virtual void release_pinned(void* data) noexcept = 0;
};

// That of devices whose memory is the host's.
std::unique_ptr<Transfer> host_transfer();

}  // namespace kw
