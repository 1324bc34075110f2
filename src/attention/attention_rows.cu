// attention_rows: some queries, or some keys: where a block of attention_tile or attention_pair
// would be mostly empty, and where latency is what a call takes.
//
// Idea    Queries of the heads that share K and V are one list of rows, of which a block has up to
//         64: 1 to 16 a warp, whose scores and weights never leave it, so that only K and V are the
//         block's. They come by cp.async: V while scores are computed, the next K while they
//         become weights. Scores are sums along the head of vectors of four, as both operands lie;
//         where heads are large, lanes that would share keys share the head in place of rows, add
//         up what they have of each row, and load half as much for a product. Of outputs a lane has
//         some columns of all its warp's rows. Where blocks are few, keys are cut into parts, which
//         the last block merges.
// Limits  Loads from shared memory: 8 of 16 bytes for 64 FFMAs in the first product, 5 for 64 in
//         the second, with 64 rows, and 6 in the first one where lanes share the head; few warps to
//         hide latencies, so that for large heads elements are loaded a step ahead; and registers:
//         in the first product both operands of an FFMA lie in one bank.
// Order   Keys ascending, one accumulator an element, of a score one for each lane that shares the
//         head; a part's follow in the order of parts.

#include "attention/configurations.hpp"
#include "attention/production.hpp"
#include "attention/rows_parts.hpp"
#include "device/arrival.hpp"
#include "device/overlap.hpp"

namespace KW_TARGET {
namespace {

using namespace attention;

struct RowsAccess {
  bool aligned, o16;  // rows of Q, K and V, and of O, on 16-byte boundaries
};

template <int index>
__global__ void __launch_bounds__(rows_threads, RowsShape<index>::blocks)
    attention_rows(__grid_constant__ const Attention p, __grid_constant__ const RowsAccess access,
                   __grid_constant__ const RowsSchedule schedule,
                   __grid_constant__ const Workspace workspace) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  using S = RowsShape<index>;
  wait_for_previous_kernel();
  if (p.only_if != nullptr && *p.only_if == 0) return;
  auto& shared = *gpu::dynamic_shared<typename S::Shared>();
  const unsigned parts = static_cast<unsigned>(schedule.parts), unit = blockIdx.x / parts;
  const int part = static_cast<int>(blockIdx.x % parts), thread = static_cast<int>(threadIdx.x),
            dim = static_cast<int>(p.dim);
  const auto row_groups = static_cast<unsigned>(schedule.row_groups), of_heads = unit / row_groups,
             kv_heads = static_cast<unsigned>(p.kv_heads);
  const std::int64_t entry = of_heads / kv_heads, kv_head = of_heads % kv_heads,
                     first_row = std::int64_t{unit % row_groups} * S::rows;
  if (thread < S::rows) shared.row[thread] = packed_row(p, entry, kv_head, first_row + thread);
  const AttentionHead head = head_of(p, entry, kv_head * p.group(), kv_head);
  __syncthreads();
  std::int64_t keys = 0;
#pragma unroll 8
  for (const PackedRow& row : shared.row)
    if (row.keys > keys) keys = row.keys;
  const std::int64_t tiles = ceil_div(keys, S::keys), begin = tiles * part / parts * S::keys;
  std::int64_t end = tiles * (part + 1) / parts * S::keys;
  if (end > keys) end = keys;

  const auto bring = [&](auto pitch, float* to, const float* from, std::int64_t stride,
                         std::int64_t first) {
    const float* const base = from + first * stride;
    const int left = static_cast<int>(end - first < S::keys ? end - first : S::keys);
    copy_rows<S::keys, S::D, decltype(pitch)::value>(to, dim, access.aligned, from, [&](int r) {
      return r < left ? base + r * stride : nullptr;
    });
    async_commit();
  };
  const auto bring_k = [&](std::int64_t first) {
    bring(std::integral_constant<int, S::pitch>(), shared.k[0], head.k, p.k_strides.row, first);
  };
  const auto bring_v = [&](std::int64_t first) {
    bring(std::integral_constant<int, S::D>(), shared.v[0], head.v, p.v_strides.row, first);
  };
  copy_rows<S::rows, S::D, S::pitch>(shared.q[0], dim, access.aligned, p.q,
                                     [&](int r) { return shared.row[r].q; });
  bring_k(begin);
  bring_v(begin);
  const RowsPlace<index> own;
  RowsSums<index> sums;
#pragma unroll
  for (int i = 0; i < S::TQ; ++i) sums.largest[i] = minus_infinity(), sums.sum[i] = 0;
#pragma unroll
  for (auto& row : sums.o)
#pragma unroll
    for (float& x : row) x = 0;
#pragma unroll 1
  for (std::int64_t first = begin; first < end; first += S::keys) {
    async_wait<1>();
    __syncthreads();
    float x[S::TQ][S::TK];
    const std::int64_t left = end - first;
    const int here = left < S::keys ? static_cast<int>(left) : S::keys;
    multiply_q_k<index>(x, shared, own, dim, here);
    __syncthreads();
    bring_k(first + S::keys);
    weigh_rows<index>(x, sums, shared, own, p, first, end);
    async_wait<1>();
    __syncthreads();
    multiply_w_v<index>(sums, shared, own, here);
    __syncthreads();
    bring_v(first + S::keys);
  }
#pragma unroll
  for (int lanes = S::key_lanes / 2; lanes > 0; lanes /= 2)
#pragma unroll
    for (int i = 0; i < S::TQ; ++i)
      sums.sum[i] += __shfl_xor_sync(whole_warp(), sums.sum[i], lanes);
  if (parts == 1) {
    store_rows<index>(sums, shared, own, dim, access.o16);
    return;
  }
  async_wait<0>();
  auto* const all =
      static_cast<typename S::Part*>(workspace.data) + std::int64_t{unit} * schedule.parts;
  store_part_of_rows<index>(all[part], sums, own);
  if (arrives_last(
          shared.comes_last, parts, thread == 0, [] { __syncthreads(); },
          [&] { return workspace.tickets + unit; }))
    merge_rows<index>(shared, all, schedule.parts, score_factor(p), dim, access.o16);
#endif
}

}  // namespace

std::optional<Plan<Attention>> attention_rows_make_plan(const Attention& p, const Device& device) {
  if (!has_async_copies(device)) return std::nullopt;
  std::size_t shared_bytes[rows_config_count];
  for (int i = 0; i < rows_config_count; ++i)
    shared_bytes[i] = with_config<rows_config_count>(
        i, [](auto index) { return sizeof(typename RowsShape<decltype(index)::value>::Shared); });
  const RowsSchedule schedule = choose_rows(p, device, shared_bytes);
  if (schedule.config < 0) return std::nullopt;
  return attention_rows_plan_of(p, device, schedule);
}

Plan<Attention> attention_rows_plan_of(const Attention& p, const Device& device,
                                       RowsSchedule schedule) {
  const RowsConfig& c = rows_configs[schedule.config];
  schedule.row_groups = rows_groups(p, c);
  Plan<Attention> plan;
  plan.time_us = plan.cost = rows_time_us(p, device, c, schedule.parts);
  if (schedule.parts > 1)
    plan.workspace_bytes = static_cast<std::size_t>(rows_units(p, c) * schedule.parts) *
                           with_config<rows_config_count>(schedule.config, [](auto index) {
                             return sizeof(typename RowsShape<decltype(index)::value>::Part);
                           });
  plan.min_workspace_bytes = 0;
  plan.data.set(schedule);
  return plan;
}

Status attention_rows_launch_plan(const Attention& p, const Device&, const Plan<Attention>& plan,
                                  Workspace workspace, Stream stream) {
  auto schedule = plan.data.get<RowsSchedule>();
  if (workspace.bytes < plan.workspace_bytes) schedule.parts = 1;
  const RowsAccess access{rows_aligned_16(p.q, p.q_strides, p.dim) &&
                              rows_aligned_16(p.k, p.k_strides, p.dim) &&
                              rows_aligned_16(p.v, p.v_strides, p.dim),
                          rows_aligned_16(p.o, p.o_strides, p.dim)};
  return with_config<rows_config_count>(schedule.config, [&](auto index) {
    constexpr int i = decltype(index)::value;
    const std::int64_t blocks = rows_units(p, rows_configs[i]) * schedule.parts;
    return gpu::launch(attention_rows<i>,
                       {dim3(static_cast<unsigned>(blocks)), dim3(rows_threads),
                        sizeof(typename RowsShape<i>::Shared), stream, true},
                       p, access, schedule, workspace);
  });
}

}  // namespace KW_TARGET
