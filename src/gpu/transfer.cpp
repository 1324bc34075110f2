// Copies where a device's memory is the host's, also that of another process.
#include "gpu/transfer.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>

#include "text.hpp"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

// Line by line, many a call of the system.
Status copy_from_process(const CopyLines& c) {
  constexpr std::size_t most = 512;  // of lines a call
  iovec to[most], from[most];
  for (std::size_t done = 0; done < c.height;) {
    const std::size_t lines = std::min(most, c.height - done);
    for (std::size_t i = 0; i < lines; ++i) {
      to[i] = {static_cast<unsigned char*>(c.to) + (done + i) * c.to_pitch, c.width};
      from[i] = {static_cast<unsigned char*>(const_cast<void*>(c.from)) + (done + i) * c.from_pitch,
                 c.width};
    }
    const ssize_t bytes = process_vm_readv(c.from_process, to, lines, from, lines, 0);
    // It may end early, after whole lines or within one.
    if (bytes <= 0) {
      return Status::failure(
          StatusCode::device_error,
          text("cannot read memory of process ", c.from_process, ": ", std::strerror(errno),
               " (ranks need the same user, and a system that lets processes read each other)"));
    }
    const std::size_t whole = static_cast<std::size_t>(bytes) / c.width;
    if (whole == 0) {
      CopyLines rest = c;
      rest.to = static_cast<unsigned char*>(c.to) + done * c.to_pitch + bytes;
      rest.from = static_cast<const unsigned char*>(c.from) + done * c.from_pitch + bytes;
      rest.width = c.width - static_cast<std::size_t>(bytes);
      rest.height = 1;
      Status status = copy_from_process(rest);
      if (!status.ok()) return status;
      ++done;
    }
    done += whole;
  }
  return Status::success();
}

class HostTransfer final : public Transfer {
 public:
  Status create_channel(Stream* channel) override {
    *channel = {};
    return Status::success();
  }
  void destroy_channel(Stream) noexcept override {}
  Status create_event(Event* event) override {
    *event = {};
    return Status::success();
  }
  // A timed one has the time at which it was recorded.
  Status create_timed_event(Event* event) override {
    event->handle = new Clock::time_point;
    return Status::success();
  }
  Status time_us(Event from, Event to, double* us) override {
    const std::chrono::duration<double, std::micro> between =
        *static_cast<Clock::time_point*>(to.handle) - *static_cast<Clock::time_point*>(from.handle);
    *us = between.count();
    return Status::success();
  }
  void destroy_event(Event event) noexcept override {
    delete static_cast<Clock::time_point*>(event.handle);
  }
  Status record(Event event, Stream) override {
    if (event.handle != nullptr) *static_cast<Clock::time_point*>(event.handle) = Clock::now();
    return Status::success();
  }
  Status wait(Stream, Event) override { return Status::success(); }
  Status has_passed(Event, bool* passed) override {
    *passed = true;
    return Status::success();
  }
  Status open_peer(int) override { return Status::success(); }
  Status copy(const CopyLines& c, Stream) override {
    auto* to = static_cast<unsigned char*>(c.to);
    const auto* from = static_cast<const unsigned char*>(c.from);
    if (c.width == 0) return Status::success();
    if (c.from_process != 0) return copy_from_process(c);
    for (std::size_t i = 0; i < c.height; ++i) {
      std::memcpy(to + i * c.to_pitch, from + i * c.from_pitch, c.width);
    }
    return Status::success();
  }
  Status open_counters(void*, std::size_t) override { return Status::success(); }
  void close_counters() noexcept override {}
  Status set(Stream, Counter& counter, std::uint32_t value) override {
    counter.store(value, std::memory_order_release);
    return Status::success();
  }
  Status wait(Stream, Counter& counter, std::uint32_t value) override {
    if (has_reached(counter.load(std::memory_order_acquire), value)) return Status::success();
    return Status::failure(StatusCode::internal_error,
                           "what a rank is to wait for was not done when the ranks had met");
  }
  // An address, and leave to read it.
  Status share_memory(const void* data, SharedMemory* shared) override {
    *shared = {};
    shared->offset = reinterpret_cast<std::uintptr_t>(data);
    shared->process = getpid();
    shared->is_shared = 1;
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // where the system asks for it
    return Status::success();
  }
  Status open_memory(const SharedMemory& shared, CopyLines* from) override {
    from->from = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(shared.offset));
    from->from_process = shared.process;
    return Status::success();
  }
  void close_memory() noexcept override {}
  Status allocate_pinned(void** data, std::size_t bytes) override {
    *data = ::operator new (bytes, std::align_val_t{256}, std::nothrow);
    if (*data != nullptr) return Status::success();
    return Status::failure(StatusCode::out_of_memory,
                           "no " + std::to_string(bytes) + " bytes of host memory to be had");
  }
  void release_pinned(void* data) noexcept override {
    ::operator delete (data, std::align_val_t{256});
  }
};

}  // namespace

std::unique_ptr<Transfer> host_transfer() { return std::make_unique<HostTransfer>(); }

}  // namespace kw
