// Copies by the copy engines of GPUs, the events that order them, and the counters that do so
// between processes.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "gpu/gpu_api.hpp"
#include "gpu/transfer_gpu.hpp"
#include "text.hpp"

#if defined(__CUDACC__)
#pragma nv_diag_suppress 2810  // nvcc takes `status = f()` for a Status thrown away
#endif

namespace KW_TARGET {
namespace {

using KW_TARGET::native;  // of streams
KW_GPU_API(Event_t) native(Event event) { return static_cast<KW_GPU_API(Event_t)>(event.handle); }

bool is_one_line(const CopyLines& c) {
  return c.height == 1 || (c.width == c.to_pitch && c.width == c.from_pitch);
}

// Between two devices, also where neither reaches the other.
Error copy_between(const CopyLines& c, KW_GPU_API(Stream_t) stream) {
  if (is_one_line(c)) {
    return KW_GPU_API(MemcpyPeerAsync)(c.to, c.to_device, c.from, c.from_device, c.width * c.height,
                                       stream);
  }
#if defined(__CUDACC__)
  cudaMemcpy3DPeerParms params = {};
  params.srcDevice = c.from_device;
  params.srcPtr = make_cudaPitchedPtr(const_cast<void*>(c.from), c.from_pitch, c.width, c.height);
  params.dstDevice = c.to_device;
  params.dstPtr = make_cudaPitchedPtr(c.to, c.to_pitch, c.width, c.height);
  params.extent = make_cudaExtent(c.width, c.height, 1);
  return cudaMemcpy3DPeerAsync(&params, stream);
#else
  return hipMemcpy2DAsync(c.to, c.to_pitch, c.from, c.from_pitch, c.width, c.height,
                          hipMemcpyDefault, stream);
#endif
}

#if defined(__CUDACC__)
// Of the driver, which is not linked. Null where it has none of the name.
template <class Function>
Function driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  if (cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result) !=
          cudaSuccess ||
      result != cudaDriverEntryPointSuccess) {
    return nullptr;
  }
  return reinterpret_cast<Function>(found);
}

// cuStreamWriteValue32, cuStreamWaitValue32. Flags of 0: what was done before is seen by all, and
// counts go round.
Status on_counter(const char* name, cudaStream_t stream, void* counter, std::uint32_t value) {
  using Function = int (*)(cudaStream_t, unsigned long long, std::uint32_t, unsigned);
  const auto function = driver_function<Function>(name);
  const int error = function == nullptr
                        ? -1
                        : function(stream, reinterpret_cast<unsigned long long>(counter), value, 0);
  if (error == 0) return Status::success();
  return Status::failure(StatusCode::device_error, text(name, ": driver error ", error));
}
#endif

// Where the allocation begins that `data` lies in.
bool find_base(const void* data, const void** base) {
#if defined(__CUDACC__)
  using Find = int (*)(void**, std::size_t*, const void*);
  const auto find = driver_function<Find>("cuMemGetAddressRange");
  void* found = nullptr;
  std::size_t bytes = 0;
  if (find == nullptr || find(&found, &bytes, data) != 0) return false;
#else
  void* found = nullptr;
  std::size_t bytes = 0;
  if (hipMemGetAddressRange(&found, &bytes, const_cast<void*>(data)) != hipSuccess) return false;
#endif
  *base = found;
  return true;
}

class GpuTransfer final : public Transfer {
 public:
  explicit GpuTransfer(int ordinal) : ordinal_(ordinal) {}

  Status create_channel(Stream* channel) override {
    return on_device([&] {
      KW_GPU_API(Stream_t) made = nullptr;
      Status status = check(KW_GPU_API(StreamCreateWithFlags)(&made, KW_GPU_API(StreamNonBlocking)),
                            "stream creation");
      channel->handle = made;
      return status;
    });
  }
  void destroy_channel(Stream channel) noexcept override {
    (void)KW_GPU_API(SetDevice)(ordinal_);
    (void)KW_GPU_API(StreamDestroy)(native(channel));
  }
  Status create_event(Event* event) override {
    return on_device([&] {
      KW_GPU_API(Event_t) made = nullptr;
      Status status = check(KW_GPU_API(EventCreateWithFlags)(&made, KW_GPU_API(EventDisableTiming)),
                            "event creation");
      event->handle = made;
      return status;
    });
  }
  Status create_timed_event(Event* event) override {
    return on_device([&] {
      KW_GPU_API(Event_t) made = nullptr;
      Status status = check(KW_GPU_API(EventCreate)(&made), "event creation");
      event->handle = made;
      return status;
    });
  }
  Status time_us(Event from, Event to, double* us) override {
    return on_device([&] {
      float ms = 0;
      Status status =
          check(KW_GPU_API(EventElapsedTime)(&ms, native(from), native(to)), "event times");
      *us = 1e3 * static_cast<double>(ms);
      return status;
    });
  }
  void destroy_event(Event event) noexcept override {
    (void)KW_GPU_API(SetDevice)(ordinal_);
    (void)KW_GPU_API(EventDestroy)(native(event));
  }
  Status record(Event event, Stream stream) override {
    return on_device([&] {
      return check(KW_GPU_API(EventRecord)(native(event), native(stream)), "event record");
    });
  }
  Status wait(Stream stream, Event event) override {
    return on_device([&] {
      return check(KW_GPU_API(StreamWaitEvent)(native(stream), native(event), 0), "event wait");
    });
  }
  Status has_passed(Event event, bool* passed) override {
    return on_device([&] {
      const Error error = KW_GPU_API(EventQuery)(native(event));
      *passed = error == success;
      if (error != KW_GPU_API(ErrorNotReady)) return check(error, "work on the device");
      (void)KW_GPU_API(GetLastError)();
      return Status::success();
    });
  }

  Status open_peer(int ordinal) override {
    if (ordinal == ordinal_) return Status::success();
    return on_device([&] {
      int can = 0;
      Status status =
          check(KW_GPU_API(DeviceCanAccessPeer)(&can, ordinal_, ordinal), "peer access");
      if (!status.ok() || can == 0) return status;
      const Error error = KW_GPU_API(DeviceEnablePeerAccess)(ordinal, 0);
      if (error != KW_GPU_API(ErrorPeerAccessAlreadyEnabled)) return check(error, "peer access");
      (void)KW_GPU_API(GetLastError)();
      return Status::success();
    });
  }
  Status copy(const CopyLines& c, Stream channel) override {
    if (c.width == 0 || c.height == 0) return Status::success();
    return on_device([&] {
      if (c.to_device >= 0 && c.from_device >= 0 && c.to_device != c.from_device) {
        return check(copy_between(c, native(channel)), "copy between devices");
      }
      const Error error =
          is_one_line(c)
              ? KW_GPU_API(MemcpyAsync)(c.to, c.from, c.width * c.height, KW_GPU_API(MemcpyDefault),
                                        native(channel))
              : KW_GPU_API(Memcpy2DAsync)(c.to, c.to_pitch, c.from, c.from_pitch, c.width, c.height,
                                          KW_GPU_API(MemcpyDefault), native(channel));
      return check(error, "copy");
    });
  }

  Status open_counters(void* memory, std::size_t bytes) override {
    return on_device([&] {
      Status status = check(
          KW_GPU_API(HostRegister)(
              memory, bytes, KW_GPU_API(HostRegisterMapped) | KW_GPU_API(HostRegisterPortable)),
          "registration of memory that processes share");
      if (!status.ok()) return status;
      counters_ = static_cast<char*>(memory);
      void* found = nullptr;
      status = check(KW_GPU_API(HostGetDevicePointer)(&found, memory, 0), "address of counters");
      device_counters_ = static_cast<char*>(found);
      return status;
    });
  }
  void close_counters() noexcept override {
    if (counters_ == nullptr) return;
    (void)KW_GPU_API(SetDevice)(ordinal_);
    (void)KW_GPU_API(HostUnregister)(counters_);
    counters_ = nullptr;
  }
  Status set(Stream stream, Counter& counter, std::uint32_t value) override {
    return on_device([&] {
#if defined(__CUDACC__)
      return on_counter("cuStreamWriteValue32", native(stream), seen_by_device(counter), value);
#else
      return check(hipStreamWriteValue32(native(stream), seen_by_device(counter), value, 0),
                   "setting a counter");
#endif
    });
  }
  Status wait(Stream stream, Counter& counter, std::uint32_t value) override {
    return on_device([&] {
#if defined(__CUDACC__)
      return on_counter("cuStreamWaitValue32", native(stream), seen_by_device(counter), value);
#else
      return check(hipStreamWaitValue32(native(stream), seen_by_device(counter), value,
                                        hipStreamWaitValueGte, 0xFFFFFFFFu),
                   "waiting for a counter");
#endif
    });
  }

  // The handle is that of the whole allocation.
  Status share_memory(const void* data, SharedMemory* shared) override {
    return on_device([&] {
      *shared = {};
      const void* base = nullptr;
      KW_GPU_API(IpcMemHandle_t) handle;
      static_assert(sizeof(handle) == sizeof(shared->handle));
      if (!find_base(data, &base) ||
          KW_GPU_API(IpcGetMemHandle)(&handle, const_cast<void*>(base)) != success) {
        (void)KW_GPU_API(GetLastError)();
        return Status::success();
      }
      std::memcpy(shared->handle, &handle, sizeof(handle));
      shared->offset = static_cast<std::uint64_t>(static_cast<const char*>(data) -
                                                  static_cast<const char*>(base));
      shared->process = getpid();
      shared->is_shared = 1;
      return Status::success();
    });
  }
  // Copies read it as memory of this device, so they need not know which one has it.
  Status open_memory(const SharedMemory& shared, CopyLines* from) override {
    return on_device([&] {
      auto found = std::find_if(opened_.begin(), opened_.end(), [&](const Opened& opened) {
        return std::memcmp(opened.handle, shared.handle, sizeof(shared.handle)) == 0;
      });
      if (found == opened_.end()) {
        Opened opened;
        KW_GPU_API(IpcMemHandle_t) handle;
        std::memcpy(&handle, shared.handle, sizeof(handle));
        Status status = check(KW_GPU_API(IpcOpenMemHandle)(&opened.base, handle,
                                                           KW_GPU_API(IpcMemLazyEnablePeerAccess)),
                              "opening another process's memory");
        if (!status.ok()) return status;
        std::memcpy(opened.handle, shared.handle, sizeof(opened.handle));
        found = opened_.insert(opened_.end(), opened);
      }
      from->from = static_cast<const char*>(found->base) + shared.offset;
      from->from_device = ordinal_;
      return Status::success();
    });
  }
  void close_memory() noexcept override {
    (void)KW_GPU_API(SetDevice)(ordinal_);
    for (const Opened& opened : opened_) (void)KW_GPU_API(IpcCloseMemHandle)(opened.base);
    opened_.clear();
  }

  Status allocate_pinned(void** data, std::size_t bytes) override {
    return on_device([&] {
#if defined(__CUDACC__)
      const Error error = cudaHostAlloc(data, bytes, cudaHostAllocPortable);
#else
      const Error error = hipHostMalloc(data, bytes, hipHostMallocPortable);
#endif
      if (error != KW_GPU_API(ErrorMemoryAllocation)) return check(error, "pinned memory");
      (void)KW_GPU_API(GetLastError)();
      return Status::failure(StatusCode::out_of_memory,
                             text("no ", bytes, " bytes of pinned host memory to be had"));
    });
  }
  void release_pinned(void* data) noexcept override {
    (void)KW_GPU_API(SetDevice)(ordinal_);
#if defined(__CUDACC__)
    (void)cudaFreeHost(data);
#else
    (void)hipHostFree(data);
#endif
  }

 private:
  // Memory of another process, by its handle.
  struct Opened {
    unsigned char handle[sizeof(SharedMemory::handle)];
    void* base = nullptr;
  };

  template <class Work>
  Status on_device(const Work& work) {
    Status status = check(KW_GPU_API(SetDevice)(ordinal_), "device selection");
    return status.ok() ? work() : status;
  }

  void* seen_by_device(const Counter& counter) const {
    return device_counters_ + (reinterpret_cast<const char*>(&counter) - counters_);
  }

  int ordinal_;
  std::vector<Opened> opened_;
  char *counters_ = nullptr, *device_counters_ = nullptr;
};

}  // namespace

std::unique_ptr<Transfer> gpu_transfer(int ordinal) {
  return std::make_unique<GpuTransfer>(ordinal);
}

}  // namespace KW_TARGET
