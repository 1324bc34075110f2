// What a host program asks of a device besides launching kernels: memory, copies, streams, events,
// graphs. One implementation for CUDA and HIP, one for host SIMT, one for the CPU.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "gpu/device.hpp"
#include "gpu/transfer.hpp"
#include "kernel.hpp"
#include "status.hpp"

namespace kw {

class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual const Device& device() const = 0;

  // Runs `work` with this device as the calling thread's current one, then restores the caller's.
  // The other functions here make it current and leave it so.
  virtual Status with_device(const std::function<Status()>& work) { return work(); }

  // Device memory, 256-byte aligned, never managed. Contents are undefined (NaN in host SIMT).
  virtual Status allocate(void** data, std::size_t bytes) = 0;
  virtual void release(void* data) noexcept = 0;
  // Between host and device or within the device; ordered on the stream; returns when done.
  virtual Status copy(void* to, const void* from, std::size_t bytes, Stream stream) = 0;
  // Every byte set to `value`; asynchronous on a GPU.
  virtual Status fill(void* data, unsigned char value, std::size_t bytes, Stream stream) = 0;

  virtual Status create_stream(Stream* stream) = 0;
  virtual void destroy_stream(Stream stream) noexcept = 0;
  virtual Status synchronize(Stream stream) = 0;

  // Device time of one `work(stream)` in microseconds: events on a GPU, steady_clock elsewhere.
  virtual Status time_us(const std::function<Status(Stream)>& work, Stream stream, double* us) = 0;

  // Captures `work(stream)` into a graph; replaying it has no launch latency between its nodes.
  // Where graphs do not exist (CPU, host SIMT) `supports_graphs` is false and capture fails.
  virtual bool supports_graphs() const { return false; }
  class Graph {
   public:
    virtual ~Graph() = default;
    virtual Status replay(Stream stream) = 0;
  };
  virtual Status capture(const std::function<Status(Stream)>& work, Stream stream,
                         std::unique_ptr<Graph>* graph);

  // Makes the launches of `work`, of a call that comes again with other arguments. `kept`, empty at
  // first, stays with the caller between such calls: a device on which many launches take the host
  // longer than one keeps them there as one. `work` may be called again, and on another stream.
  class KeptLaunches {
   public:
    virtual ~KeptLaunches() = default;
  };
  virtual Status launch_again(const std::function<Status(Stream)>& work, Stream stream,
                              std::unique_ptr<KeptLaunches>* kept);

  // Copies beside the products, of and to this device.
  virtual std::unique_ptr<Transfer> open_transfer() { return host_transfer(); }
};

}  // namespace kw
