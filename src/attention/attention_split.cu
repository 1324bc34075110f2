// attention_split: both products of attention on Hopper's tensor cores, to FP32's accuracy.
//
// Idea    Q, K and V are split into two fp16 pieces each by one pass (split_pass.hpp); three of the
//         four products of pieces make up a product, the small ones first, in one accumulator. A
//         block has 128 queries, two warpgroups of 64 that multiply and a warp that brings tiles of
//         64 keys by bulk copies. Scores are turned into weights in the registers that tensor cores
//         left them in, which are those that an operand wants; a weight's pieces are made there.
//         Every 64 keys are a window: tensor cores sum them in an accumulator that starts anew,
//         which is then added to O in FP32, as online softmax's rescaling does anyway. While O is
//         updated, the scores of the next tile are on their way.
// Limits  Three products for one: 240 TFLOP/s at the clocks that 700 W leave; the softmax, which
//         the other warpgroup's products cover in part.
// Way     Where the pieces do not hold the data (split_layout.hpp), the blocks exit and a kernel in
//         plain FP32, launched behind, computes.
// Method  Ootomo and Yokota 2022 for the pieces; Shah et al. 2024 (FlashAttention-3) for the order.
#include <algorithm>

#include "attention/production.hpp"
#include "attention/split_consumer.hpp"
#include "select.hpp"

namespace KW_TARGET {
namespace {

using namespace attention;
using namespace attention_split;

template <int dim>
__global__ void __launch_bounds__(split_threads, 1)
    attention_split_kernel([[maybe_unused]] __grid_constant__ const SplitParams params) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  auto& shared = *gpu::dynamic_shared<SplitShared<dim>>();
  if (threadIdx.x == 0) shared.init_barriers();
  wait_for_previous_kernel();
  let_next_kernel_start();
  Control& control = params.control();
  const bool holds = pieces_hold(control, params.p.scale, params.p.dim);
  if (blockIdx.x == 0 && threadIdx.x == 0) control.takes_fp32 = holds ? 0 : 1;
  if (!holds) return;
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / warpgroup_threads;
  if (group == 0) {
    setmaxnreg_dealloc<24>();
    if (threadIdx.x < warp_lanes) SplitProducer<dim>(shared, params).run();
  } else {
    setmaxnreg_alloc<240>();
    SplitConsumer<dim>(shared, params, any_of_warp(group == 2) ? 1 : 0).run();
  }
#endif
}

constexpr int split_dim(std::int64_t dim) { return dim <= 64 ? 64 : 128; }

std::size_t split_shared_bytes(std::int64_t dim) {
  return split_dim(dim) == 64 ? sizeof(SplitShared<64>) : sizeof(SplitShared<128>);
}

// The split pass and the products.
template <int dim>
Status launch_pieces(const SplitParams& params, std::int64_t blocks, Stream stream) {
  Status status = gpu::launch(split_pass<dim>,
                              {dim3(static_cast<unsigned>(params.q_items + 2 * params.k_items)),
                               dim3(pass_threads), 0, stream, true},
                              params);
  if (!status.ok()) return status;
  return gpu::launch(attention_split_kernel<dim>,
                     {dim3(static_cast<unsigned>(blocks)), dim3(split_threads),
                      sizeof(SplitShared<dim>), stream, true},
                     params);
}

}  // namespace

std::optional<Plan<Attention>> attention_split_make_plan(const Attention& p, const Device& device) {
  const bool has_instructions =
      device.kind == DeviceKind::host_simt
          ? device.warp_size == 32
          : device.kind == DeviceKind::cuda && device.compute_capability == 90;
  const std::int64_t most = 0x7FFFFFFF;
  const Layout layout(p, split_dim(p.dim));
  const std::int64_t items =
      p.batch * (p.heads * layout.q_blocks + 2 * p.kv_heads * layout.k_blocks);
  if (!has_instructions || p.dim > 128 || p.dim < 33 || p.keys == 0 || items > most ||
      device.shared_bytes_per_block_optin < split_shared_bytes(p.dim))
    return std::nullopt;
  Plan<Attention> plan;
  const double tiles =
      static_cast<double>(p.batch * p.heads) * static_cast<double>(layout.q_blocks) / 2;
  const double share = p.pairs() / (static_cast<double>(p.queries) * static_cast<double>(p.keys));
  const double tile_us = 4.0 * tile_queries * static_cast<double>(p.keys) * split_dim(p.dim) /
                             (split_dim(p.dim) == 64 ? 1.6e6 : 1.8e6) +
                         2;
  const double waves = tiles * share / device.sm_count + (share < 1 ? 0.5 : 0.0);
  plan.time_us =
      13.0 + tile_us * std::max(1.0, waves) + static_cast<double>(layout.end) * 2 / 3.5e6;
  plan.cost = plan.time_us;
  return plan;
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
                     tile_order(p, p.keys * padded * 8),
                     rows_aligned_16(p.q, p.q_strides, p.dim),
                     rows_aligned_16(p.k, p.k_strides, p.dim)};
  params.q_items = p.batch * p.heads * params.layout.q_blocks;
  params.k_items = p.batch * p.kv_heads * params.layout.k_blocks;
  auto* const control = static_cast<Control*>(workspace.data);
  const Status cleared = gpu::launch(clear_control, {dim3(1), dim3(32), 0, stream}, control);
  if (!cleared.ok()) return cleared;
  const auto launch = padded == 64 ? launch_pieces<64> : launch_pieces<128>;
  // Where a tile is short, or has its own length, blocks stay and take one after the other: the
  // next one's operands come while the last one ends.
  const std::int64_t tiles = params.q_items / 2;
  const bool stays = p.causal != Causal::none || p.keys <= 1024;
  const Status computed =
      launch(params, stays ? std::min<std::int64_t>(tiles, device.sm_count) : tiles, stream);
  if (!computed.ok()) return computed;
  Attention fallback = p;
  fallback.only_if = &control->takes_fp32;
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
