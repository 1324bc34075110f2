// parts_*: products with few outputs and a long k, in two launches.
//
// Idea        All tiles are cut along k into equal shares, as stream_tile cuts those of its last
//             wave. There the last block to arrive at a tile adds up its parts: one multiprocessor
//             reads them all, one after the other. Here the blocks store their sums and end, and a
//             second launch over all multiprocessors adds them up: each output by a thread, or by a
//             few where parts are many.
// Prediction  102 x 1528 x 13237: of 125 us the sums of 11 parts take 9 and a second piece 2; the
//             second launch takes 3 to 4. Measured: 108.
// Limits      The second launch, 2 to 3 us: tiles whose parts are few or small are better off in
//             one.
// Order       One accumulator per output and piece, k ascending; pieces in ascending order of k,
//             parts likewise by each thread that has some, then the threads' sums. Their numbers
//             follow from the shape, the configuration and the number of SMs.
#include <algorithm>
#include <optional>

#include "sgemm/production.hpp"
#include "sgemm/spread_blocks.hpp"
#include "sgemm/stream/operands_of.hpp"
#include "sgemm/stream/parts_plan.hpp"
#include "sgemm/stream/stream_tile.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace stream_tile {

// blockIdx.x, read again, as reread_thread_index reads the thread's.
__device__ __forceinline__ int reread_block_index() {
#if defined(__CUDA_ARCH__)
  int index;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(index));
  return index;
#else
  return static_cast<int>(blockIdx.x);
#endif
}

// The schedule as a block sees it that adds up its pieces where it stores their sum.
template <StreamTileConfig config>
struct PartsScheduler : Scheduler<config> {
  using Scheduler<config>::Scheduler;
  __device__ __forceinline__ int totals_slot(const StreamWork& work) const {
    return work.tile + reread_block_index();
  }
};

// The sums of a block's shares go to the workspace.
template <StreamTileConfig config>
__device__ __forceinline__ void store_parts(Shared<config>& shared, const Sgemm& p,
                                            const PartsSchedule& schedule,
                                            const Workspace& workspace) {
  using S = Shape<config>;
  const PartsScheduler<config> scheduler(schedule.stream, p);
  Pieces<config, PartsScheduler<config>> pieces(shared, scheduler, workspace);
  const bool reads = reads_operands(p);
  for (StreamWork work = scheduler.first(); work.valid(); work = scheduler.next(work)) {
    float out[S::outputs];
    pieces.multiply(work, reads, p.k, out);
    int tile = work.tile;
    forget(tile);
    TileSums<S::consumers, S::outputs>(workspace, tile + reread_block_index(),
                                       OwnOutputs<config>().tid)
        .store(out);
  }
}

// Likewise each piece's. A work that is short has fewer; zeros are in the places of the others.
template <StreamTileConfig config>
__device__ __forceinline__ void store_pieces(Shared<config>& shared, const Sgemm& p,
                                             const PartsSchedule& schedule,
                                             const Workspace& workspace) {
  using S = Shape<config>;
  static_assert(S::warps_k == 1, "a piece's sums are its accumulators");
  const Scheduler<config> scheduler(schedule.stream, p);
  Consumer<config> consumer(shared);
  for (StreamWork work = scheduler.first(); work.valid(); work = scheduler.next(work)) {
#pragma unroll 1
    for (int number = 0; number < schedule.stored; ++number) {
      float acc[S::TM][S::TN], out[S::outputs];
      const StreamWork piece = schedule.piece(work, number);
      consumer.multiply(piece.end - piece.begin, scheduler.last_k(piece, p.k), acc);
      forget(number);
#pragma unroll
      for (int i = 0; i < S::TM; ++i)
#pragma unroll
        for (int j = 0; j < S::TN; ++j) out[i * S::TN + j] = acc[i][j];
      const int slot = schedule.slot(work.tile, static_cast<int>(blockIdx.x)) + number;
      TileSums<S::consumers, S::outputs>(workspace, slot, OwnOutputs<config>().tid).store(out);
    }
  }
}

// `row` of parts_tiles; `along_k`: its instance for operands that both lie along k.
template <int row, bool along_k>
__global__ void __launch_bounds__(parts_tiles[row].config.threads(),
                                  parts_tiles[row].config.blocks_per_sm)
    multiply_parts(__grid_constant__ const Sgemm p, __grid_constant__ const Operands operands,
                   __grid_constant__ const PartsSchedule schedule,
                   __grid_constant__ const Workspace workspace) {
  constexpr StreamTileConfig config =
      along_k ? parts_tiles[row].config.turned_config() : parts_tiles[row].config;
  if constexpr (runs_here(config)) {
    auto& shared = *gpu::dynamic_shared<Shared<config>>();
    init_ring(shared.full, shared.free, Shape<config>::producers, 1);
    __syncthreads();
    wait_for_previous_kernel();
    if (threadIdx.x < Shape<config>::producers) {
      if constexpr (config.moves_registers()) setmaxnreg_dealloc<config.producer_registers>();
      produce<config, Scheduler<config>, true>(shared, p, operands, schedule.stream);
    } else {
      if constexpr (config.moves_registers()) setmaxnreg_alloc<config.consumer_registers>();
      if constexpr (parts_tiles[row].stores_pieces)
        store_pieces<config>(shared, p, schedule, workspace);
      else
        store_parts<config>(shared, p, schedule, workspace);
    }
  }
}

// C = alpha * (sum of all parts) + beta * C. A block has some vectors of a tile, and `groups`
// threads have each.
template <int row>
__global__ void __launch_bounds__(parts_adders)
    add_all_parts(__grid_constant__ const PlainSgemm p, __grid_constant__ const PartsSchedule s,
                  const float4* const parts, bool c16) {
  constexpr StreamTileConfig config = parts_tiles[row].config;
  using S = Shape<config>;
  constexpr int vectors = S::BM * S::BN / 4;
  static_assert(vectors % parts_adders == 0);
  __shared__ float4 sums[parts_adders];
  const int tid = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int across = parts_adders / s.groups, blocks_of_tile = vectors / across;
  const int tile = block / blocks_of_tile, group = tid / across;
  const int vector = block % blocks_of_tile * across + tid % across;
  const StreamParts all = s.parts(tile);
  const int count = all.count * s.stored;
  const int begin = group * count / s.groups, end = (group + 1) * count / s.groups;
  const float4* at = parts + s.slot(tile, all.first_block) * std::int64_t{vectors} + vector;
  const OwnOutputs<config> own(vector % S::consumers);
  const StreamTileIndex index = s.stream.place(tile);  // where the four outputs lie in C
  const std::int64_t to_row = index.row * std::int64_t{S::BM} + own.row_of(vector / S::consumers);
  const std::int64_t to_col = index.col * std::int64_t{S::BN} + own.col_of(vector / S::consumers);

  wait_for_previous_kernel();
  let_next_kernel_start();
  float sum[4] = {};
#pragma unroll 1
  for (int first = begin; first < end; first += parts_at_once) {
    float4 part[parts_at_once];
#pragma unroll
    for (int i = 0; i < parts_at_once; ++i)
      part[i] = first + i < end ? __ldcg(at + (first + i) * std::int64_t{vectors})
                                : make_float4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < parts_at_once; ++i) add_quad(part[i], sum);
  }
  if (s.groups > 1) {
    sums[tid] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    __syncthreads();
    if (group > 0) return;
    for (int g = 1; g < s.groups; ++g) {
      const float4 more = sums[g * across + tid];
      sum[0] += more.x, sum[1] += more.y, sum[2] += more.z, sum[3] += more.w;
    }
  }
  if (c16 && to_col + 3 < p.n) {
    if (to_row < p.m) store_row<false, 4, true>(p, to_row, to_col, sum);
  } else {
    store_row<true, 4, true>(p, to_row, to_col, sum);
  }
}

}  // namespace stream_tile

namespace {

template <int row>
struct PartsRow {
  static constexpr PartsTile tile = parts_tiles[row];
  static constexpr StreamTileConfig config = tile.config;

  static std::optional<Plan<Sgemm>> make_plan(const Sgemm& p, const Device& device) {
    if (!stream_has_instructions(config, device) ||
        device.shared_bytes_per_block_optin < stream_tile::shared_bytes<config>(false))
      return std::nullopt;
    const std::optional<PartsPlan> planned = plan_parts(tile, p, device);
    if (!planned) return std::nullopt;
    Plan<Sgemm> plan = {.time_us = planned->time_us,
                        .cost = planned->time_us,
                        .workspace_bytes = parts_workspace_bytes(config, planned->schedule)};
    plan.data.set(planned->schedule);
    return plan;
  }
  static Status launch_plan(const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                            Workspace workspace, Stream stream) {
    const auto schedule = plan.data.get<PartsSchedule>();
    const std::size_t needed = stream_tile::shared_bytes<config>(false);
    const auto blocks = schedule.stream.blocks;
    const stream_tile::Operands operands = stream_operands_of(p);
    auto* kernel = stream_tile::multiply_parts<row, false>;
    if constexpr (tile.turns) {
      if (both_along_k(p)) kernel = stream_tile::multiply_parts<row, true>;
    }
    const Status status = gpu::launch(
        kernel,
        {.grid = dim3(static_cast<unsigned>(blocks)),
         .block = dim3(static_cast<unsigned>(config.threads())),
         .shared_bytes =
             blocks <= device.sm_count ? shared_bytes_that_spread(blocks, needed, device) : needed,
         .stream = stream,
         .overlap = true},
        p, operands, schedule, workspace);
    if (!status.ok()) return status;
    const int blocks_of_tile = config.bm * config.bn / 4 * schedule.groups / parts_adders;
    return gpu::launch(stream_tile::add_all_parts<row>,
                       {.grid = dim3(static_cast<unsigned>(schedule.stream.tiles * blocks_of_tile)),
                        .block = dim3(parts_adders),
                        .stream = stream,
                        .overlap = true},
                       static_cast<const PlainSgemm&>(p), schedule,
                       static_cast<const float4*>(workspace.data), operands.c16);
  }
  static Kernel<Sgemm> kernel() {
    return {.name = tile.name,
            .parent = nullptr,
            .idea = tile.idea,
            .role = Role::production,
            .math = Math::fp32,
            .make_plan = make_plan,
            .launch_plan = launch_plan};
  }
};

}  // namespace

KernelList<Sgemm> parts_rows() {
  return kernels_of<parts_tiles>([](auto row) { return PartsRow<row>::kernel(); });
}

}  // namespace KW_TARGET
