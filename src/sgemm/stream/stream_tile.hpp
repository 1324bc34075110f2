// stream_tile: the family of production kernels for products of any shape. One template; tuning.hpp
// lists its configurations.
//
// Idea    Some warps of a block only copy (producers), the others only multiply (consumers). A ring
//         of stages in shared memory lies between them: mbarriers say which stage is full and which
//         is free (pipeline.hpp). Addresses, edges and transposes therefore cost the inner loop no
//         instruction: in a stage every operand lies k-major.
//         The grid has one wave of blocks. Each block takes the same number of whole tiles of C.
//         The remaining tiles are cut along k into equal shares (stream-K: Osama et al. 2023,
//         section 4); the last block to arrive at such a tile adds up its parts (fixup.hpp), so no
//         block waits for another. Or each tile belongs to a cluster of blocks with an equal share
//         each, which add up the parts together (cluster_fixup.hpp).
// Limits  6 shared loads of 16 bytes feed the 128 FFMAs of an 8 x 16 thread tile: 95.5 % of the
//         FFMA peak at best. One launch at every size.
// Order   One accumulator per output and piece, k ascending; pieces of a part in ascending order of
//         k (pieces.hpp), parts likewise, in groups of stream_fan, and those of a cluster as a
//         tree. Their numbers follow from the shape, the configuration and the number of SMs: the
//         same bits for the same inputs on the same kind of device.
#pragma once

#include "device/overlap.hpp"
#include "sgemm/finish.hpp"
#include "sgemm/stream/cluster_fixup.hpp"
#include "sgemm/stream/epilogue.hpp"
#include "sgemm/stream/epilogue_triangle.hpp"
#include "sgemm/stream/fixup.hpp"
#include "sgemm/stream/pieces.hpp"
#include "sgemm/stream/producer.hpp"
#include "sgemm/stream/scheduler.hpp"
#include "sgemm/stream/shaped_scheduler.hpp"

namespace KW_TARGET::stream_tile {

// Whether this compilation's target can run a configuration; elsewhere its kernel is empty, and no
// plan is made for it.
constexpr bool runs_here([[maybe_unused]] const StreamTileConfig& config) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800 || defined(__HIP_DEVICE_COMPILE__)
  return false;
#elif defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
  return !config.moves_registers();
#else
  return true;
#endif
}

template <StreamTileConfig config>
__device__ __forceinline__ StoredPart part_of(const StreamTileIndex& tile) {
  using S = Shape<config>;
  return {tile.entry, tile.row * std::int64_t{S::BM}, tile.col * std::int64_t{S::BN}, S::BM, S::BN};
}

template <StreamTileConfig config, class Scheduler, bool plain>
__device__ __forceinline__ void produce(Shared<config>& shared, const Sgemm& p,
                                        const Operands& operands, const StreamSchedule& schedule) {
  if (!reads_operands(p)) return;
  const Scheduler scheduler(schedule, p);
  Producer<config> producer(shared);
  const bool reads_c = !plain && reads_source(p);
  for (StreamWork work = scheduler.first(); work.valid(); work = scheduler.next(work)) {
    const StreamTileIndex tile = scheduler.tile(work);
    if (reads_c)
      ask_for_source(p, tile.entry, tile.row * std::int64_t{Shape<config>::BM},
                     tile.col * std::int64_t{Shape<config>::BN}, Shape<config>::BM,
                     Shape<config>::BN, static_cast<int>(threadIdx.x), Shape<config>::producers);
    if constexpr (Scheduler::apart)
      producer.template copy_apart<Scheduler::mirrored>(p, operands, tile, work);
    else
      producer.copy(p, operands, tile, work);
  }
  let_next_kernel_start();
}

template <StreamTileConfig config, class Scheduler, bool plain>
__device__ __forceinline__ void consume(Shared<config>& shared, const Sgemm& p,
                                        const Operands& operands, const StreamSchedule& schedule,
                                        const Workspace& workspace) {
  const Scheduler scheduler(schedule, p);
  Pieces<config, Scheduler> pieces(shared, scheduler, workspace);
  const bool reads = reads_operands(p);
  for (StreamWork work = scheduler.first(); work.valid(); work = scheduler.next(work)) {
    float out[Shape<config>::outputs];
    if constexpr (plain)
      pieces.multiply_uncut(work, reads, p.k, out);
    else
      pieces.multiply(work, reads, p.k, out);
    if constexpr (config.clusters) {
      if (scheduler.in_clusters()) {
        const StreamTileIndex tile = scheduler.tile(work);
        return ClusterFixup<config>::add_and_store(shared, p, tile, operands.c16,
                                                   scheduler.blocks_of_cluster(), out);
      }
    }
    if (!scheduler.is_whole(work)) {
      // In this order: read after the parts, the index takes other instructions.
      const int tid = OwnOutputs<config>().tid;
      const StreamParts parts = scheduler.parts(work);
      if (!add_parts<Shape<config>::consumers, false>(
              workspace, schedule, parts, tid, shared.is_last, [] { sync_consumers<config>(); },
              out))
        continue;
    }
    const StreamTileIndex tile = scheduler.tile(work);
    if constexpr (Scheduler::shaped) {
      if (p.triangle != Triangle::none && tile.row == tile.col >> p.column_shift) {
        store_triangle<config>(shared, entry_of(p, tile.entry), tile, out);
        continue;
      }
    }
    store_tile<config>(shared, stored_first(entry_of(p, tile.entry)), tile, operands.c16, out);
    if (!plain && p.epilogue.any()) {
      sync_consumers<config>();
      finish_stored<4>(p, part_of<config>(tile), OwnOutputs<config>().tid,
                       Shape<config>::consumers);
    }
  }
}

// What a kernel does, by the way through its tiles. `plain`: of a product that is_plain.
template <StreamTileConfig config, class Scheduler, bool plain = false>
__device__ __forceinline__ void multiply_tiles([[maybe_unused]] const Sgemm& p,
                                               [[maybe_unused]] const Operands& operands,
                                               [[maybe_unused]] const StreamSchedule& schedule,
                                               [[maybe_unused]] const Workspace& workspace) {
  if constexpr (runs_here(config)) {
    auto& shared = *gpu::dynamic_shared<Shared<config>>();
    const bool in_clusters = Scheduler(schedule, p).in_clusters();
    init_ring(shared.full, shared.free, Shape<config>::producers, 1);
    if constexpr (config.clusters)
      if (in_clusters) open_to_cluster(shared.received);
    __syncthreads();
    begin_concurrent(p);
    if (exits_early(p)) {
      // The data does not need this kernel.
      if (in_clusters) wait_for_cluster();
    } else if (threadIdx.x < Shape<config>::producers) {
      if constexpr (config.moves_registers()) setmaxnreg_dealloc<config.producer_registers>();
      produce<config, Scheduler, plain>(shared, p, operands, schedule);
      if (in_clusters) wait_for_cluster();
    } else {
      if constexpr (config.moves_registers()) setmaxnreg_alloc<config.consumer_registers>();
      consume<config, Scheduler, plain>(shared, p, operands, schedule, workspace);
    }
    end_concurrent(p);
  }
}

// `row` of tuning.hpp's table.
template <int row>
__global__ void __launch_bounds__(stream_tiles[row].config.threads(),
                                  stream_tiles[row].config.blocks_per_sm)
    stream_tile(__grid_constant__ const Sgemm p, __grid_constant__ const Operands operands,
                __grid_constant__ const StreamSchedule schedule,
                __grid_constant__ const Workspace workspace) {
  constexpr StreamTileConfig config = stream_tiles[row].config;
  multiply_tiles<config, Scheduler<config>>(p, operands, schedule, workspace);
}

// The same for plain products, where the row has such an instance.
template <int row>
__global__ void __launch_bounds__(stream_tiles[row].config.threads(),
                                  stream_tiles[row].config.blocks_per_sm)
    stream_plain(__grid_constant__ const Sgemm p, __grid_constant__ const Operands operands,
                 __grid_constant__ const StreamSchedule schedule,
                 __grid_constant__ const Workspace workspace) {
  constexpr StreamTileConfig config = stream_tiles[row].config;
  multiply_tiles<config, Scheduler<config>, true>(p, operands, schedule, workspace);
}

// The same for operands that both lie along k.
template <int row>
__global__ void __launch_bounds__(stream_tiles[row].config.threads(),
                                  stream_tiles[row].config.blocks_per_sm)
    stream_turned(__grid_constant__ const Sgemm p, __grid_constant__ const Operands operands,
                  __grid_constant__ const StreamSchedule schedule,
                  __grid_constant__ const Workspace workspace) {
  constexpr StreamTileConfig config = stream_tiles[row].config.turned_config();
  multiply_tiles<config, Scheduler<config>>(p, operands, schedule, workspace);
}

// The same for problems that are not full.
template <int row>
__global__ void __launch_bounds__(stream_tiles[row].config.threads(),
                                  stream_tiles[row].config.blocks_per_sm)
    stream_shaped(__grid_constant__ const Sgemm p, __grid_constant__ const Operands operands,
                  __grid_constant__ const StreamSchedule schedule,
                  __grid_constant__ const Workspace workspace) {
  constexpr StreamTileConfig config = stream_tiles[row].config.shaped_config();
  multiply_tiles<config, ShapedScheduler<config>>(p, operands, schedule, workspace);
}

}  // namespace KW_TARGET::stream_tile
