// The work that finds a GPU's limits, and the address by which its driver knows it.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/device.hpp"
#include "kernel.hpp"

namespace kw::bench {

constexpr int burn_threads = 256;
constexpr int burn_multiply_adds = 512;  // the loop around them costs under 1 %
constexpr int stream_threads = 512;
constexpr int stream_blocks_per_sm = 4;
constexpr int cache_chunk_bytes = 16 * stream_threads;  // what a block reads in a round

struct GpuWork {
  // Fused multiply-adds in registers only: `blocks` x burn_threads threads, each
  // rounds * burn_multiply_adds of them.
  Status (*burn)(int blocks, int rounds, float* sink, Stream stream);
  // One block that does nothing.
  Status (*launch_nothing)(Stream stream);
  // Reads `count` float4, 16 bytes each; `to[i] = from[i]`.
  Status (*read_stream)(const void* from, std::int64_t count, float* sink, int sm_count,
                        Stream stream);
  Status (*copy_stream)(void* to, const void* from, std::int64_t count, int sm_count,
                        Stream stream);
  // Each of stream_blocks_per_sm blocks per SM reads `rounds` (a multiple of 8) chunks, one after
  // the other around a buffer of `chunks`, past the caches that one SM has to itself.
  Status (*read_cache)(const void* from, int chunks, int rounds, float* sink, int sm_count,
                       Stream stream);
  // "0000:1b:00.0", empty where the device is not on a bus.
  std::string (*bus_id)(int ordinal);
};

// As this build's compiler for such devices made it; null where they are no GPUs.
const GpuWork* gpu_work(DeviceKind kind);

}  // namespace kw::bench

// The table that gpu_ceilings.cu makes, by each compiler that this build has.
namespace kw::on_cuda::bench {
const kw::bench::GpuWork& gpu_work();
}
namespace kw::on_hip::bench {
const kw::bench::GpuWork& gpu_work();
}
