// Kernels that do one thing as fast as the device can: multiply-add in registers, read, copy,
// nothing.
#include "bench/gpu_ceilings.hpp"

#include "gpu/gpu.hpp"
#include "gpu/gpu_api.hpp"

namespace KW_TARGET::bench {
namespace {

using kw::bench::burn_multiply_adds;
using kw::bench::burn_threads;
using kw::bench::cache_chunk_bytes;
using kw::bench::stream_threads;

constexpr int chains = 8;     // independent, to cover the latency of an FFMA
constexpr int in_flight = 8;  // 16-byte loads a thread

// The sinks are written only where a sum is one that cannot occur: the work has to be done for
// that.
__global__ void __launch_bounds__(burn_threads) burn_kernel(int rounds, float* sink) {
  const float x = 1.0f - 1e-7f * static_cast<float>(threadIdx.x);
  const float y = 1e-7f * static_cast<float>(threadIdx.x);
  float acc[chains];
#pragma unroll
  for (int i = 0; i < chains; ++i) acc[i] = static_cast<float>(i);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int step = 0; step < burn_multiply_adds / chains; ++step) {
#pragma unroll
      for (int i = 0; i < chains; ++i) acc[i] = fmaf(acc[i], x, y);
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < chains; ++i) sum += acc[i];
  if (sum == -1.0f) *sink = sum;
}

__global__ void __launch_bounds__(stream_threads)
    read_kernel(const float4* from, std::int64_t count, float* sink) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * stream_threads;
  float sum = 0;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * stream_threads + threadIdx.x;
  for (; i + (in_flight - 1) * step < count; i += in_flight * step) {
    float4 values[in_flight];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) values[j] = from[i + j * step];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) {
      sum += values[j].x + values[j].y + values[j].z + values[j].w;
    }
  }
  for (; i < count; i += step) sum += from[i].x + from[i].y + from[i].z + from[i].w;
  if (sum == -1.0f) *sink = sum;
}

__global__ void __launch_bounds__(stream_threads)
    copy_kernel(float4* to, const float4* from, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * stream_threads;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * stream_threads + threadIdx.x;
  for (; i + (in_flight - 1) * step < count; i += in_flight * step) {
    float4 values[in_flight];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) values[j] = from[i + j * step];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) to[i + j * step] = values[j];
  }
  for (; i < count; i += step) to[i] = from[i];
}

// A load that is not served by the SM's own cache; on AMD GPUs that one is too small to matter.
__device__ float4 load_from_l2(const float4* from) {
#ifdef __HIP__
  return *from;
#else
  return __ldcg(from);
#endif
}

__global__ void __launch_bounds__(stream_threads)
    cache_kernel(const float4* from, int chunks, int rounds, float* sink) {
  float sum = 0;
  int chunk = static_cast<int>(blockIdx.x) % chunks;
  for (int round = 0; round < rounds; round += in_flight) {
    float4 values[in_flight];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) {
      values[j] = load_from_l2(from + chunk * stream_threads + static_cast<int>(threadIdx.x));
      if (++chunk == chunks) chunk = 0;
    }
#pragma unroll
    for (int j = 0; j < in_flight; ++j) {
      sum += values[j].x + values[j].y + values[j].z + values[j].w;
    }
  }
  if (sum == -1.0f) *sink = sum;
}

__global__ void __launch_bounds__(burn_threads) empty_kernel() {}

gpu::LaunchConfig stream_grid(int sm_count, Stream stream) {
  return {dim3(static_cast<unsigned>(sm_count * kw::bench::stream_blocks_per_sm)),
          dim3(stream_threads), 0, stream};
}

Status burn(int blocks, int rounds, float* sink, Stream stream) {
  return gpu::launch(burn_kernel,
                     {dim3(static_cast<unsigned>(blocks)), dim3(burn_threads), 0, stream}, rounds,
                     sink);
}

Status launch_nothing(Stream stream) {
  return gpu::launch(empty_kernel, {dim3(1), dim3(burn_threads), 0, stream});
}

Status read_stream(const void* from, std::int64_t count, float* sink, int sm_count, Stream stream) {
  return gpu::launch(read_kernel, stream_grid(sm_count, stream), static_cast<const float4*>(from),
                     count, sink);
}

Status copy_stream(void* to, const void* from, std::int64_t count, int sm_count, Stream stream) {
  return gpu::launch(copy_kernel, stream_grid(sm_count, stream), static_cast<float4*>(to),
                     static_cast<const float4*>(from), count);
}

Status read_cache(const void* from, int chunks, int rounds, float* sink, int sm_count,
                  Stream stream) {
  static_assert(cache_chunk_bytes == stream_threads * sizeof(float4));
  return gpu::launch(cache_kernel, stream_grid(sm_count, stream), static_cast<const float4*>(from),
                     chunks, rounds, sink);
}

std::string bus_id(int ordinal) {
  char text[32] = {};
  return KW_GPU_API(DeviceGetPCIBusId)(text, sizeof(text), ordinal) == success ? text : "";
}

}  // namespace

const kw::bench::GpuWork& gpu_work() {
  static const kw::bench::GpuWork work = {burn,        launch_nothing, read_stream,
                                          copy_stream, read_cache,     bus_id};
  return work;
}

}  // namespace KW_TARGET::bench
