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

#include "attention/production.hpp"
#include "attention/tile_parts.hpp"

namespace KW_TARGET {
namespace {

using namespace attention;

template <int index>
__global__ void __launch_bounds__(tile_threads, 1)
    attention_tile(__grid_constant__ const Attention p, __grid_constant__ const TileAccess access) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  using S = TileParts<index>;
  if (p.only_if != nullptr && *p.only_if == 0) return;
  auto& shared = *gpu::dynamic_shared<typename S::Shared>();
  const unsigned tiles = static_cast<unsigned>(ceil_div(p.queries, S::BM));
  const std::int64_t of_head = blockIdx.x / tiles;
  const AttentionHead head = head_of(p, of_head / p.heads, of_head % p.heads);
  // The last queries of a head, which see the most keys, come first.
  const std::int64_t first_query = (tiles - 1 - blockIdx.x % tiles) * std::int64_t{S::BM};
  if (first_query >= head.queries) return;
  std::int64_t last_query = first_query + S::BM - 1;
  if (last_query >= head.queries) last_query = head.queries - 1;
  const std::int64_t keys = visible_keys(p.causal, last_query, head.queries, head.keys),
                     keys_of_all = visible_keys(p.causal, first_query, head.queries, head.keys);

  TileCopies<index> copies(shared, p, head, keys, access);
#pragma unroll 1
  for (int s = 0; s < S::c.stages - 1; ++s) copies.next();
  load_queries<index>(shared, p, head, first_query);
  const TilePlace<index> own;
  TileSoftmax<index> softmax;
  softmax.clear();
  float o[8][S::TD] = {};
  int stage = 0;
  // The stage that is computed next.
  const auto enter_stage = [&] {
    async_wait<S::c.stages - 2>();
    __syncthreads();
    copies.next();
    const float* at = shared.stages[stage];
    stage = stage + 1 < S::c.stages ? stage + 1 : 0;
    return at;
  };
  float* const weights = shared.weights[own.warp];
#pragma unroll 1
  for (std::int64_t first_key = 0; first_key < keys; first_key += S::BN) {
    float x[8][S::TN] = {};
    const float* q = shared.q + own.row(0);
#pragma unroll 1
    for (int part = 0; part < S::k_stages; ++part, q += S::c.stage_dims * S::q_pitch) {
      const float* k = enter_stage() + own.lane_n * 4;
      multiply_tiles<S::TN, S::c.stage_dims>(x, q, S::q_pitch, S::WM / 2, k, S::k_pitch, 4 * S::LN);
    }
    finish_scores<index>(x, own, p, head, first_query, first_key, first_key + S::BN <= keys_of_all);
    softmax.weigh(x, o);
    __syncwarp();  // nobody of the warp reads the last weights
#pragma unroll
    for (int j = 0; j < S::TN; ++j)
#pragma unroll
      for (int i = 0; i < 8; i += 4)
        *reinterpret_cast<float4*>(weights + own.key(j) * S::p_pitch + own.row_in_warp(i)) =
            make_float4(x[i][j], x[i + 1][j], x[i + 2][j], x[i + 3][j]);
    __syncwarp();
    const float* w = weights + own.row_in_warp(0);
#pragma unroll 1
    for (int part = 0; part < S::v_stages; ++part, w += S::c.stage_keys * S::p_pitch) {
      const float* v = enter_stage() + own.lane_n * 4;
      multiply_tiles<S::TD, S::c.stage_keys>(o, w, S::p_pitch, S::WM / 2, v, S::D, 4 * S::LN);
    }
  }
  async_wait<0>();
  softmax.add_lanes();
  store_outputs<index>(o, softmax, own, p, head, first_query, access.o16);
#endif
}

template <class Visit>
auto with_tile_config(std::int64_t dim, const Visit& visit) {
  switch (config_of(dim)) {
    case 0: return visit(std::integral_constant<int, 0>());
    case 1: return visit(std::integral_constant<int, 1>());
    case 2: return visit(std::integral_constant<int, 2>());
    default: return visit(std::integral_constant<int, 3>());
  }
}

std::int64_t tile_blocks(const Attention& p) {
  return p.batch * p.heads * ceil_div(p.queries, tile_configs[config_of(p.dim)].rows());
}

std::size_t tile_shared_bytes(std::int64_t dim) {
  return with_tile_config(
      dim, [](auto index) { return sizeof(typename TileParts<decltype(index)::value>::Shared); });
}

}  // namespace

std::optional<Plan<Attention>> attention_tile_make_plan(const Attention& p, const Device& device) {
  const std::int64_t blocks = tile_blocks(p);
  const bool has_copies = device.kind == DeviceKind::host_simt
                              ? device.warp_size == 32
                              : device.kind == DeviceKind::cuda && device.compute_capability >= 80;
  if (!has_copies || blocks > 0x7FFFFFFF ||
      tile_shared_bytes(p.dim) > device.shared_bytes_per_block_optin)
    return std::nullopt;
  const TileConfig& c = tile_configs[config_of(p.dim)];
  // A multiprocessor makes 0.35 TFLOP/s; a launch takes 6 us.
  const double share =
      p.pairs() / std::max(1.0, static_cast<double>(p.queries) * static_cast<double>(p.keys));
  const double block_us = 4.0 * c.rows() * static_cast<double>(p.keys) * c.dim / 0.35e6;
  const double waves = static_cast<double>(blocks) / device.sm_count;
  Plan<Attention> plan;
  plan.time_us = 6.0 + block_us * std::max(1.0, waves * share + 0.5 * (share < 1 ? 1 : 0));
  plan.cost = plan.time_us;
  return plan;
}

Status attention_tile_launch_plan(const Attention& p, const Device&, const Plan<Attention>&,
                                  Workspace, Stream stream) {
  const TileAccess access{rows_aligned_16(p.v, p.v_strides, p.dim),
                          rows_aligned_16(p.o, p.o_strides, p.dim)};
  return with_tile_config(p.dim, [&](auto index) {
    constexpr int i = decltype(index)::value;
    return gpu::launch(attention_tile<i>,
                       {dim3(static_cast<unsigned>(tile_blocks(p))), dim3(tile_threads),
                        sizeof(typename TileParts<i>::Shared), stream},
                       p, access);
  });
}

}  // namespace KW_TARGET
