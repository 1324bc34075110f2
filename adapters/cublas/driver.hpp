// The few functions of the CUDA driver that tell which device a call is for and whether its stream
// captures. They are taken from the libcuda.so.1 that the program has loaded: the adapter links
// neither the driver nor a CUDA runtime, and so works with whatever version of them is there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi.hpp"

namespace kw::cublas {

struct Driver {
  // Their names and numbers are the driver's; a status of 0 is success.
  using Result = int;
  Result (*current_device)(int* ordinal) = nullptr;
  Result (*capture_info)(Stream, int* status, std::uint64_t* id, void** graph, const void***,
                         std::size_t*) = nullptr;
  Result (*exchange_capture_mode)(int* mode) = nullptr;
  Result (*create_user_object)(void** object, void* data, void (*destroy)(void*), unsigned count,
                               unsigned flags) = nullptr;
  Result (*retain_user_object)(void* graph, void* object, unsigned count, unsigned flags) = nullptr;
  // For --verify alone.
  Result (*synchronize)(Stream) = nullptr;
  Result (*allocate)(std::uintptr_t* address, std::size_t bytes) = nullptr;
  Result (*release)(std::uintptr_t address) = nullptr;
  Result (*copy_to_host)(void* to, std::uintptr_t from, std::size_t bytes) = nullptr;
  Result (*copy)(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) = nullptr;
  Result (*copy_2d)(const void* description) = nullptr;

  bool knows_captures() const { return current_device != nullptr && capture_info != nullptr; }
  bool keeps_with_graphs() const { return create_user_object && retain_user_object; }
  bool copies() const {
    return synchronize && allocate && release && copy_to_host && copy && copy_2d;
  }
  // `count` floats, `step` bytes apart.
  bool copy_spaced_to_host(std::uintptr_t from, std::size_t step, std::size_t count,
                           float* to) const;
};

const Driver& driver();

// A stream's capture: its number, 0 where it does not capture, and the graph so far.
struct Capture {
  std::uint64_t id = 0;
  void* graph = nullptr;
  bool known = false;  // false: the driver would not say, or the capture is broken
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

// Calls `destroy(data)` once the graph and all that was instantiated from it are gone.
bool destroy_with_graph(void* graph, void* data, void (*destroy)(void*));

}  // namespace kw::cublas
