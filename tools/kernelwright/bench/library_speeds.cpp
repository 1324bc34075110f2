// Plans of the library for a GPU that is not here.
#include "bench/library_speeds.hpp"

#include <array>
#include <limits>

#include "backends.hpp"
#include "select.hpp"

namespace kw::bench {
namespace {

// As far as plans ask for it, as result files of such a device state it.
struct KnownGpu {
  const char* name;
  int sm_count, memory_clock_khz, memory_bus_bits;
  std::size_t l2_bytes;
};
constexpr std::array known_gpus = {
    KnownGpu{"H200", 132, 3201000, 6016, std::size_t{60} << 20},
    KnownGpu{"H100", 132, 2619000, 5120, std::size_t{50} << 20},
};

Device device_of(const char* name) {
  Device device;
  device.kind = DeviceKind::cuda;
  device.name = name;
  device.compute_capability = 90;
  device.warp_size = 32;
  device.max_threads_per_block = 1024;
  device.max_threads_per_sm = 2048;
  device.registers_per_block = device.registers_per_sm = 65536;
  device.shared_bytes_per_block_optin = 227 << 10;
  device.shared_bytes_per_sm = 228 << 10;
  device.sm_clock_khz = 1980000;
  for (const KnownGpu& known : known_gpus) {
    if (device.name != known.name) continue;
    device.sm_count = known.sm_count;
    device.memory_clock_khz = known.memory_clock_khz;
    device.memory_bus_bits = known.memory_bus_bits;
    device.l2_bytes = known.l2_bytes;
  }
  return device;
}

// Plans are made on the host, so the kernels of any target answer.
const KernelList<Sgemm>* planning_kernels() {
  static const KernelList<Sgemm> kernels = [] {
    for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::host_simt}) {
      if (const Backend* backend = find_backend(kind)) return backend->sgemm();
    }
    return KernelList<Sgemm>{};
  }();
  return kernels.empty() ? nullptr : &kernels;
}

double share(const std::string& kernel, bool is_step) {
  for (const distributed::PlannedShare& known : distributed::planned_fp32) {
    if (kernel == known.kernel || *known.kernel == 0) return is_step ? known.step : known.alone;
  }
  return 1;
}

}  // namespace

distributed::Speeds library_speeds(const std::string& gpu) {
  distributed::Speeds speeds(gpu);
  const KernelList<Sgemm>* kernels = planning_kernels();
  if (kernels == nullptr) return speeds;
  speeds.fp32_us = [kernels, device = device_of(speeds.rates->name)](double m, double n, double k,
                                                                     bool is_step) {
    Sgemm problem;
    problem.m = static_cast<std::int64_t>(m);
    problem.n = static_cast<std::int64_t>(n);
    problem.k = static_cast<std::int64_t>(k);
    problem.lda = problem.k;
    problem.ldb = problem.ldc = problem.n;
    problem.alpha = 1;
    const auto choice = select_kernel(problem, device, *kernels, Math::fp32);
    return choice ? choice->plan.time_us / share(choice->kernel->name, is_step)
                  : std::numeric_limits<double>::infinity();
  };
  return speeds;
}

}  // namespace kw::bench
