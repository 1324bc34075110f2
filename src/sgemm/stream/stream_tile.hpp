// stream_tile: the family of production kernels for products of any shape. One template; tuning.hpp
// lists its configurations.
//
// Idea    Some warps of a block only copy (producers), the others only multiply (consumers). A ring
//         of stages in shared memory lies between them: mbarriers say which stage is full and which
//         is free. So neither addresses nor edges nor transposes cost the inner loop an
//         instruction, and every operand, wherever it comes from, lies k-major in a stage.
//         The grid has one wave of blocks. A block takes whole tiles of C as long as those come out
//         even; the rest is cut along k into equal shares (stream-K: Osama et al. 2023, section 4),
//         whose parts of a tile the last block to arrive there adds up: nobody waits for another.
// Limits  6 shared loads of 16 bytes feed the 128 FFMAs of an 8 x 16 thread tile: 95.5 % of the
//         FFMA peak at best. One launch at every size.
// Order   One accumulator an output and part, k ascending; parts in ascending order of k, in groups
//         of stream_fan. The number of parts follows from the shape, the configuration and the
//         number of SMs: the same bits for the same inputs on the same kind of device.
#pragma once

#include "device/overlap.hpp"
#include "device/ticket.hpp"
#include "sgemm/stream/consumer.hpp"
#include "sgemm/stream/epilogue.hpp"
#include "sgemm/stream/producer.hpp"

namespace KW_TARGET::stream_tile {

// Whether this compilation's target can run a configuration; elsewhere its kernel is empty and
// `supports` says no.
constexpr bool runs_here([[maybe_unused]] const StreamTileConfig& config) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800 || defined(__HIP_DEVICE_COMPILE__)
  return false;
#elif defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
  return !config.moves_registers();
#else
  return true;
#endif
}

// The parts of a tile that several blocks share, [slot][vector][thread] in the workspace. What goes
// out in 16 bytes comes from an aligned quad of registers, and ptxas keeps the accumulators in
// these quads throughout. So neighbours are swapped: accumulator (i, j) then lies in the other
// register bank than b[j], which comes by a 16-byte load and lies in the bank of j (outer_product).
template <StreamTileConfig config>
struct Parts {
  using S = Shape<config>;
  static constexpr int vectors = S::outputs / 4;

  __device__ static float4* at(const Workspace& workspace, int slot, int tid) {
    return static_cast<float4*>(workspace.data) + slot * std::int64_t{S::BM * S::BN / 4} + tid;
  }
  __device__ static void store(const Workspace& workspace, int slot, int tid,
                               const float (&out)[S::outputs]) {
    float4* to = at(workspace, slot, tid);
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const float* o = &out[4 * v];
      to[v * S::consumers] = make_float4(o[1], o[0], o[3], o[2]);
    }
  }
  __device__ static void add(const Workspace& workspace, int slot, int tid,
                             float (&out)[S::outputs]) {
    const float4* from = at(workspace, slot, tid);
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const float4 part = __ldcg(from + v * S::consumers);
      float* o = &out[4 * v];
      o[1] += part.x, o[0] += part.y, o[3] += part.z, o[2] += part.w;
    }
  }
};

// Leaves this block's part of a shared tile with the others'. True where it came last: then `out`
// is the sum of all parts, in ascending order of k within groups of stream_fan, then of groups.
// Nobody waits for another block.
template <StreamTileConfig config>
__device__ __forceinline__ bool gather_parts(Shared<config>& shared, const Workspace& workspace,
                                             const StreamSchedule& schedule, const StreamWork& work,
                                             float (&out)[Shape<config>::outputs]) {
  const int tid = OwnOutputs<config>().tid;
  const StreamParts parts = schedule.parts(work, static_cast<int>(blockIdx.x));
  int mine = parts.mine, count = parts.count, stride = 1;
  for (int level = 0; count > 1; ++level) {
    Parts<config>::store(workspace, parts.slot(mine * stride), tid, out);
    const int first = mine / stream_fan * stream_fan;
    const int size = count - first < stream_fan ? count - first : stream_fan;
    Consumer<config>::sync();  // the whole part is written
    if (tid == 0) {
      unsigned* ticket = workspace.tickets + schedule.ticket(level, parts.slot(first * stride));
      shared.last = take_ticket(ticket) + 1 == static_cast<unsigned>(size);
      if (shared.last) *ticket = 0;  // for the next launch
    }
    Consumer<config>::sync();
    if (!shared.last) return false;
#pragma unroll
    for (int e = 0; e < Shape<config>::outputs; ++e) out[e] = 0;
    for (int j = 0; j < size; ++j)
      Parts<config>::add(workspace, parts.slot((first + j) * stride), tid, out);
    mine /= stream_fan, count = (count + stream_fan - 1) / stream_fan, stride *= stream_fan;
  }
  return true;
}

template <StreamTileConfig config>
__device__ __forceinline__ void consume(Shared<config>& shared, const Sgemm& all,
                                        const Operands& operands, const StreamSchedule& schedule,
                                        const Workspace& workspace) {
  using S = Shape<config>;
  const int block = static_cast<int>(blockIdx.x);
  Consumer<config> consumer(shared);
  const bool reads = reads_operands(all);
  for (StreamWork work = schedule.first(block); work.valid(); work = schedule.next(work, block)) {
    float out[S::outputs];
    consumer.multiply(reads ? work.end - work.begin : 0, out);
    if (!schedule.whole(work) && !gather_parts<config>(shared, workspace, schedule, work, out))
      continue;
    const StreamPlace tile = schedule.place(work.tile);
    store_tile<config>(shared, entry_of(all, tile.entry), tile, operands.c16, out);
  }
}

// `row` of tuning.hpp's table.
template <int row>
__global__ void __launch_bounds__(stream_tiles[row].config.threads(),
                                  stream_tiles[row].config.blocks_per_sm)
    stream_tile([[maybe_unused]] __grid_constant__ const Sgemm p,
                [[maybe_unused]] __grid_constant__ const Operands operands,
                [[maybe_unused]] __grid_constant__ const StreamSchedule schedule,
                [[maybe_unused]] __grid_constant__ const Workspace workspace) {
  constexpr StreamTileConfig config = stream_tiles[row].config;
  if constexpr (runs_here(config)) {
    using S = Shape<config>;
    auto& shared = *gpu::dynamic_shared<Shared<config>>();
    if (threadIdx.x < S::stages) {
      mbarrier_init(&shared.full[threadIdx.x], S::producers);
      mbarrier_init(&shared.free[threadIdx.x], 1);
    }
    __syncthreads();
    begin_concurrent(p);
    if (is_called_off(p)) {
      // Nothing to do.
    } else if (threadIdx.x < S::producers) {
      if constexpr (config.moves_registers()) setmaxnreg_dealloc<config.producer_registers>();
      produce<config>(shared, p, operands, schedule);
    } else {
      if constexpr (config.moves_registers()) setmaxnreg_alloc<config.consumer_registers>();
      consume<config>(shared, p, operands, schedule, workspace);
    }
    end_concurrent(p);
  }
}

}  // namespace KW_TARGET::stream_tile
