// Plain rows in the registers of lanes, of warps, or of a cluster's warps: read once, written once.
//
// Idea        Whoever has a row reads 16 bytes a load, whatever the row's boundary. Blocks have a
//             row for each of their teams, or a few one after the other, and end: the device starts
//             the next ones in order, so that what is under way lies close together, which memory
//             likes better by a tenth than blocks that stay and drift apart. Of several rows a
//             thread's part of the next one is on its way while it computes one. The warps of a
//             row meet once for each row, and a block's teams meet apart.
// Clusters    Stay. Each warp sends what it found to all blocks of the cluster, and waits for what
//             all of its warps found: one meeting too.
// Norms       Gamma and beta are in shared memory (planes.hpp), for all rows of a block.
// Limits      A row has at most the packs of a block's threads, or those of a cluster's.
#pragma once

#include "rowwise/plain_totals.hpp"
#include "rowwise/plain_values.hpp"
#include "rowwise/planes.hpp"
#include "rowwise/warp_teams.hpp"

namespace KW_TARGET::rowwise {

template <bool logs, class T, int lanes, class Team>
__device__ __forceinline__ void softmax_plain(PlainValues<true, T, lanes>& row, Team& team) {
  using Row = PlainValues<true, T, lanes>;
  constexpr int a_pack = Row::a_pack;
  float largest = -FLT_MAX;
#pragma unroll
  for (int k = 0; k < Row::packs; ++k) {
    if (!row.any_has(k)) continue;
#pragma unroll
    for (int w = 0; w < a_pack; ++w) largest = fmaxf(largest, row.v[k * a_pack + w]);
  }
#pragma unroll
  for (float each : row.edge) largest = fmaxf(largest, each);
  largest = combine_lanes(largest, lanes, Larger{});
  RowSum<T> sum = 0;
  const auto exponential = [&](float& v) {
    const float e = exp_of(v - largest, true);
    if (!logs) v = e;
    return e;
  };
#pragma unroll
  for (int k = 0; k < Row::packs; ++k) {
    if (!row.any_has(k)) continue;
    sum += static_cast<RowSum<T>>(
        tree_of<a_pack>([&](int w) { return exponential(row.v[k * a_pack + w]); }));
  }
#pragma unroll
  for (float& each : row.edge) sum += static_cast<RowSum<T>>(exponential(each));
  sum = combine_lanes(sum, lanes, TotalSum{});

  FoundSoftmax total = {largest, static_cast<double>(sum)};
  if constexpr (!Team::is_alone) {
    const WarpFound* const found = team.exchange(WarpFound{largest, static_cast<float>(sum), 0, 0});
    total = merge_softmax<RowSum<T>, Team::most_warps>(found, team.warps());
  }
  const auto finish = [&](const auto& f) {
#pragma unroll
    for (float& each : row.v) each = f(each);
#pragma unroll
    for (float& each : row.edge) each = f(each);
  };
  if constexpr (logs) {
    const float by = log1pf(static_cast<float>(total.sum - 1.0));
    finish([&](float v) { return (v - total.largest) - by; });
  } else {
    float by = 1.0f / static_cast<float>(total.sum);
    if constexpr (!Team::is_alone) by *= exp_of(largest - total.largest, false);
    finish([&](float v) { return v * by; });
  }
}

// v becomes what gamma multiplies; `count_inverse` is 1 / p.cols.
template <bool centers, class T, int lanes, class Team>
__device__ __forceinline__ void normalise_plain(PlainValues<false, T, lanes>& row,
                                                float count_inverse, float epsilon, Team& team) {
  using Row = PlainValues<false, T, lanes>;
  using Total = RowSum<T>;
  constexpr int a_pack = Row::a_pack;
  float near = 0;
  if constexpr (centers) {
    const int count = row.count_of_first();
    near = combine_lanes(row.sum_of_first(), lanes, TotalSum{}) *
           about_reciprocal(static_cast<float>(count > 0 ? count : 1));
  }
  // Sums in float of a pack, or of all packs of 16-bit types: chains of a few.
  float rests[4] = {}, squares[4] = {};
  Total wide = 0;
#pragma unroll
  for (int k = 0; k < Row::packs; ++k) {
    if (!row.any_has(k)) continue;
    float* const v = row.v + k * a_pack;
    const float from = centers && row.has(k) ? near : 0.0f;
#pragma unroll
    for (int w = 0; w < a_pack; ++w) {
      if constexpr (centers) {
        v[w] -= from;
        rests[w % 4] += v[w];
      }
      squares[w % 4] = fmaf(v[w], v[w], squares[w % 4]);
    }
    if (sizeof(Total) == sizeof(double) && (k % 2 == 1 || k + 1 == Row::packs)) {
      wide += static_cast<Total>(sum_of_four(squares));
#pragma unroll
      for (float& each : squares) each = 0;
    }
  }
#pragma unroll
  for (int k = 0; k < Row::edges; ++k) {
    if constexpr (centers) {
      row.edge[k] -= row.has_edge(k) ? near : 0.0f;
      rests[k % 4] += row.edge[k];
    }
    squares[k % 4] = fmaf(row.edge[k], row.edge[k], squares[k % 4]);
  }
  wide += static_cast<Total>(sum_of_four(squares));
  RestAndSquares<Total> sums = {sum_of_four(rests), wide};
  if constexpr (centers) {
    sums = combine_lanes(sums, lanes, SumOfRestAndSquares{});
  } else {
    sums = {0, combine_lanes(wide, lanes, TotalSum{})};
  }

  FoundNorm<Total> all = {near, sums.rest, sums.squares()};
  if constexpr (!Team::is_alone) {
    const WarpFound* const found = team.exchange(WarpFound{
        near, sums.rest, static_cast<float>(sums.squares()), static_cast<float>(row.count())});
    all = merge_norm<Total, Team::most_warps>(found, team.warps(), centers, count_inverse);
  }
  const NormScale scale = norm_scale(all, count_inverse, epsilon);
  const float shift = fmaf(near - all.near, scale.by, scale.shift);
#pragma unroll
  for (float& each : row.v) each = fmaf(each, scale.by, shift);
#pragma unroll
  for (float& each : row.edge) each = fmaf(each, scale.by, shift);
}

// What is in `values` becomes y.
template <bool softmax, class T, int lanes, class Team>
__device__ __forceinline__ void compute_plain(const Rowwise& p,
                                              PlainValues<softmax, T, lanes>& values,
                                              const Planes<T>& planes, bool scales,
                                              float count_inverse, Team& team) {
  using Values = PlainValues<softmax, T, lanes>;
  if constexpr (softmax) {
    if (p.op == RowwiseOp::log_softmax)
      softmax_plain<true>(values, team);
    else
      softmax_plain<false>(values, team);
  } else {
    if (p.op == RowwiseOp::layer_norm)
      normalise_plain<true>(values, count_inverse, p.epsilon, team);
    else
      normalise_plain<false>(values, count_inverse, p.epsilon, team);
    if (!scales) return;
    const PlainPart& part = values.part;
    planes.template scale<Values::packs, lanes>(
        values.cut.head, part.warp_first + part.lane - planes.first / a_pack_of<T>,
        [&](int k) { return values.has(k); }, values.v);
    if (!part.has_edges) return;
#pragma unroll
    for (int k = 0; k < Values::edges; ++k)
      if (values.has_edge(k)) planes.scale_edge(values.cut, part.lane + k * lanes, values.edge + k);
  }
}

// The rows of one team from `row` on, launch.step apart.
template <bool softmax, class T, int lanes, class Team>
__device__ __forceinline__ void compute_plain_rows(const Rowwise& p, const PlainLaunch& launch,
                                                   int row, int end, const PlainPart& part,
                                                   const Planes<T>& planes, Team& team) {
  PlainLoads<softmax, T, lanes> loads;
  loads.load(p, launch, part, row, end);
  const bool scales = !softmax && launch.scales;
  if (scales) {
    planes.fill(p, launch.plane_packs, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
    __syncthreads();
  }
  team.begin();
  const float count_inverse = 1.0f / static_cast<float>(launch.cols);
  // Lanes of a warp go on together: the last ones may have no row.
  const int behind = lanes == warp_lanes ? 0 : static_cast<int>(threadIdx.x) % warp_lanes / lanes;
  for (; row - behind < end; row += launch.step) {
    PlainValues<softmax, T, lanes> values(loads, part);
    loads.load(p, launch, part, row + launch.step, end);
    compute_plain(p, values, planes, scales, count_inverse, team);
    values.store(p, launch, row);
  }
}

// A row is some lanes' of a warp, or a warp's.
template <bool softmax, class T, int lanes>
__global__ void __launch_bounds__(plain_threads, 2)
    plain_rows_of_lanes(const __grid_constant__ Rowwise p,
                        const __grid_constant__ PlainLaunch launch) {
  const auto thread = static_cast<int>(threadIdx.x);
  const int first = static_cast<int>(blockIdx.x) * launch.block_rows;
  AloneTeam team;
  compute_plain_rows<softmax, T, lanes>(
      p, launch, first + thread / lanes, min(launch.rows, first + launch.block_rows),
      {0, lanes * plain_packs<T>, thread % lanes, true}, Planes<T>(0, launch.plane_packs, 0), team);
}

// A row is some warps' of a block.
template <bool softmax, class T>
__global__ void __launch_bounds__(plain_threads, 2)
    plain_rows_of_warps(const __grid_constant__ Rowwise p,
                        const __grid_constant__ PlainLaunch launch) {
  __shared__ FoundInBlock memory;
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  const int which = warp / launch.warps, of_row = warp % launch.warps;
  const int first = static_cast<int>(blockIdx.x) * launch.block_rows;
  WarpsTeam team = {&memory, &launch, warp - of_row};
  compute_plain_rows<softmax, T, warp_lanes>(
      p, launch, first + which, min(launch.rows, first + launch.block_rows),
      {of_row * launch.part_packs, launch.part_packs, lane, of_row == 0},
      Planes<T>(0, launch.plane_packs, 0), team);
}

// A row is all warps' of a cluster.
template <bool softmax, class T>
__global__ void __launch_bounds__(plain_cluster_threads, 1)
    plain_rows_of_clusters([[maybe_unused]] const __grid_constant__ Rowwise p,
                           [[maybe_unused]] const __grid_constant__ PlainLaunch launch) {
  if constexpr (has_copy_engine) {
    auto& memory = *gpu::dynamic_shared<FoundInCluster>();
    if (threadIdx.x == 0) {
      for (Mbarrier& half : memory.received) mbarrier_init(&half, 1);
      mbarrier_init_is_done();
    }
    arrive_at_cluster();
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
    const int rank = rank_in_cluster();
    const int place = rank * launch.warps + warp;
    ClusterWarpsTeam team = {&memory, &launch, place};
    compute_plain_rows<softmax, T, warp_lanes>(
        p, launch, cluster_index(), launch.rows,
        {place * launch.part_packs, launch.part_packs, lane, place == 0},
        Planes<T>(sizeof(FoundInCluster), launch.plane_packs,
                  rank * launch.plane_packs * a_pack_of<T>),
        team);
  }
}

}  // namespace KW_TARGET::rowwise
