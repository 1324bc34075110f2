// attention_tile: attention in plain FP32, in one launch, without the T x S weights in memory.
//
// Idea    A block has some queries of a head and goes through the keys, a tile at a time. A warp
//         owns whole rows: 8 per thread, so scores and weights never leave it, and only K and V are
//         the block's. Scores of a tile and the sums of O are register tiles of 8 x 8 as in a
//         product: Q and K lie k-major in shared memory (K transposed on its way), weights go back
//         to shared memory k-major and are multiplied with V as it lies. Halves of a tile of K
//         along the head and of V along the keys pass through one ring of stages by cp.async.
// Limits  4 shared loads of 16 bytes feed 64 FFMAs: 94 % of the FFMA peak; softmax, copies and one
//         barrier a stage take another 8 %. Two warps a scheduler do not hide all latencies: 77 %
//         of the issue slots are used.
// Order   Keys ascending, one accumulator an element.
#include <algorithm>

#include "attention/configurations.hpp"
#include "attention/production.hpp"
#include "attention/tile_merge.hpp"
#include "device/arrival.hpp"
#include "device/overlap.hpp"

namespace KW_TARGET {
namespace {

using namespace attention;

template <int index>
__global__ void __launch_bounds__(tile_configs[index].threads(), tile_configs[index].blocks)
    attention_tile(__grid_constant__ const Attention p, __grid_constant__ const TileAccess access,
                   __grid_constant__ const TileSchedule schedule,
                   __grid_constant__ const Workspace workspace) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  using S = TileParts<index>;
  wait_for_previous_kernel();
  if (p.only_if != nullptr && *p.only_if == 0) return;
  auto& shared = *gpu::dynamic_shared<typename S::Shared>();
  const unsigned parts = static_cast<unsigned>(schedule.parts), unit = blockIdx.x / parts,
                 part = blockIdx.x % parts;
  const TilePosition position =
      tile_position(unit, static_cast<unsigned>(ceil_div(p.queries, S::BM)),
                    static_cast<unsigned>(p.batch * p.heads), schedule.order);
  const AttentionHead head = head_of(p, position.of_head / p.heads, position.of_head % p.heads);
  const std::int64_t first_query = position.tile * S::BM;
  if (first_query >= head.queries) return;
  std::int64_t last_query = first_query + S::BM - 1;
  if (last_query >= head.queries) last_query = head.queries - 1;
  const std::int64_t keys = visible_keys(p.causal, last_query, head.queries, head.keys);
  const std::int64_t tiles = ceil_div(keys, S::BN), begin = tiles * part / parts * S::BN;
  std::int64_t end = tiles * (part + 1) / parts * S::BN;
  if (end > keys) end = keys;

  if (threadIdx.x == 0) shared.init_barriers();
  __syncthreads();
  copy_queries<index>(shared, p, head, first_query);
  TileCopies<index> copies(shared, p, head, begin, end, access);
#pragma unroll 1
  for (int s = 0; s < S::ahead; ++s) copies.next();
  const TilePlace<index> own;
  // Keys that all of this warp's queries see, and that one of them sees.
  const std::int64_t first_own = first_query + own.warp * S::WM;
  const std::int64_t keys_of_all = visible_keys(p.causal, first_own, head.queries, head.keys);
  const std::int64_t last_own =
      first_own + S::WM - 1 < last_query ? first_own + S::WM - 1 : last_query;
  const std::int64_t keys_of_one =
      first_own > last_query ? 0 : visible_keys(p.causal, last_own, head.queries, head.keys);
  TileSoftmax<index> softmax;
  softmax.clear();
  float o[8][S::TD] = {};
  Ring<S::c.stages> ring;
  // The stage that is computed next, and the end of its use.
  const auto enter_stage = [&] {
    copies.next();
    mbarrier_wait(&shared.full[ring.stage], ring.round);
    return &shared.stages[ring.stage][0];
  };
  const auto leave_stage = [&] {
    __syncwarp();
    if (threadIdx.x % warp_lanes == 0) mbarrier_arrive(&shared.empty[ring.stage]);
    ring.advance();
  };
  float* const weights = shared.weights[own.warp];
#pragma unroll 1
  for (std::int64_t first_key = begin; first_key < end; first_key += S::BN) {
    if (first_key >= keys_of_one) {  // the other warps' alone
      for (int left = S::k_stages + S::stages_of_v(end - first_key); left > 0; --left) {
        enter_stage();
        leave_stage();
      }
      continue;
    }
    float x[8][S::TN] = {};
    const float* q = shared.q + own.row(0);
#pragma unroll 1
    for (int stage = 0; stage < S::k_stages; ++stage, q += S::c.stage_dims * S::q_pitch) {
      const float* k = enter_stage() + own.lane_n * 4;
      multiply_tiles<true, S::TN, S::c.stage_dims>(x, q, S::q_pitch, S::WM / 2, k, S::k_pitch,
                                                   4 * S::LN);
      leave_stage();
    }
    finish_scores<index>(x, own, p, head, first_query, first_key, first_key + S::BN <= keys_of_all);
    softmax.weigh(x, score_factor(p), o);
    __syncwarp();  // nobody of the warp reads the last weights
    store_weights<index>(x, own, weights);
    __syncwarp();
    const float* w = weights + own.row_in_warp(0);
    const int v_stages = S::stages_of_v(end - first_key);
#pragma unroll 1
    for (int stage = 0; stage < v_stages; ++stage, w += S::c.stage_keys * S::p_pitch) {
      const float* v = enter_stage() + own.lane_n * 4;
      multiply_tiles<false, S::TD, S::c.stage_keys>(o, w, S::p_pitch, S::WM / 2, v, S::D,
                                                    4 * S::LN);
      leave_stage();
    }
  }
  softmax.add_lanes();
  if (parts == 1) {
    store_outputs<index>(o, softmax, own, p, head, first_query, access.o16);
    return;
  }
  auto* const all = static_cast<TilePartSums<index>*>(workspace.data) + std::int64_t{unit} * parts;
  store_part<index>(all[part], o, softmax, own);
  if (arrives_last(
          shared.comes_last, parts, threadIdx.x == 0, [] { __syncthreads(); },
          [&] { return workspace.tickets + unit; }))
    merge_parts<index>(shared, all, schedule.parts, p, head, first_query);
#endif
}

std::size_t tile_shared_bytes(int config) {
  return with_config<tile_config_count>(config, [](auto index) {
    return sizeof(typename TileParts<decltype(index)::value>::Shared);
  });
}

std::size_t tile_part_bytes(int config) {
  return with_config<tile_config_count>(
      config, [](auto index) { return sizeof(TilePartSums<decltype(index)::value>); });
}

}  // namespace

std::optional<Plan<Attention>> attention_tile_make_plan(const Attention& p, const Device& device) {
  if (!has_async_copies(device)) return std::nullopt;
  std::size_t shared_bytes[tile_config_count];
  for (int i = 0; i < tile_config_count; ++i) shared_bytes[i] = tile_shared_bytes(i);
  const TileSchedule schedule = choose_tiles(p, device, shared_bytes);
  if (schedule.config < 0) return std::nullopt;
  return attention_tile_plan_of(p, device, schedule);
}

Plan<Attention> attention_tile_plan_of(const Attention& p, const Device& device,
                                       TileSchedule schedule) {
  schedule.order = tile_order(p, p.keys * p.dim * 8);
  const TileConfig& c = tile_configs[schedule.config];
  Plan<Attention> plan;
  plan.time_us = plan.cost = tile_time_us(p, device, c, schedule.parts);
  if (schedule.parts > 1)
    plan.workspace_bytes = static_cast<std::size_t>(tile_units(p, c) * schedule.parts) *
                           tile_part_bytes(schedule.config);
  plan.min_workspace_bytes = 0;
  plan.data.set(schedule);
  return plan;
}

Status attention_tile_launch_plan(const Attention& p, const Device&, const Plan<Attention>& plan,
                                  Workspace workspace, Stream stream) {
  auto schedule = plan.data.get<TileSchedule>();
  if (workspace.bytes < plan.workspace_bytes) schedule.parts = 1;
  const TileAccess access{rows_aligned_16(p.v, p.v_strides, p.dim),
                          rows_aligned_16(p.o, p.o_strides, p.dim)};
  return with_config<tile_config_count>(schedule.config, [&](auto index) {
    constexpr int i = decltype(index)::value;
    const std::int64_t blocks = tile_units(p, tile_configs[i]) * schedule.parts;
    return gpu::launch(attention_tile<i>,
                       {dim3(static_cast<unsigned>(blocks)), dim3(tile_configs[i].threads()),
                        sizeof(typename TileParts<i>::Shared), stream, true},
                       p, access, schedule, workspace);
  });
}

}  // namespace KW_TARGET
