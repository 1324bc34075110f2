// cgemm_parts_*: complex products with few outputs and a long k, in two launches.
//
// Idea        All tiles are cut along k into equal shares, as the stream tiles cut those of their
//             last wave. There the last block to arrive at a tile adds up its parts: one
//             multiprocessor reads them all, one after the other. Here the blocks store their sums
//             and end, and a second launch over all multiprocessors adds them up, as sgemm's parts
//             do (sgemm/stream/parts.cu).
// Prediction  233 x 74 with a k of 2265: 8 us of products where the stream tiles take 19.3 in all,
//             so 13 with both launches' beginnings.
// Limits      The second launch, 2 to 3 us: tiles whose parts are few are better off in one.
// Order       k ascending within a part; parts likewise by each thread that has some, then the
//             threads' sums: the same bits for the same call.
#include <optional>

#include "cgemm/production.hpp"
#include "cgemm/stream/operands_of.hpp"
#include "cgemm/stream/parts_plan.hpp"
#include "cgemm/stream/work.hpp"
#include "sgemm/spread_blocks.hpp"
#include "sgemm/stream/tile_sums.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace complex_stream {
namespace {

// `row` of complex_parts_tiles. The sums of a block's shares go to the workspace.
template <int row>
__global__ void __launch_bounds__(complex_parts_tiles[row].stream.config.threads(),
                                  complex_parts_tiles[row].stream.config.compiled_blocks())
    multiply_parts([[maybe_unused]] __grid_constant__ const Cgemm p,
                   [[maybe_unused]] __grid_constant__ const Operands operands,
                   [[maybe_unused]] __grid_constant__ const ComplexPartsSchedule schedule,
                   [[maybe_unused]] __grid_constant__ const Workspace workspace) {
  if constexpr (runs_here()) {
    constexpr ComplexStreamConfig config = complex_parts_tiles[row].stream.config;
    using S = Shape<config>;
    auto& shared = *gpu::dynamic_shared<Shared<config>>();
    const int block = static_cast<int>(blockIdx.x);
    init_ring(shared.full, shared.free, S::arrivals, S::consumers / 32);
    __syncthreads();
    if (threadIdx.x < S::producers) {
      setmaxnreg_dealloc<config.producer_registers>();
      produce<config>(shared, p, operands, schedule.stream, block);
    } else {
      setmaxnreg_alloc<config.consumer_registers>();
      if (p.alpha_at != nullptr) wait_for_previous_kernel();  // for the scalars
      const bool reads = Finish(p).has_sum;
      const Way way{schedule.stream, block};
      Consumer<config> consumer(shared);
      for (StreamWork work = way.first(); work.valid(); work = way.next(work)) {
        Pairs<config> out;
        sum_of_work<config>(shared, consumer, p, work, reads, out);
        const int slot = schedule.slot(work.tile, block);
        stream_tile::TileSums<S::consumers, 4 * S::pairs>(workspace, slot,
                                                          reread_thread_index() - S::producers)
            .store(out);
      }
    }
  }
}

// C = alpha * (sum of all parts) + beta * C. A block has some pairs of a tile, and `groups` threads
// have each.
template <int row>
__global__ void __launch_bounds__(parts_adders)
    add_all_parts(__grid_constant__ const Cgemm p, __grid_constant__ const ComplexPartsSchedule s,
                  const float4* const parts, bool c16) {
  constexpr ComplexStreamConfig config = complex_parts_tiles[row].stream.config;
  using S = Shape<config>;
  using Own = OwnOutputs<config>;
  constexpr int vectors = S::BM * S::BN / 2, of_row = S::of_row;
  static_assert(vectors % parts_adders == 0);
  __shared__ float4 sums[parts_adders];
  const int tid = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int across = parts_adders / s.groups, blocks_of_tile = vectors / across;
  const int tile = block / blocks_of_tile, group = tid / across;
  const int vector = block % blocks_of_tile * across + tid % across;
  const StreamParts all = s.parts(tile);
  const int begin = group * all.count / s.groups, end = (group + 1) * all.count / s.groups;
  const float4* const at = parts + s.slot(tile, all.first_block) * std::int64_t{vectors} + vector;
  const Own own(vector % S::consumers);
  const int v = vector / S::consumers;
  const StreamTileIndex index = s.stream.place(tile);  // where the pair lies in C
  const std::int64_t to_row =
      index.row * std::int64_t{S::BM} + own.first_row() + Own::row_step(v / of_row);
  const std::int64_t to_col =
      index.col * std::int64_t{S::BN} + own.first_col() + Own::col_step(v % of_row * 2);

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
    sums[tid] = quad_of(sum);
    __syncthreads();
    if (group > 0) return;
    for (int g = 1; g < s.groups; ++g) add_quad(sums[g * across + tid], sum);
  }
  if (to_row >= p.m || to_col >= p.n) return;
  const Finish finish(p);
  Complex* const to = c_of(p, index.entry) + to_row * p.ldc + to_col;
  const Complex x = finish.element(to, make_float2(sum[0], sum[2]), p.conj_b);
  if (to_col + 1 >= p.n) {
    *to = x;
    return;
  }
  const Complex y = finish.element(to + 1, make_float2(sum[1], sum[3]), p.conj_b);
  if (c16) {
    *reinterpret_cast<float4*>(to) = make_float4(x.re, x.im, y.re, y.im);
  } else {
    to[0] = x;
    to[1] = y;
  }
}

// --- the rows of the registry

template <int row>
struct PartsRow {
  static constexpr ComplexPartsTile tile = complex_parts_tiles[row];
  static constexpr ComplexStreamConfig config = tile.stream.config;

  static std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
    if (!has_stream_instructions(device) ||
        device.shared_bytes_per_block_optin < shared_bytes<config>(false))
      return std::nullopt;
    const std::optional<ComplexPartsPlan> planned = plan_complex_parts(tile, p, device);
    if (!planned) return std::nullopt;
    Plan<Cgemm> plan;
    plan.time_us = plan.cost = planned->us;
    plan.workspace_bytes = complex_parts_bytes(tile, planned->schedule);
    plan.data.set(planned->schedule);
    return plan;
  }
  static Status launch_plan(const Cgemm& p, const Device& device, const Plan<Cgemm>& plan,
                            Workspace workspace, Stream stream) {
    const auto schedule = plan.data.get<ComplexPartsSchedule>();
    const Operands operands = stream_operands_of(p);
    const int blocks = schedule.stream.blocks;
    const Status status = gpu::launch(
        multiply_parts<row>,
        {.grid = dim3(static_cast<unsigned>(blocks)),
         .block = dim3(static_cast<unsigned>(config.threads())),
         .shared_bytes = shared_bytes_that_spread(blocks, shared_bytes<config>(false), device),
         .stream = stream,
         .overlap = true},
        p, operands, schedule, workspace);
    if (!status.ok()) return status;
    const int blocks_of_tile = config.bm * config.bn / 2 * schedule.groups / parts_adders;
    return gpu::launch(add_all_parts<row>,
                       {.grid = dim3(static_cast<unsigned>(schedule.stream.tiles * blocks_of_tile)),
                        .block = dim3(parts_adders),
                        .stream = stream,
                        .overlap = true},
                       p, schedule, static_cast<const float4*>(workspace.data), operands.c16);
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

KernelList<Cgemm> cgemm_parts_rows() {
  return kernels_of<complex_parts_tiles>(
      [](auto row) { return complex_stream::PartsRow<row>::kernel(); });
}

}  // namespace KW_TARGET
