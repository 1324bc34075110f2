// cgemm_edge_*: complex products of one tile for each multiprocessor.
//
// Idea        Where tiles are not as many as multiprocessors, stream.cu cuts those of the last wave
//             along k, and adding up their parts takes a tenth of a product of 100 us. A tile here
//             has as many outputs as there are for each multiprocessor, 96 x 64 of 896 x 896, and
//             the last rows, too few for such tiles, go to blocks with as many outputs of another
//             shape in the same launch. No sum is cut.
// Prediction  896 cubed by 126 tiles of 96x64 and 6 of 32x160 in 110 us, where parts of 128x64 take
//             117: it takes 112, as copies take a twentieth of the multiprocessors' instructions.
// Limits      Tiles that nearly fill the multiprocessors, once or a few times.
// Order       k ascending, by two groups of warps: the same bits for the same call.
#include <algorithm>
#include <optional>

#include "cgemm/production.hpp"
#include "cgemm/stream/edge_plan.hpp"
#include "cgemm/stream/operands_of.hpp"
#include "cgemm/stream/store.hpp"
#include "cgemm/stream/work.hpp"
#include "device/overlap.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace complex_stream {
namespace {

struct EdgeParams {
  Cgemm problem;
  Operands operands;
  StreamSchedule whole, rest;
  int rest_row;  // of the rest's tiles
};

// Computes a tile of p, that of `block` of the schedule, whose tiles begin `first_row` tiles down.
template <ComplexStreamConfig config>
__device__ __forceinline__ void compute_tile(const Cgemm& p, const Operands& operands,
                                             const StreamSchedule& schedule, int block,
                                             int first_row) {
  auto& shared = *gpu::dynamic_shared<Shared<config>>();
  init_ring(shared.full, shared.free, Shape<config>::arrivals, Shape<config>::consumers / 32);
  __syncthreads();
  if (threadIdx.x < Shape<config>::producers) {
    setmaxnreg_dealloc<config.producer_registers>();
    produce<config>(shared, p, operands, schedule, block, first_row);
  } else {
    setmaxnreg_alloc<config.consumer_registers>();
    if (p.alpha_at != nullptr) wait_for_previous_kernel();  // for the scalars
    Consumer<config> consumer(shared);
    Pairs<config> out;
    sum_of_work<config>(shared, consumer, p, {block, 0, schedule.iterations}, Finish(p).has_sum,
                        out);
    StreamTileIndex tile = schedule.place(block);
    tile.row += first_row;
    Store<config>(p, operands.c16, tile).all(shared, out);
  }
}

// `row` of complex_edge_tiles.
template <int row>
__global__ void __launch_bounds__(complex_edge_tiles[row].whole.threads(), 1)
    complex_edge([[maybe_unused]] __grid_constant__ const EdgeParams params) {
  if constexpr (runs_here()) {
    constexpr ComplexEdgeTile tile = complex_edge_tiles[row];
    static_assert(tile.whole.threads() == tile.rest.threads());
    static_assert(tile.whole.bm % tile.rest.bm == 0);
    const int block = static_cast<int>(blockIdx.x), first = params.whole.blocks;
    if (block < first)
      compute_tile<tile.whole>(params.problem, params.operands, params.whole, block, 0);
    else
      compute_tile<tile.rest>(params.problem, params.operands, params.rest, block - first,
                              params.rest_row);
  }
}

// --- the rows of the registry

template <int row>
struct EdgeRow {
  static constexpr ComplexEdgeTile tile = complex_edge_tiles[row];
  static constexpr std::size_t bytes =
      std::max(shared_bytes<tile.whole>(false), shared_bytes<tile.rest>(false));

  static std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
    if (!has_stream_instructions(device) || device.shared_bytes_per_block_optin < bytes)
      return std::nullopt;
    const std::optional<ComplexEdgePlan> planned = plan_complex_edge(tile, p, device);
    if (!planned) return std::nullopt;
    Plan<Cgemm> plan;
    plan.time_us = plan.cost = planned->us;
    plan.data.set(*planned);
    return plan;
  }
  static Status launch_plan(const Cgemm& p, const Device&, const Plan<Cgemm>& plan, Workspace,
                            Stream stream) {
    const auto planned = plan.data.get<ComplexEdgePlan>();
    const EdgeParams params{p, stream_operands_of(p), planned.whole, planned.rest,
                            static_cast<int>(planned.rows / tile.rest.bm)};
    return gpu::launch(complex_edge<row>,
                       {.grid = dim3(static_cast<unsigned>(planned.blocks())),
                        .block = dim3(static_cast<unsigned>(tile.whole.threads())),
                        .shared_bytes = bytes,
                        .stream = stream,
                        .overlap = true},
                       params);
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

KernelList<Cgemm> cgemm_edge_rows() {
  return kernels_of<complex_edge_tiles>(
      [](auto row) { return complex_stream::EdgeRow<row>::kernel(); });
}

}  // namespace KW_TARGET
