// The driver's functions, by name.
#include "driver.hpp"

#include <dlfcn.h>

#include <atomic>

#include "vendor.hpp"

namespace kw::cublas {

namespace {

constexpr int captures_nothing = 0, captures = 1;

template <class Function>
void get(Function* function, void* library, const char* name) {
  *function = reinterpret_cast<Function>(real_dlsym()(library, name));
}

Driver find() {
  Driver found;
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return found;
  get(&found.current_device, library, "cuCtxGetDevice");
  get(&found.capture_info, library, "cuStreamGetCaptureInfo_v2");
  get(&found.exchange_capture_mode, library, "cuThreadExchangeStreamCaptureMode");
  get(&found.create_user_object, library, "cuUserObjectCreate");
  get(&found.retain_user_object, library, "cuGraphRetainUserObject");
  get(&found.synchronize, library, "cuStreamSynchronize");
  get(&found.allocate, library, "cuMemAlloc_v2");
  get(&found.release, library, "cuMemFree_v2");
  get(&found.copy_to_host, library, "cuMemcpyDtoH_v2");
  get(&found.copy, library, "cuMemcpyDtoD_v2");
  get(&found.copy_2d, library, "cuMemcpy2D_v2");
  return found;  // `library` is never closed, so the functions stay
}

}  // namespace

const Driver& driver() {
  static const Driver none;
  static std::atomic<const Driver*> kept{nullptr};
  const Driver* known = kept.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  const Driver found = find();
  if (!found.knows_captures()) return none;  // it may be loaded later
  const Driver* const made = new Driver(found);
  if (kept.compare_exchange_strong(known, made)) return *made;
  delete made;
  return *known;
}

bool Driver::copy_spaced_to_host(std::uintptr_t from, std::size_t step, std::size_t count,
                                 float* to) const {
  // CUDA_MEMCPY2D: of each line of `step` bytes the first float.
  struct Side {
    std::size_t x = 0, y = 0;
    int memory = 0;
    const void* host = nullptr;
    std::uintptr_t device = 0;
    void* array = nullptr;
    std::size_t pitch = 0;
  };
  constexpr int host_memory = 1, device_memory = 2;
  const struct {
    Side from, to;
    std::size_t width, height;
  } description = {{0, 0, device_memory, nullptr, from, nullptr, step},
                   {0, 0, host_memory, to, 0, nullptr, sizeof(float)},
                   sizeof(float),
                   count};
  return copy_2d(&description) == 0;
}

Capture capture_of(Stream stream) {
  int status = captures_nothing;
  Capture capture;
  if (!driver().knows_captures()) return {};
  if (driver().capture_info(stream, &status, &capture.id, &capture.graph, nullptr, nullptr) != 0) {
    return {};
  }
  if (status == captures_nothing) return {0, nullptr, true};
  capture.known = status == captures;
  return capture;
}

AllocatesBesideCaptures::AllocatesBesideCaptures() {
  if (driver().exchange_capture_mode != nullptr) driver().exchange_capture_mode(&mode_);
}
AllocatesBesideCaptures::~AllocatesBesideCaptures() {
  if (driver().exchange_capture_mode != nullptr) driver().exchange_capture_mode(&mode_);
}

bool destroy_with_graph(void* graph, void* data, void (*destroy)(void*)) {
  constexpr unsigned no_destructor_sync = 1, move = 1;
  void* object = nullptr;
  if (driver().create_user_object(&object, data, destroy, 1, no_destructor_sync) != 0) return false;
  // Moved: the graph owns the one reference. Where that fails the object and `data` are left alone.
  return driver().retain_user_object(graph, object, 1, move) == 0;
}

}  // namespace kw::cublas
