// GPUs as devices: memory, streams, events and graphs of CUDA and HIP.
#include "gpu/runtime_gpu.hpp"

#include "gpu/gpu_api.hpp"
#include "gpu/transfer_gpu.hpp"
#include "text.hpp"

#if defined(__CUDACC__)
#pragma nv_diag_suppress 2810  // nvcc takes `status = f()` for a Status thrown away
#include "gpu/call_graph.hpp"
#endif
#include "gpu/captured_graph.hpp"

namespace KW_TARGET {

namespace {

int attribute(decltype(sm_clock_attribute) which, int ordinal) {
  int value = 0;
  return KW_GPU_API(DeviceGetAttribute)(&value, which, ordinal) == success ? value : 0;
}

Status describe(int ordinal, Device* device) {
  DeviceProperties properties{};
  Status status = check(KW_GPU_API(GetDeviceProperties)(&properties, ordinal), "device properties");
  if (!status.ok()) return status;
  int driver = 0;
  int runtime = 0;
  status = check(KW_GPU_API(DriverGetVersion)(&driver), "driver version");
  if (status.ok()) status = check(KW_GPU_API(RuntimeGetVersion)(&runtime), "runtime version");
  if (!status.ok()) return status;

  device->kind = device_kind;
  device->ordinal = ordinal;
  device->name = properties.name;
  device->architecture = architecture(properties);
  device->compute_capability = compute_capability(properties);
  device->sm_count = properties.multiProcessorCount;
  device->warp_size = properties.warpSize;
  device->max_threads_per_block = properties.maxThreadsPerBlock;
  device->max_threads_per_sm = properties.maxThreadsPerMultiProcessor;
  device->registers_per_block = properties.regsPerBlock;
  device->registers_per_sm = registers_per_sm(properties);
  device->shared_bytes_per_block = properties.sharedMemPerBlock;
  device->shared_bytes_per_block_optin = shared_bytes_optin(properties);
  device->shared_bytes_per_sm = shared_bytes_per_sm(properties);
  device->l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  device->memory_bytes = properties.totalGlobalMem;
  for (int i = 0; i < 3; ++i) {
    device->max_grid[i] = properties.maxGridSize[i];
    device->max_block[i] = properties.maxThreadsDim[i];
  }
  device->sm_clock_khz = attribute(sm_clock_attribute, ordinal);
  device->memory_clock_khz = attribute(memory_clock_attribute, ordinal);
  device->memory_bus_bits = properties.memoryBusWidth;
  device->driver = version_text(driver);
  device->runtime = version_text(runtime);
  return status;
}

class GpuGraph final : public Runtime::Graph {
 public:
  explicit GpuGraph(int ordinal) : ordinal_(ordinal) {}
  GpuGraph(const GpuGraph&) = delete;
  GpuGraph& operator=(const GpuGraph&) = delete;
  ~GpuGraph() override { (void)KW_GPU_API(SetDevice)(ordinal_); }

  Status capture(const std::function<Status(Stream)>& work, Stream stream) {
    return graph_.capture(work, stream, KW_GPU_API(StreamCaptureModeThreadLocal));
  }

  Status replay(Stream stream) override {
    Status status = check(KW_GPU_API(SetDevice)(ordinal_), "device selection");
    return status.ok() ? graph_.launch(stream) : status;
  }

 private:
  int ordinal_;
  CapturedGraph graph_;
};

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() {
    if (event_ != nullptr) (void)KW_GPU_API(EventDestroy)(event_);
  }
  Status create() { return check(KW_GPU_API(EventCreate)(&event_), "event creation"); }
  Status record(Stream stream) {
    return check(KW_GPU_API(EventRecord)(event_, native(stream)), "event record");
  }
  Status wait() { return check(KW_GPU_API(EventSynchronize)(event_), "event wait"); }
  Status us_since(const Event& begin, double* us) {
    float ms = 0;
    Status status = check(KW_GPU_API(EventElapsedTime)(&ms, begin.event_, event_), "event time");
    *us = 1e3 * static_cast<double>(ms);
    return status;
  }

 private:
  KW_GPU_API(Event_t) event_ = nullptr;
};

class GpuRuntime final : public Runtime {
 public:
  explicit GpuRuntime(Device device) : device_(std::move(device)) {}

  const Device& device() const override { return device_; }

  Status with_device(const std::function<Status()>& work) override {
    int before = 0;
    Status status = check(KW_GPU_API(GetDevice)(&before), "current device");
    if (!status.ok()) return status;
    if (before == device_.ordinal) return work();
    status = on_device([&] { return work(); });
    Status restored = check(KW_GPU_API(SetDevice)(before), "device selection");
    return status.ok() ? restored : status;
  }

  Status allocate(void** data, std::size_t bytes) override {
    return on_device([&] {
      const Error error = KW_GPU_API(Malloc)(data, bytes);
      if (error != KW_GPU_API(ErrorMemoryAllocation)) return check(error, "allocation");
      (void)KW_GPU_API(GetLastError)();
      return Status::failure(StatusCode::out_of_memory,
                             text("no ", bytes, " bytes of memory to be had on ", device_.name,
                                  ", which has ", device_.memory_bytes, ": free some"));
    });
  }
  void release(void* data) noexcept override {
    (void)KW_GPU_API(SetDevice)(device_.ordinal);
    (void)KW_GPU_API(Free)(data);
  }

  Status copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    return on_device([&] {
      Status status =
          check(KW_GPU_API(MemcpyAsync)(to, from, bytes, KW_GPU_API(MemcpyDefault), native(stream)),
                "copy");
      return status.ok() ? synchronize(stream) : status;
    });
  }
  Status fill(void* data, unsigned char value, std::size_t bytes, Stream stream) override {
    return on_device(
        [&] { return check(KW_GPU_API(MemsetAsync)(data, value, bytes, native(stream)), "fill"); });
  }

  Status create_stream(Stream* stream) override {
    return on_device([&] {
      KW_GPU_API(Stream_t) made = nullptr;
      // One that keeps its order with the default stream, so that a plain cudaMemcpy before or
      // after a call does what its reader expects.
      Status status = check(KW_GPU_API(StreamCreate)(&made), "stream creation");
      stream->handle = made;
      return status;
    });
  }
  void destroy_stream(Stream stream) noexcept override {
    (void)KW_GPU_API(SetDevice)(device_.ordinal);
    (void)KW_GPU_API(StreamDestroy)(native(stream));
  }
  Status synchronize(Stream stream) override {
    return on_device(
        [&] { return check(KW_GPU_API(StreamSynchronize)(native(stream)), "synchronization"); });
  }

  Status time_us(const std::function<Status(Stream)>& work, Stream stream, double* us) override {
    return on_device([&] {
      Event begin;
      Event end;
      Status status = begin.create();
      if (status.ok()) status = end.create();
      if (status.ok()) status = begin.record(stream);
      if (status.ok()) status = work(stream);
      if (status.ok()) status = end.record(stream);
      if (status.ok()) status = end.wait();
      return status.ok() ? end.us_since(begin, us) : status;
    });
  }

  bool supports_graphs() const override { return true; }
  Status capture(const std::function<Status(Stream)>& work, Stream stream,
                 std::unique_ptr<Graph>* graph) override {
    return on_device([&] {
      auto made = std::make_unique<GpuGraph>(device_.ordinal);
      Status status = made->capture(work, stream);
      if (status.ok()) *graph = std::move(made);
      return status;
    });
  }

#if defined(__CUDACC__)
  Status launch_again(const std::function<Status(Stream)>& work, Stream stream,
                      std::unique_ptr<KeptLaunches>* kept) override {
    using Kept = kw::gpu::LaunchesAsOne<CallGraph>;
    if (*kept == nullptr) *kept = std::make_unique<Kept>(CallGraph(recorder_));
    return static_cast<Kept&>(**kept).launch(work, stream);
  }
#endif

  std::unique_ptr<Transfer> open_transfer() override { return gpu_transfer(device_.ordinal); }

 private:
  template <class Work>
  Status on_device(const Work& work) {
    Status status = check(KW_GPU_API(SetDevice)(device_.ordinal), "device selection");
    return status.ok() ? work() : status;
  }

  Device device_;
#if defined(__CUDACC__)
  GraphRecorder recorder_;
#endif
};

// Why no device can be counted. Without a driver the runtime calls it too old.
std::string why_none(const Status& counted) {
  if (counted.ok()) return "0 devices";
  int driver = 0;
  if (!check(KW_GPU_API(DriverGetVersion)(&driver), "driver version").ok() || driver == 0) {
    return text("no ", vendor_name, " driver is installed, or its library is not found");
  }
  return text(counted.message, ", driver ", version_text(driver));
}

}  // namespace

int device_count() {
  int count = 0;
  return check(KW_GPU_API(GetDeviceCount)(&count), "device count").ok() ? count : 0;
}

Status open(int ordinal, std::unique_ptr<Runtime>* runtime) {
  int count = 0;
  const Status counted = check(KW_GPU_API(GetDeviceCount)(&count), "the driver says");
  if (count == 0) {
    return Status::failure(
        StatusCode::no_device,
        text("no ", vendor_name, " device found (", why_none(counted),
             "): check the driver and the devices made visible to this process, or use a CPU "
             "context"));
  }
  if (ordinal < 0 || ordinal >= count) {
    return Status::failure(StatusCode::no_device,
                           text("ordinal is ", ordinal, ", but this machine has ", count, " ",
                                vendor_name, " device", count == 1 ? "" : "s", ": pass 0",
                                count == 1 ? std::string() : text(" to ", count - 1)),
                           "ordinal");
  }
  Device device;
  Status status = describe(ordinal, &device);
  if (!status.ok()) return status;
  forget_launch_facts();
  *runtime = std::make_unique<GpuRuntime>(std::move(device));
  return status;
}

}  // namespace KW_TARGET
