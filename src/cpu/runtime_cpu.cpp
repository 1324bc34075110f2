// The CPU as a device: host memory, no streams, work that is done when a call returns.
#include "cpu/runtime_cpu.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <new>
#include <string>
#include <thread>

#include "gpu/host_memory_runtime.hpp"
#include "text.hpp"

namespace kw::cpu {

namespace {

constexpr std::align_val_t alignment{256};

// The value of the first line of /proc/cpuinfo that begins with "model name".
std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "CPU";
}

std::string instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "x86-64 avx512";
  if (__builtin_cpu_supports("avx2")) return "x86-64 avx2";
  return "x86-64";
#else
  utsname names{};
  return uname(&names) == 0 ? names.machine : "unknown";
#endif
}

std::size_t system_value(int name) {
  const long value = sysconf(name);
  return value > 0 ? static_cast<std::size_t>(value) : 0;
}

int max_clock_khz() {
  int khz = 0;
  std::ifstream("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq") >> khz;
  return khz;
}

Device this_cpu() {
  Device device;
  device.kind = DeviceKind::cpu;
  device.name = cpu_name();
  device.architecture = instruction_set();
  device.sm_count = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  // The last cache before memory, which is what an L2 is on a GPU.
  device.l2_bytes = system_value(_SC_LEVEL3_CACHE_SIZE);
  if (device.l2_bytes == 0) device.l2_bytes = system_value(_SC_LEVEL2_CACHE_SIZE);
  device.memory_bytes = system_value(_SC_PHYS_PAGES) * system_value(_SC_PAGESIZE);
  device.sm_clock_khz = max_clock_khz();
  return device;
}

class CpuRuntime final : public HostMemoryRuntime {
 public:
  const Device& device() const override { return device_; }

  Status allocate(void** data, std::size_t bytes) override {
    *data = ::operator new(bytes, alignment, std::nothrow);
    if (*data != nullptr) return Status::success();
    return Status::failure(StatusCode::out_of_memory,
                           text("no ", bytes, " bytes of host memory to be had, of ",
                                device_.memory_bytes, " in this machine: free some"));
  }
  void release(void* data) noexcept override { ::operator delete(data, alignment); }

 private:
  Device device_ = this_cpu();
};

}  // namespace

int device_count() { return 1; }

Status open(int ordinal, std::unique_ptr<Runtime>* runtime) {
  if (ordinal != 0) {
    return Status::failure(StatusCode::no_device,
                           text("ordinal is ", ordinal, ", but there is 1 CPU device: pass 0"),
                           "ordinal");
  }
  *runtime = std::make_unique<CpuRuntime>();
  return Status::success();
}

}  // namespace kw::cpu
