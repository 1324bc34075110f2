// Result files.
#include "bench/results.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/sensors.hpp"
#include "versions.hpp"

namespace kw::bench {

using nlohmann::ordered_json;

namespace {

ordered_json or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json or_null(const std::optional<EmptyKernel>& empty) {
  if (!empty) return nullptr;
  return {{"graph", empty->graph_us}, {"events", empty->events_us}};
}

// A property that the device does not state is zero.
template <class T>
ordered_json stated(T value) {
  return value > 0 ? ordered_json(value) : ordered_json(nullptr);
}

}  // namespace

ordered_json device_json(const Device& d, const Ceilings& ceilings) {
  ordered_json grid = nullptr;
  if (d.max_grid[0] > 0) grid = d.max_grid;
  return {{"name", d.name},
          {"kind", to_string(d.kind)},
          {"architecture", or_null(d.architecture)},
          {"compute_capability", stated(d.compute_capability)},
          {"sm_count", stated(d.sm_count)},
          {"warp_size", stated(d.warp_size)},
          {"max_threads_per_block", stated(d.max_threads_per_block)},
          {"max_threads_per_sm", stated(d.max_threads_per_sm)},
          {"registers_per_block", stated(d.registers_per_block)},
          {"registers_per_sm", stated(d.registers_per_sm)},
          {"shared_bytes_per_block", stated(d.shared_bytes_per_block)},
          {"shared_bytes_per_block_optin", stated(d.shared_bytes_per_block_optin)},
          {"shared_bytes_per_sm", stated(d.shared_bytes_per_sm)},
          {"l2_bytes", stated(d.l2_bytes)},
          {"memory_bytes", stated(d.memory_bytes)},
          {"max_grid", grid},
          {"max_sm_clock_mhz", stated(d.sm_clock_khz / 1000)},
          {"max_memory_clock_mhz", stated(d.memory_clock_khz / 1000)},
          {"memory_bus_bits", stated(d.memory_bus_bits)},
          {"measured_fp32_tflops", or_null(ceilings.fp32_tflops)},
          {"measured_read_gbs", or_null(ceilings.read_gbs)},
          {"measured_copy_gbs", or_null(ceilings.copy_gbs)},
          {"measured_cache_gbs", or_null(ceilings.cache_gbs)},
          {"empty_kernel_us", or_null(ceilings.empty_kernel)}};
}

ordered_json software_json(const Device& d) {
  const bool is_cuda = d.kind == DeviceKind::cuda;
  utsname system = {};
  uname(&system);
  std::string cuda_compiler;
#ifdef KW_CUDA_COMPILER
  cuda_compiler = KW_CUDA_COMPILER;
#endif
  std::string hip_compiler;
#ifdef KW_HIP_COMPILER
  hip_compiler = KW_HIP_COMPILER;
#endif
  return {{"kernelwright", KW_VERSION},
          {"compiler", KW_CXX_COMPILER},
          {"cuda_compiler", or_null(cuda_compiler)},
          {"hip_compiler", or_null(hip_compiler)},
          {"build_type", KW_BUILD_TYPE},
          {"driver", or_null(is_cuda ? nvidia_driver_version() : d.driver)},
          {"driver_api", or_null(is_cuda ? d.driver : "")},
          {"runtime", or_null(d.runtime)},
          {"cublas", or_null(is_cuda ? peers::cublas_version() : "")},
          {"cub", or_null(is_cuda ? peers::cub_version() : "")},
          {"rocblas", or_null(d.kind == DeviceKind::hip ? peers::rocblas_version() : "")},
          {"openblas", or_null(d.kind == DeviceKind::cpu ? peers::openblas_version() : "")},
          {"os", fmt::format("{} {} {}", system.sysname, system.release, system.machine)}};
}

ordered_json head_json(const std::string& command, const Device& device, const Ceilings& ceilings) {
  return {{"schema", 1},
          {"command", command},
          {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"device", device_json(device, ceilings)},
          {"software", software_json(device)}};
}

void write_json(const std::string& path, const ordered_json& json) {
  const std::string text = json.dump(1) + "\n";
  if (path == "-") {
    fmt::print("{}", text);
    return;
  }
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw std::runtime_error(fmt::format("--json: cannot write {}", path));
}

}  // namespace kw::bench
