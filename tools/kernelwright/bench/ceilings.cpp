// Runs the work that finds a device's limits and takes the best of a few repeats.
#include "bench/ceilings.hpp"

#include <algorithm>
#include <limits>

#include "bench/gpu_ceilings.hpp"
#include "bench/operand_sets.hpp"
#include "bench/statistics.hpp"
#include "check/parallel.hpp"

namespace kw::bench {
namespace {

using check::DeviceBuffer;
using check::Workbench;

// Seconds of the fastest of `repeats` calls, after one to warm up.
double best_seconds(Workbench& bench, int repeats, const std::function<Status(Stream)>& work) {
  double best_us = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= repeats; ++i) {
    double us = 0;
    check::require(bench.runtime().time_us(work, bench.stream(), &us));
    if (i > 0) best_us = std::min(best_us, us);
  }
  return best_us * 1e-6;
}

double gpu_fp32_tflops(const GpuWork& gpu, Workbench& bench) {
  constexpr int rounds = 1024;
  const Device& device = bench.device();
  const DeviceBuffer sink(bench.runtime(), sizeof(float));
  const int blocks = device.sm_count * (device.max_threads_per_sm / burn_threads);
  const double flops = 2.0 * rounds * burn_multiply_adds * burn_threads * blocks;
  return flops * 1e-12 / best_seconds(bench, 10, [&](Stream stream) {
           return gpu.burn(blocks, rounds, sink.as<float>(), stream);
         });
}

void measure_gpu_memory(const GpuWork& gpu, Workbench& bench, Ceilings& into) {
  const Device& device = bench.device();
  const std::size_t bytes =
      std::min(std::size_t{8} << 30, device.memory_bytes / 2) & ~std::size_t{4095};
  const DeviceBuffer buffer(bench.runtime(), bytes);
  const DeviceBuffer sink(bench.runtime(), sizeof(float));
  const auto words = static_cast<std::int64_t>(bytes / sizeof(float));
  const check::Placement row{words, 0, 1, words, words};
  // Random data: zeros move faster than what a program computes with.
  check::require(bench.tools().fill_matrix({buffer.as<float>(), row, check::InputStream{}, false},
                                           bench.stream()));
  const auto count = static_cast<std::int64_t>(bytes / 16);
  const double gigabytes = static_cast<double>(bytes) * 1e-9;
  into.read_gbs =
      gigabytes / best_seconds(bench, 5, [&](Stream stream) {
        return gpu.read_stream(buffer.data(), count, sink.as<float>(), device.sm_count, stream);
      });
  into.copy_gbs = gigabytes / best_seconds(bench, 5, [&](Stream stream) {
                    return gpu.copy_stream(buffer.as<char>() + bytes / 2, buffer.data(), count / 2,
                                           device.sm_count, stream);
                  });
}

// A quarter of the cache: what is measured is the cache, not how well it keeps what fills it.
double gpu_cache_gbs(const GpuWork& gpu, Workbench& bench) {
  constexpr int rounds = 4096;
  const Device& device = bench.device();
  const int chunks = static_cast<int>(std::max<std::size_t>(
      std::min(device.l2_bytes / 4, std::size_t{1} << 30) / cache_chunk_bytes, 1));
  const DeviceBuffer buffer(bench.runtime(), static_cast<std::size_t>(chunks) * cache_chunk_bytes);
  const DeviceBuffer sink(bench.runtime(), sizeof(float));
  const std::int64_t words = static_cast<std::int64_t>(buffer.bytes() / sizeof(float));
  check::require(bench.tools().fill_matrix(
      {buffer.as<float>(), {words, 0, 1, words, words}, check::InputStream{}, false},
      bench.stream()));
  const double bytes = 1.0 * device.sm_count * stream_blocks_per_sm * rounds * cache_chunk_bytes;
  return bytes * 1e-9 / best_seconds(bench, 5, [&](Stream stream) {
           return gpu.read_cache(buffer.data(), chunks, rounds, sink.as<float>(), device.sm_count,
                                 stream);
         });
}

double median_us(Workbench& bench, const std::function<Status(Stream)>& work) {
  constexpr int repeats = 101;
  std::vector<double> samples;
  for (int i = 0; i <= repeats; ++i) {
    double us = 0;
    check::require(bench.runtime().time_us(work, bench.stream(), &us));
    if (i > 0) samples.push_back(us);
  }
  return summarise_times(samples).median;
}

EmptyKernel measure_empty_kernel(const GpuWork& gpu, Workbench& bench) {
  constexpr int calls = 200;
  std::unique_ptr<Runtime::Graph> graph;
  check::require(bench.runtime().capture(
      [&](Stream stream) {
        Status status;
        for (int i = 0; i < calls && status.ok(); ++i) {
          status = gpu.launch_nothing(stream);
        }
        return status;
      },
      bench.stream(), &graph));
  return {median_us(bench, [&](Stream stream) { return graph->replay(stream); }) / calls,
          median_us(bench, gpu.launch_nothing)};
}

}  // namespace

Ceilings measure_ceilings(check::Workbench& bench) {
  Ceilings found;
  const Device& device = bench.device();
  if (const GpuWork* gpu = gpu_work(device.kind)) {
    found.fp32_tflops = gpu_fp32_tflops(*gpu, bench);
    measure_gpu_memory(*gpu, bench, found);
    if (device.l2_bytes > 0) found.cache_gbs = gpu_cache_gbs(*gpu, bench);
    found.empty_kernel = measure_empty_kernel(*gpu, bench);
  }
  if (device.kind == DeviceKind::cpu) {
    const std::size_t beyond_caches =
        std::min(cold_factor * device.l2_bytes, device.memory_bytes / 4);
    const std::size_t bytes =
        std::max(std::clamp(device.memory_bytes / 8, std::size_t{64} << 20, std::size_t{1} << 30),
                 beyond_caches);
    found.fp32_tflops = cpu_fp32_tflops(check::cpu_threads());
    const MemoryRates rates = cpu_memory_rates(bytes);
    found.read_gbs = rates.read_gbs;
    found.copy_gbs = rates.copy_gbs;
  }
  return found;
}

}  // namespace kw::bench
