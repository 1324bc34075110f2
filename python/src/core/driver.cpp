// The driver's functions, by name.
#include "core/driver.hpp"

#include <dlfcn.h>

#include <atomic>

namespace kw::python {

namespace {

// Their names and numbers are the driver's; a status of 0 is success.
struct Driver {
  using Result = int;
  Result (*capture_info)(Stream, int* status, std::uint64_t* id, void** graph, const void***,
                         std::size_t*) = nullptr;
  Result (*exchange_capture_mode)(int* mode) = nullptr;
  Result (*create_user_object)(void** object, void* data, void (*destroy)(void*), unsigned count,
                               unsigned flags) = nullptr;
  Result (*retain_user_object)(void* graph, void* object, unsigned count, unsigned flags) = nullptr;
  Result (*synchronize)(Stream) = nullptr;
  Result (*current_device)(int* ordinal) = nullptr;
  Result (*pointer_attribute)(void* value, int attribute, std::uintptr_t address) = nullptr;
};

template <class Function>
void get(Function* function, void* library, const char* name) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
}

// Null where no libcuda is loaded yet; `library` is never closed, so the functions stay.
const Driver* find() {
  static std::atomic<const Driver*> kept{nullptr};
  const Driver* known = kept.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  auto* const made = new Driver;
  get(&made->capture_info, library, "cuStreamGetCaptureInfo_v2");
  get(&made->exchange_capture_mode, library, "cuThreadExchangeStreamCaptureMode");
  get(&made->create_user_object, library, "cuUserObjectCreate");
  get(&made->retain_user_object, library, "cuGraphRetainUserObject");
  get(&made->synchronize, library, "cuStreamSynchronize");
  get(&made->current_device, library, "cuCtxGetDevice");
  get(&made->pointer_attribute, library, "cuPointerGetAttribute");
  if (kept.compare_exchange_strong(known, made)) return made;
  delete made;
  return known;
}

void exchange(int* mode) {
  const Driver* const driver = find();
  if (driver != nullptr && driver->exchange_capture_mode != nullptr) {
    static_cast<void>(driver->exchange_capture_mode(mode));
  }
}

}  // namespace

// The default stream cannot be captured.
Capture capture_of(Stream stream) {
  constexpr int captures = 1;
  const Driver* const driver = stream == nullptr ? nullptr : find();
  if (driver == nullptr || driver->capture_info == nullptr) return {};
  int status = 0;
  Capture capture;
  if (driver->capture_info(stream, &status, &capture.id, &capture.graph, nullptr, nullptr) != 0 ||
      status != captures) {
    return {};
  }
  return capture;
}

AllocatesBesideCaptures::AllocatesBesideCaptures() { exchange(&mode_); }
AllocatesBesideCaptures::~AllocatesBesideCaptures() { exchange(&mode_); }

bool destroy_with_graph(void* graph, void* data, void (*destroy)(void*)) {
  constexpr unsigned no_destructor_sync = 1, move = 1;
  const Driver* const driver = find();
  if (driver == nullptr || !driver->create_user_object || !driver->retain_user_object) return false;
  void* object = nullptr;
  if (driver->create_user_object(&object, data, destroy, 1, no_destructor_sync) != 0) return false;
  // Moved: the graph owns the one reference. Where that fails the object and `data` are left alone.
  return driver->retain_user_object(graph, object, 1, move) == 0;
}

int device_of(const void* data) {
  constexpr int device_ordinal = 9;  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  const Driver* const driver = find();
  int ordinal = 0;
  if (driver == nullptr || driver->pointer_attribute == nullptr ||
      driver->pointer_attribute(&ordinal, device_ordinal, reinterpret_cast<std::uintptr_t>(data)) !=
          0) {
    return 0;
  }
  return ordinal;
}

// The runtime's device is that of the driver's current context.
int current_device() {
  const Driver* const driver = find();
  int ordinal = -1;
  if (driver == nullptr || driver->current_device == nullptr ||
      driver->current_device(&ordinal) != 0) {
    return -1;
  }
  return ordinal;
}

void wait_for(Stream stream) {
  const Driver* const driver = find();
  if (driver != nullptr && driver->synchronize != nullptr) {
    static_cast<void>(driver->synchronize(stream));
  }
}

}  // namespace kw::python
