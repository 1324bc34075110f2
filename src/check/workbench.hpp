// A device made ready for checking: its runtime, one stream, the tools that run there, tickets for
// launches, and memory that frees itself. What goes wrong here is thrown as kw::Error, for whoever
// asked for the check.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "check/reduce/tools.hpp"
#include "check/tools.hpp"
#include "gpu/runtime.hpp"

namespace kw::check {

inline void require(const Status& status) {
  if (!status.ok()) throw Error(status.code, status.argument, status.message);
}

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // An empty buffer still owns a few bytes, so that its address is one of the device's.
  DeviceBuffer(Runtime& runtime, std::size_t bytes) : runtime_(&runtime), bytes_(bytes) {
    require(runtime.allocate(&data_, bytes > 0 ? bytes : 4));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() {
    if (data_ != nullptr) runtime_->release(data_);
  }

  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  Runtime* runtime_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class Workbench {
 public:
  explicit Workbench(Runtime& runtime)
      : runtime_(runtime),
        tools_(tools_for(runtime.device())),
        reduce_tools_(reduce_tools_for(runtime.device())),
        partials_(runtime, partial_count * sizeof(Partial)),
        tickets_(runtime, ticket_count * sizeof(unsigned)) {
    require(runtime.create_stream(&stream_));
    require(clear_tickets());
    synchronize();
  }
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;
  ~Workbench() { runtime_.destroy_stream(stream_); }

  Runtime& runtime() { return runtime_; }
  const Device& device() const { return runtime_.device(); }
  const Tools& tools() const { return tools_; }
  const ReduceTools& reduce_tools() const { return reduce_tools_; }
  Stream stream() const { return stream_; }
  void synchronize() { require(runtime_.synchronize(stream_)); }

  // ticket_count counters for the Workspace of every launch, zero between launches.
  unsigned* tickets() const { return tickets_.as<unsigned>(); }
  Status clear_tickets() { return runtime_.fill(tickets_.data(), 0, tickets_.bytes(), stream_); }
  // Empty where all are zero, else a sentence; they are zero again afterwards.
  std::string find_left_ticket() {
    std::vector<unsigned> left(ticket_count);
    require(runtime_.copy(left.data(), tickets_.data(), tickets_.bytes(), stream_));
    const auto found = std::find_if(left.begin(), left.end(), [](unsigned t) { return t != 0; });
    if (found == left.end()) return {};
    require(clear_tickets());
    return "left ticket " + std::to_string(found - left.begin()) + " at " + std::to_string(*found);
  }

  // Runs a judge over all of its elements.
  template <class Judge>
  Partial find(Status (*run)(const Judge&, Partial*, Stream), const Judge& judge) {
    std::vector<Partial> partials(partial_count);
    require(run(judge, partials_.as<Partial>(), stream_));
    require(runtime_.copy(partials.data(), partials_.data(), partials_.bytes(), stream_));
    Partial found = empty_partial();
    for (const Partial& partial : partials) merge(found, partial);
    return found;
  }

  template <class T>
  T read(const T* from) {
    T value;
    require(runtime_.copy(&value, from, sizeof(T), stream_));
    return value;
  }

 private:
  Runtime& runtime_;
  const Tools& tools_;
  const ReduceTools& reduce_tools_;
  DeviceBuffer partials_;
  DeviceBuffer tickets_;
  Stream stream_;
};

}  // namespace kw::check
