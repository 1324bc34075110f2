// The complex stream tiles: products of complex matrices as they are stored, for sides of hundreds.
//
// Idea        Some warps of a block only copy (producers), the others only multiply (consumers); a
//             ring of stages lies between them, as in sgemm's stream_tile. A thread has 8 x 8
//             outputs: 256 FFMAs for 32 floats of shared memory, where a real product of twice the
//             sides needs 48; in small tiles 4 x 8 or, by two groups of warps, 4 x 16. Each block
//             takes the same number of whole tiles of C; the iterations of the remaining ones are
//             cut into equal shares (sgemm/stream/schedule.hpp), and the last block to arrive at a
//             tile adds up its parts.
// Prediction  One consumer warp a scheduler at 85 % of the FFMA peak, as stream_tile's: 1024 cubed
//             in 160 us.
// Limits      Whole matrices; sums up to longest_complex_sum where there is workspace.
// Order       k ascending within a part, parts ascending: the same bits for the same call.
#include <algorithm>
#include <optional>

#include "cgemm/production.hpp"
#include "cgemm/stream/operands_of.hpp"
#include "cgemm/stream/plan.hpp"
#include "cgemm/stream/store.hpp"
#include "cgemm/stream/work.hpp"
#include "device/overlap.hpp"
#include "sgemm/spread_blocks.hpp"
#include "sgemm/stream/fixup.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace complex_stream {
namespace {

struct Params {
  Cgemm problem;
  Operands operands;
  StreamSchedule schedule;
  Workspace workspace;
};

template <ComplexStreamConfig config>
__device__ __forceinline__ void consume(Shared<config>& shared, const Params& params) {
  const StreamSchedule& schedule = params.schedule;
  const Cgemm& p = params.problem;
  const auto block = static_cast<int>(blockIdx.x);
  const Way way{schedule, block};
  if (p.alpha_at != nullptr) wait_for_previous_kernel();  // for the scalars
  const bool reads = Finish(p).has_sum;
  Consumer<config> consumer(shared);
  for (StreamWork work = way.first(); work.valid(); work = way.next(work)) {
    Pairs<config> out;
    sum_of_work<config>(shared, consumer, p, work, reads, out);
    const Store<config> store(p, params.operands.c16, schedule.place(work.tile));
    if constexpr (config.clusters) {
      if (schedule.in_clusters())
        return ClusterSums<config>::add(shared, schedule.cluster, out,
                                        [&](int v, const float(&sums)[4]) { store.one(v, sums); });
    }
    if (!schedule.whole(work)) {
      const int tid = reread_thread_index() - Shape<config>::producers;
      const StreamParts parts = schedule.parts(work, block);
      if (!stream_tile::add_parts<Shape<config>::consumers, true>(
              params.workspace, schedule, parts, tid, shared.is_last,
              [] { sync_consumers<config>(); }, out))
        continue;
    }
    store.all(shared, out);
  }
}

// `row` of tuning.hpp's table.
template <int row>
__global__ void __launch_bounds__(complex_stream_tiles[row].config.threads(),
                                  complex_stream_tiles[row].config.compiled_blocks())
    complex_stream([[maybe_unused]] __grid_constant__ const Params params) {
  if constexpr (runs_here()) {
    constexpr ComplexStreamConfig config = complex_stream_tiles[row].config;
    auto& shared = *gpu::dynamic_shared<Shared<config>>();
    const bool in_clusters = config.clusters && params.schedule.in_clusters();
    init_ring(shared.full, shared.free, Shape<config>::arrivals, Shape<config>::consumers / 32);
    if (in_clusters) open_to_cluster(shared.received);
    __syncthreads();
    if (threadIdx.x < Shape<config>::producers) {
      setmaxnreg_dealloc<config.producer_registers>();
      produce<config>(shared, params.problem, params.operands, params.schedule,
                      static_cast<int>(blockIdx.x));
      if (in_clusters) wait_for_cluster();
    } else {
      setmaxnreg_alloc<config.consumer_registers>();
      consume<config>(shared, params);
    }
  }
}

// --- the rows of the registry

template <int row>
struct Row {
  static constexpr ComplexStreamTile tile = complex_stream_tiles[row];
  static constexpr ComplexStreamConfig config = tile.config;

  static std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
    if (!has_stream_instructions(device) ||
        device.shared_bytes_per_block_optin < shared_bytes<config>(true))
      return std::nullopt;
    const std::optional<ComplexStreamPlan> planned = plan_complex_stream(tile, p, device);
    if (!planned) return std::nullopt;
    Plan<Cgemm> plan;
    plan.time_us = plan.cost = planned->us;
    plan.workspace_bytes = complex_stream_workspace_bytes(config, planned->schedule);
    plan.min_workspace_bytes = 0;  // all tiles whole, with longer sums
    plan.data.set(planned->schedule);
    return plan;
  }
  static Status launch_plan(const Cgemm& p, const Device& device, const Plan<Cgemm>& plan,
                            Workspace workspace, Stream stream) {
    auto schedule = plan.data.get<StreamSchedule>();
    if (workspace.bytes < complex_stream_workspace_bytes(config, schedule))
      schedule = without_shares(schedule);
    const std::size_t bytes = shared_bytes_that_spread(
        schedule.blocks, shared_bytes<config>(schedule.in_clusters()), device);
    return gpu::launch(complex_stream<row>,
                       {.grid = dim3(static_cast<unsigned>(schedule.blocks)),
                        .block = dim3(static_cast<unsigned>(config.threads())),
                        .shared_bytes = bytes,
                        .stream = stream,
                        .overlap = true,
                        .cluster = std::max(1, schedule.cluster)},
                       Params{p, stream_operands_of(p), schedule, workspace});
  }
  static Kernel<Cgemm> kernel() {
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
}  // namespace complex_stream

KernelList<Cgemm> cgemm_stream_rows() {
  return kernels_of<complex_stream_tiles>(
      [](auto row) { return complex_stream::Row<row>::kernel(); });
}

}  // namespace KW_TARGET
