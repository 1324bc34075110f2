// The few functions of the CUDA driver that tell whether a stream captures. They are taken from the
// libcuda.so.1 that the process has loaded: the package links neither the driver nor a CUDA
// runtime.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kw::python {

using Stream = void*;  // a cudaStream_t; null is the default stream

// A stream's capture: its number, 0 where it does not capture, and the graph so far.
struct Capture {
  std::uint64_t id = 0;
  void* graph = nullptr;
};
Capture capture_of(Stream stream);

// While it lives this thread may allocate although a stream of some thread captures.
class AllocatesBesideCaptures {
 public:
  AllocatesBesideCaptures();
  ~AllocatesBesideCaptures();
  AllocatesBesideCaptures(const AllocatesBesideCaptures&) = delete;
  AllocatesBesideCaptures& operator=(const AllocatesBesideCaptures&) = delete;

 private:
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED; then that of before
};

// Calls `destroy(data)` once the graph and all that was instantiated from it are gone. False: it
// never will.
bool destroy_with_graph(void* graph, void* data, void (*destroy)(void*));

// The GPU whose memory this is; 0 where the driver does not know.
int device_of(const void* data);

// The GPU on which this thread works by CUDA's runtime; -1 where none is known.
int current_device();

// Waits for what is in the stream.
void wait_for(Stream stream);

}  // namespace kw::python
