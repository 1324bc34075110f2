// A stand-in for libcuda: a current device, captures as tests say them, and copies within host
// memory, which is the device's.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "stand_in.hpp"

namespace {

struct Object {
  void* data;
  void (*destroy)(void*);
};

struct State {
  std::mutex mutex;
  std::map<void*, std::uint64_t> capturing;  // stream to capture; 0: broken
  std::map<std::uint64_t, std::vector<Object*>> graphs;
};
// As the driver, which a child of fork may ask. Its lock is nobody's there.
State& state() {
  static auto* const made = new State;
  static const int watched = pthread_atfork(
      [] { made->mutex.lock(); }, [] { made->mutex.unlock(); }, [] { made->mutex.unlock(); });
  static_cast<void>(watched);
  return *made;
}

std::mutex destructors;
std::atomic<bool> destroys{false};
std::atomic<int> device{0};
std::atomic<long> allocations{0};

void* as_graph(std::uint64_t id) { return reinterpret_cast<void*>(id); }

}  // namespace

extern "C" {

void stand_in_set_device(int ordinal) { device = ordinal; }
void stand_in_begin_capture(void* stream, std::uint64_t id) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().capturing[stream] = id;
}
void stand_in_end_capture(void* stream) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().capturing.erase(stream);
}
void stand_in_break_capture(void* stream) { stand_in_begin_capture(stream, 0); }
// As a driver may, this lets nobody else into the driver while destructors run: one that waits for
// a thread which calls the driver waits for ever.
int stand_in_destroy_graph(std::uint64_t id) {
  std::vector<Object*> objects;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    objects.swap(state().graphs[id]);
    state().graphs.erase(id);
  }
  const std::lock_guard<std::mutex> destruction(destructors);
  destroys = true;
  std::this_thread::sleep_for(std::chrono::microseconds(200));  // others come to wait
  for (Object* object : objects) {
    object->destroy(object->data);
    delete object;
  }
  destroys = false;
  return static_cast<int>(objects.size());
}
long stand_in_allocations() { return allocations; }

int cuCtxGetDevice(int* ordinal) { return *ordinal = device, 0; }
int cuStreamGetCaptureInfo_v2(void* stream, int* status, std::uint64_t* id, void** graph,
                              const void***, std::size_t*) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  const auto found = state().capturing.find(stream);
  *status = found == state().capturing.end() ? 0 : found->second == 0 ? 2 : 1;
  if (*status == 0) return 0;
  *id = found->second;
  *graph = as_graph(found->second);
  return 0;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  if (destroys) const std::lock_guard<std::mutex> wait(destructors);
  static thread_local int current = 0;
  std::swap(*mode, current);
  return 0;
}
int cuUserObjectCreate(void** object, void* data, void (*destroy)(void*), unsigned, unsigned) {
  return *object = new Object{data, destroy}, 0;
}
int cuGraphRetainUserObject(void* graph, void* object, unsigned, unsigned) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().graphs[reinterpret_cast<std::uint64_t>(graph)].push_back(static_cast<Object*>(object));
  return 0;
}
int cuStreamSynchronize(void*) { return 0; }
int cuMemAlloc_v2(std::uintptr_t* address, std::size_t bytes) {
  *address = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
  ++allocations;
  return 0;
}
int cuMemFree_v2(std::uintptr_t address) {
  std::free(reinterpret_cast<void*>(address));
  --allocations;
  return 0;
}
int cuMemcpyDtoH_v2(void* to, std::uintptr_t from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), 0;
}
int cuMemcpyDtoD_v2(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  return cuMemcpyDtoH_v2(reinterpret_cast<void*>(to), from, bytes);
}

// CUDA_MEMCPY2D, as cuda.h has it.
struct Side {
  std::size_t x, y;
  int memory;
  const void* host;
  std::uintptr_t device;
  void* array;
  std::size_t pitch;
};
struct Copy2d {
  Side from, to;
  std::size_t width, height;
};
int cuMemcpy2D_v2(const Copy2d* copy) {
  constexpr int host = 1, on_device = 2;
  if (copy->from.memory != on_device || copy->to.memory != host) return 1;
  for (std::size_t line = 0; line < copy->height; ++line) {
    const auto* const from = reinterpret_cast<const char*>(copy->from.device);
    auto* const to = static_cast<char*>(const_cast<void*>(copy->to.host));
    std::memcpy(to + line * copy->to.pitch, from + line * copy->from.pitch, copy->width);
  }
  return 0;
}
}
