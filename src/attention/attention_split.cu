// attention_split: both products of attention on Hopper's tensor cores, to FP32's accuracy.
//
// Idea    K and V are split into two fp16 pieces each (split_maker.hpp), Q into those of its own
//         tile; three of the four products of pieces make up a product, the small ones first, in
//         one accumulator. A block has 128 queries, two warpgroups of 64 that multiply, a warp that
//         brings tiles of 64 keys by bulk copies, and three that make pieces of K and V for all
//         blocks, a little ahead of their use: reading and splitting go on beside the products.
//         Scores are turned into weights in the registers that tensor cores left them in, which are
//         those that an operand wants; a weight's pieces are made there. Every 64 keys are a
//         window: tensor cores sum them in an accumulator that starts anew, which is then added to
//         O in FP32, as online softmax's rescaling does anyway. While O is updated, the scores of
//         the next tile are on their way.
// Limits  Three products for one: 240 TFLOP/s at the clocks that 700 W leave; the softmax, which
//         the other warpgroup's products cover in part.
// Way     Where the pieces do not hold the data (split_layout.hpp), whoever finds it says so, and a
//         kernel in plain FP32, launched behind, computes everything anew.
// Method  Ootomo and Yokota 2022 for the pieces; Shah et al. 2024 (FlashAttention-3) for the order.
#include <algorithm>
#include <cmath>

#include "attention/configurations.hpp"
#include "attention/production.hpp"
#include "attention/split_wide.hpp"
#include "device/overlap.hpp"
#include "select.hpp"

namespace KW_TARGET {
namespace {

using namespace attention;
using namespace attention_split;

constexpr int clear_threads = 256;

// The counters and the notes.
__global__ void __launch_bounds__(clear_threads) clear_workspace(uint4* data, std::int64_t count) {
  let_next_kernel_start();
  const std::int64_t i = std::int64_t{blockIdx.x} * clear_threads + threadIdx.x;
  if (i < count) data[i] = make_uint4(0, 0, 0, 0);
}

// Microseconds on an H200, of one multiprocessor, fitted to random problems in both orders
// (results/h200/explored-attention-uniform.txt): a tile of keys; what a tile of queries takes
// beside its tiles of keys; a block of K or V that is split beside products, and by how much that
// delays them; and such a block in a launch in front.
struct SplitTimes {
  double tile_us, begin_us, block_us, delay_us, first_us;
};
// An instance, for head sizes up to `dim`: registers a thread of the warps that fetch and make
// pieces, and of those that multiply; blocks of a launch in front that a multiprocessor has.
struct SplitConfig {
  int dim, side_registers, consumer_registers;
  unsigned in_front;
  SplitTimes times;
};
constexpr SplitConfig split_configs[] = {
    {64, 72, 216, 4, {1.13, 3.91, 1.87, 0.57, 1.27}},
    {128, 40, 232, 6, {2.32, 5.91, 5.5, 1.95, 3.11}},
    {wide_dim, 24, 240, 3, {4.1, 10.0, 0.0, 0.0, 6.6}},
};
constexpr int least_dim = 17, most_dim = wide_dim;
// The first that holds a head size; the last one where none does.
constexpr const SplitConfig& split_config(std::int64_t dim) {
  const SplitConfig* config = split_configs;
  while (config->dim < dim && config->dim < most_dim) ++config;
  return *config;
}
constexpr int split_dim(std::int64_t dim) { return split_config(dim).dim; }
// Calls visit(std::integral_constant<int, dim>) of the instance for this head size.
template <int row = 0, class Visit>
auto with_split_dim(std::int64_t dim, const Visit& visit) {
  constexpr int own = split_configs[row].dim;
  if constexpr (own < most_dim) {
    if (dim > own) return with_split_dim<row + 1>(dim, visit);
  }
  return visit(std::integral_constant<int, own>());
}

// Splits all blocks of the list.
template <int dim>
__global__ void __launch_bounds__(maker_threads)
    split_first_kernel([[maybe_unused]] __grid_constant__ const SplitParams params) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  auto& shared = *gpu::dynamic_shared<MakerShared<dim>>();
  wait_for_previous_kernel();
  let_next_kernel_start();
  SplitMaker<dim, true>(shared, params).run();
#endif
}

template <int dim>
__global__ void __launch_bounds__(split_threads, 1)
    attention_split_kernel([[maybe_unused]] __grid_constant__ const SplitParams params) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  auto& shared = *gpu::dynamic_shared<SplitShared<dim>>();
  if (threadIdx.x == 0) shared.init_barriers();
  let_next_kernel_start();
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / warpgroup_threads;
  if (group == 0) {
    setmaxnreg_dealloc<split_config(dim).side_registers>();
    if (threadIdx.x < warp_lanes)
      SplitProducer<dim>(shared, params).run();
    else if constexpr (dim < wide_dim)
      SplitMaker<dim, false>(shared.makers, params).run();
  } else {
    setmaxnreg_alloc<split_config(dim).consumer_registers>();
    using Consumer = std::conditional_t<dim == wide_dim, WideConsumer, SplitConsumer<dim>>;
    Consumer(shared, params, any_of_warp(group == 2) ? 1 : 0).run();
  }
#endif
}

constexpr double launches_us = 5.8, launch_in_front_us = 1;

// What a multiprocessor has of it.
struct SplitWork {
  double tiles, blocks;  // of queries; of K and V
  double beside;         // blocks of K and V, if those split them that have tiles of queries
  double key_tiles;      // that a tile of queries has on average
};
SplitWork work_of(const Attention& p, const Layout& layout, const Device& device) {
  const auto number = [](std::int64_t x) { return static_cast<double>(x); };
  const double share = p.pairs() / (number(p.queries) * number(p.keys)),
               key_tiles = number(layout.k_blocks) * share + (share < 1 ? 1.0 : 0.0);
  const double tiles = number(p.batch * p.heads * layout.q_tiles),
               blocks = 2 * number(p.batch * p.kv_heads * layout.k_blocks);
  return {tiles / device.sm_count, blocks / device.sm_count,
          blocks / std::min(tiles, number(device.sm_count)),
          std::min(key_tiles, number(layout.k_blocks))};
}

Plan<Attention> plan_of(const Attention& p, const Layout& layout, const Device& device) {
  const SplitConfig& config = split_config(p.dim);
  const SplitTimes& times = config.times;
  const SplitWork work = work_of(p, layout, device);
  const double all_keys = static_cast<double>(layout.k_blocks),
               longest_us = times.begin_us + times.tile_us * all_keys;
  const double tiles_us =
      work.key_tiles < all_keys
          ? (times.begin_us + times.tile_us * work.key_tiles) * work.tiles + 0.3 * longest_us
          : longest_us * std::ceil(work.tiles);
  const double products_us = std::max(longest_us, tiles_us),
               first_us = products_us + times.first_us * work.blocks + launch_in_front_us,
               beside_us = std::max(products_us + times.delay_us * work.beside,
                                    times.block_us * work.beside);
  Plan<Attention> plan;
  const bool is_first = config.dim == wide_dim || first_us < beside_us;
  plan.time_us = plan.cost = launches_us + (is_first ? first_us : beside_us);
  plan.data.set(SplitSchedule{is_first});
  return plan;
}

std::size_t split_shared_bytes(std::int64_t dim) {
  return with_split_dim(dim, [](auto padded) { return sizeof(SplitShared<padded>); });
}

template <int dim>
Status launch_kernel(const SplitParams& params, std::int64_t blocks, int sm_count, Stream stream) {
  if (params.splits_first) {
    constexpr unsigned teams = MakerShared<dim>::teams, at_once = split_config(dim).in_front;
    const unsigned grid = std::min(ceil_div(static_cast<unsigned>(2 * params.k_blocks), teams),
                                   static_cast<unsigned>(sm_count) * at_once);
    const Status split = gpu::launch(
        split_first_kernel<dim>,
        {dim3(grid), dim3(maker_threads), sizeof(MakerShared<dim>), stream, true}, params);
    if (!split.ok()) return split;
  }
  return gpu::launch(attention_split_kernel<dim>,
                     {dim3(static_cast<unsigned>(blocks)), dim3(split_threads),
                      sizeof(SplitShared<dim>), stream, true},
                     params);
}

Status clear(const SplitParams& params, Stream stream) {
  const std::int64_t count = params.layout.cleared_bytes() / 16;
  return gpu::launch(
      clear_workspace,
      {dim3(static_cast<unsigned>(ceil_div(count, clear_threads))), dim3(clear_threads), 0, stream},
      reinterpret_cast<uint4*>(params.workspace), count);
}

// So many heads at a time: their tiles of queries fill the device, about twice where tiles differ,
// and turns are of about as many heads; but the cache holds their pieces.
std::int64_t heads_at_once(const Attention& p, const Layout& layout, int sm_count) {
  constexpr std::int64_t cached = std::int64_t{48} << 20;
  const std::int64_t heads = p.batch * p.heads,
                     bytes = 2 * layout.k_blocks * block_bytes(split_dim(p.dim)) / p.group(),
                     filling =
                         (p.causal == Causal::none ? 1 : 2) * ceil_div(sm_count, layout.q_tiles),
                     turns = std::max<std::int64_t>(1, (heads + filling / 2) / filling),
                     most = std::max<std::int64_t>(1, cached / std::max<std::int64_t>(1, bytes));
  return std::min(ceil_div(heads, turns), most);
}

}  // namespace

std::optional<Plan<Attention>> attention_split_make_plan(const Attention& p, const Device& device) {
  const std::int64_t most = 0x7FFFFFFF;
  const Layout layout(p, split_dim(p.dim));
  const std::int64_t tiles_of_queries = p.batch * p.heads * layout.q_tiles,
                     blocks = 2 * p.batch * p.kv_heads * layout.k_blocks;
  if (!has_hopper_instructions(device) || p.dim > most_dim || p.dim < least_dim || p.keys == 0 ||
      std::max(tiles_of_queries, blocks) > most ||
      device.shared_bytes_per_block_optin < split_shared_bytes(p.dim))
    return std::nullopt;
  return plan_of(p, layout, device);
}

void attention_split_complete_plan(const Attention& p, const Device& device,
                                   Plan<Attention>& plan) {
  static const KernelList<Attention> fallbacks = attention_fp32();
  plan.workspace_bytes = static_cast<std::size_t>(Layout(p, split_dim(p.dim)).end);
  plan.parts = {
      *select_kernel(p, device, fallbacks, Math::fp32, plan.workspace_bytes - control_bytes)};
}

Status attention_split_launch_plan(const Attention& p, const Device& device,
                                   const Plan<Attention>& plan, Workspace workspace,
                                   Stream stream) {
  const int padded = split_dim(p.dim);
  SplitParams params{p,
                     Layout(p, padded),
                     static_cast<char*>(workspace.data),
                     0,
                     0,
                     {},
                     {},
                     plan.data.get<SplitSchedule>().splits_first,
                     rows_aligned_16(p.q, p.q_strides, p.dim),
                     rows_aligned_16(p.k, p.k_strides, p.dim),
                     rows_aligned_16(p.v, p.v_strides, p.dim)};
  params.q_tiles = p.batch * p.heads * params.layout.q_tiles;
  params.k_blocks = p.batch * p.kv_heads * params.layout.k_blocks;
  const std::int64_t heads = heads_at_once(p, params.layout, device.sm_count);
  if (p.causal != Causal::none) params.order = {static_cast<unsigned>(heads), true};
  params.turns = {p, params.layout.k_blocks, ceil_div(heads, p.group())};
  const Status cleared = clear(params, stream);
  if (!cleared.ok()) return cleared;
  // Blocks stay and take one tile after the other.
  const Status computed = with_split_dim(p.dim, [&](auto dim) {
    return launch_kernel<dim>(params, std::min<std::int64_t>(params.q_tiles, device.sm_count),
                              device.sm_count, stream);
  });
  if (!computed.ok()) return computed;
  Attention fallback = p;
  fallback.only_if = &static_cast<Control*>(workspace.data)->takes_fp32;
  // Where it computes, nobody needs the pieces' memory.
  return launch_planned(plan.parts[0], fallback, device,
                        {static_cast<char*>(workspace.data) + control_bytes,
                         plan.workspace_bytes - control_bytes, workspace.tickets},
                        stream);
}

const char* attention_split_path(const Attention&, const Device&, const Plan<Attention>&,
                                 const PathWords& words) {
  return words[0] != 0 ? "fp32" : "fp16x3";
}

}  // namespace KW_TARGET
